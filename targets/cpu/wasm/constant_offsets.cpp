#include "targets/cpu/wasm/constant_offsets.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

namespace polyweft::targets {
namespace {

/// The address of a load or store is this operand.
int address_operand(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::LoadInst>(instruction)) return 0;
  return llvm::isa<llvm::StoreInst>(instruction) ? 1 : -1;
}

/// An address as a distance from one that is no such sum itself.
struct Distance {
  llvm::Value* base = nullptr;
  llvm::APInt bytes;
};
Distance distance_of(llvm::Value* address, const llvm::DataLayout& layout) {
  Distance out{address, llvm::APInt(layout.getIndexTypeSizeInBits(address->getType()), 0)};
  out.base = address->stripAndAccumulateConstantOffsets(layout, out.bytes, /*AllowNonInbounds=*/true);
  return out;
}

void use_offset(llvm::Instruction& access, unsigned operand, unsigned lowest) {
  llvm::Value* address = access.getOperand(operand);
  const Distance at = distance_of(address, access.getModule()->getDataLayout());
  if (at.base == address || at.bytes.isNegative() || at.bytes.uge(lowest)) return;
  if (llvm::isa<llvm::Constant>(at.base) || llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(at.base))) return;
  llvm::IRBuilder<> b(&access);
  access.setOperand(
      operand, b.CreateGEP(b.getInt8Ty(), at.base, b.getInt(at.bytes), "", llvm::GEPNoWrapFlags::noUnsignedWrap()));
}

/// Sums of constants that are left begin at the same address: LLVM takes equal sums for one, and only what is said of
/// all of them.
void shorten(llvm::GetElementPtrInst& sum) {
  const Distance at = distance_of(&sum, sum.getModule()->getDataLayout());
  if (at.base == &sum || at.base == sum.getPointerOperand() || sum.use_empty()) return;
  llvm::IRBuilder<> b(&sum);
  sum.replaceAllUsesWith(b.CreateGEP(b.getInt8Ty(), at.base, b.getInt(at.bytes)));
}

}  // namespace

void use_constant_offsets(llvm::Module& module, unsigned lowest) {
  std::vector<llvm::GetElementPtrInst*> sums;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block) {
        if (auto* sum = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) sums.push_back(sum);
        if (const int operand = address_operand(instruction); operand >= 0)
          use_offset(instruction, static_cast<unsigned>(operand), lowest);
      }
  for (llvm::GetElementPtrInst* sum : sums) shorten(*sum);
  llvm::SmallVector<llvm::WeakTrackingVH> unused(sums.begin(), sums.end());
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(unused);
}

}  // namespace polyweft::targets
