// Cells that an innermost loop does not move: what an iteration loads from one place and stores there again stays in a register while the loop runs, loaded once before
// it and stored once after it. (A recurrence in place along the loop, or a sum whose cells are memory.) Different buffers share no memory, so nobody else looks.
#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr uint64_t kVectorBytes = 64;

/// The value as it is before the loop: the same where it is made outside, else a copy of what makes it. Null where it depends on the iteration.
llvm::Value* value_before(llvm::Value* value, const llvm::BasicBlock* header, llvm::IRBuilder<>& before, std::map<llvm::Value*, llvm::Value*>& known) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || instruction->getParent() != header) return value;
  if (auto found = known.find(value); found != known.end()) return found->second;
  if (llvm::isa<llvm::PHINode>(instruction) || instruction->mayReadOrWriteMemory()) return nullptr;
  llvm::SmallVector<llvm::Value*, 4> operands;
  for (llvm::Value* operand : instruction->operands()) {
    operands.push_back(value_before(operand, header, before, known));
    if (!operands.back()) return nullptr;
  }
  llvm::Instruction* copy = instruction->clone();
  for (unsigned k = 0; k < operands.size(); ++k) copy->setOperand(k, operands[k]);
  return known[value] = before.Insert(copy);
}

/// Does the value, as far as this block makes it, come from memory or from the loop's variable?
bool is_still(const llvm::Value* value, const llvm::BasicBlock* header) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || instruction->getParent() != header) return true;
  if (llvm::isa<llvm::PHINode>(instruction) || instruction->mayReadOrWriteMemory()) return false;
  return std::all_of(instruction->op_begin(), instruction->op_end(), [&](const llvm::Use& use) { return is_still(use.get(), header); });
}

}  // namespace

void NestCode::note_cell(BufferId id, const Place& place, llvm::Value* value, bool is_store) {
  if (!streams_ || !streams_->may_keep || !streams_->stored[id]) return;
  const bool is_place = !is_symbolic(id) && sharers_[id].empty() && !place.key.empty() && !place.offsets && !lanes_.mask && (lanes_.width == 1 || place.stride == 1) &&
                        streams_->bases[id] == bases_[id] && !uses(place.offset, streams_->var);
  auto* load = is_store || !value ? nullptr : llvm::dyn_cast<llvm::LoadInst>(value);
  auto* store = is_store && value ? llvm::dyn_cast<llvm::StoreInst>(value) : nullptr;
  if (!is_place || (!load && !store) || (store && store->getMetadata(llvm::LLVMContext::MD_nontemporal))) {
    streams_->scattered[id] = true;
    return;
  }
  Cell& cell = streams_->cells[place.key];
  cell.at = {id, place.offset, lanes_.width};
  if (store) cell.stores.push_back(store);
  if (!load) return;
  cell.is_plain &= !cell.load && cell.stores.empty();
  cell.load = load;
}

/// Those of buffers that the loop touches in such cells alone, none of them in part of another, where all have room in registers.
std::vector<NestCode::Cell> NestCode::cells_to_keep(const Streams& streams) const {
  std::vector<bool> refused = streams.scattered;
  for (const auto& [key, cell] : streams.cells) {
    const bool fits = cell.is_plain && cell.load && !cell.stores.empty() && is_still(cell.load->getPointerOperand(), streams.header);
    if (!fits) refused[cell.at.buffer] = true;
    for (const auto& [other_key, other] : streams.cells)
      if (key != other_key && cell.at.buffer == other.at.buffer && !are_apart(cell.at, other.at)) refused[cell.at.buffer] = true;
  }
  std::vector<Cell> out;
  uint64_t registers = 0;
  const auto most = static_cast<uint64_t>(scalar_.can().promoted_cells);
  for (const auto& [key, cell] : streams.cells) {
    if (refused[cell.at.buffer]) continue;
    out.push_back(cell);
    registers += (module_.getDataLayout().getTypeStoreSize(cell.load->getType()).getFixedValue() + kVectorBytes - 1) / kVectorBytes;
  }
  return registers <= most ? out : std::vector<Cell>{};
}

/// Makes a block before the loop and one behind it, which ends in a branch to `after`.
llvm::BasicBlock* NestCode::keep_cells(Streams& streams, const std::vector<Cell>& cells, llvm::BasicBlock* after) {
  auto& context = module_.getContext();
  llvm::BasicBlock* entered = llvm::BasicBlock::Create(context, "entered", function_, streams.header);
  llvm::BasicBlock* left = llvm::BasicBlock::Create(context, "left", function_);
  streams.before->getTerminator()->replaceSuccessorWith(streams.header, entered);
  streams.header->replacePhiUsesWith(streams.before, entered);
  llvm::IRBuilder<> before(entered), behind(left);
  llvm::BranchInst* enter = before.CreateBr(streams.header);
  before.SetInsertPoint(enter);
  std::map<llvm::Value*, llvm::Value*> known;
  for (const Cell& cell : cells) {
    auto* first = llvm::cast<llvm::LoadInst>(cell.load->clone());
    first->setOperand(0, value_before(cell.load->getPointerOperand(), streams.header, before, known));
    before.Insert(first);
    auto* phi = llvm::PHINode::Create(first->getType(), 2, "", streams.header->begin());
    phi->addIncoming(first, entered);
    cell.load->replaceAllUsesWith(phi);
    for (auto& [register_of, value] : file_)
      if (value == cell.load) value = phi;
    cell.load->eraseFromParent();
    llvm::StoreInst* last = cell.stores.back();
    phi->addIncoming(last->getValueOperand(), streams.header);
    for (llvm::StoreInst* store : cell.stores) store->removeFromParent();
    behind.Insert(last);
    for (llvm::StoreInst* store : cell.stores)
      if (store != last) store->deleteValue();
  }
  behind.CreateBr(after);
  streams.before = entered;
  return left;
}

}  // namespace polyweft::targets
