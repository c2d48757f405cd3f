#include "targets/cpu/hexagon/code_for_back_end.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace polyweft::targets {
namespace {

constexpr unsigned kLeastMaskedLanes = 32;

bool is_masked_access(const llvm::IntrinsicInst& call) {
  return call.getIntrinsicID() == llvm::Intrinsic::masked_load ||
         call.getIntrinsicID() == llvm::Intrinsic::masked_store;
}
llvm::FixedVectorType* masked_type(const llvm::IntrinsicInst& call) {
  const bool is_load = call.getIntrinsicID() == llvm::Intrinsic::masked_load;
  return llvm::cast<llvm::FixedVectorType>(is_load ? call.getType() : call.getArgOperand(0)->getType());
}

/// Loads or stores each lane; the value of a load, null of a store.
llvm::Value* accessed_by_lanes(llvm::IntrinsicInst& call) {
  const bool is_load = call.getIntrinsicID() == llvm::Intrinsic::masked_load;
  llvm::FixedVectorType* type = masked_type(call);
  llvm::Type* element = type->getElementType();
  llvm::IRBuilder<> b(&*call.getFunction()->getEntryBlock().begin());
  llvm::Value* unused = b.CreateAlloca(element);
  b.SetInsertPoint(&call);
  llvm::Value *pointer = call.getArgOperand(is_load ? 0 : 1), *mask = call.getArgOperand(is_load ? 1 : 2);
  llvm::Value* out = is_load ? call.getArgOperand(2) : nullptr;
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    llvm::Value* active = b.CreateExtractElement(mask, lane);
    llvm::Value* at = b.CreateSelect(active, b.CreateConstInBoundsGEP1_32(element, pointer, lane), unused);
    if (!is_load) {
      b.CreateAlignedStore(b.CreateExtractElement(call.getArgOperand(0), lane), at, align);
      continue;
    }
    llvm::Value* otherwise = b.CreateExtractElement(call.getArgOperand(2), lane);
    llvm::Value* value = b.CreateSelect(active, b.CreateAlignedLoad(element, at, align), otherwise);
    out = b.CreateInsertElement(out, value, lane);
  }
  return out;
}

}  // namespace

void mask_short_vectors_by_addresses(llvm::Module& module) {
  std::vector<llvm::IntrinsicInst*> accesses;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
            call && is_masked_access(*call) && masked_type(*call)->getNumElements() < kLeastMaskedLanes)
          accesses.push_back(call);
  for (llvm::IntrinsicInst* call : accesses) {
    if (llvm::Value* loaded = accessed_by_lanes(*call)) call->replaceAllUsesWith(loaded);
    call->eraseFromParent();
  }
}

void choose_floats_as_words(llvm::Module& module) {
  std::vector<llvm::SelectInst*> choices;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction);
            choice && choice->getType()->isFloatingPointTy())
          choices.push_back(choice);
  for (llvm::SelectInst* choice : choices) {
    llvm::IRBuilder<> b(choice);
    llvm::Type* bits = b.getIntNTy(choice->getType()->getScalarSizeInBits());
    llvm::Value* chosen = b.CreateSelect(choice->getCondition(), b.CreateBitCast(choice->getTrueValue(), bits),
                                         b.CreateBitCast(choice->getFalseValue(), bits));
    choice->replaceAllUsesWith(b.CreateBitCast(chosen, choice->getType()));
    choice->eraseFromParent();
  }
}

}  // namespace polyweft::targets
