// Addresses of innermost loops in their final form: pointers that the loop moves on, with what is constant left to the instructions' displacements. So
// the back end need not look for them (loop strength reduction took a third of code generation).
#include <algorithm>
#include <map>

#include "targets/common/nest_code.h"

namespace polyweft::targets {

/// Address of the element at `offset` without its constant and its lane; null where the loop around does not move it evenly.
llvm::Value* NestCode::stream_pointer(BufferId id, const Affine& offset) {
  if (!streams_) return nullptr;
  const int64_t coefficient = offset.coefficient(streams_->var);
  if (coefficient == 0 || streams_->bases[id] != bases_[id]) return nullptr;  // or memory of this iteration alone
  Affine still;
  for (const auto& term : offset.terms) {
    if (!term.quasi && (term.var == kLane || term.var == streams_->var)) continue;
    Affine one;
    one.terms = {term};
    std::vector<VarId> used;
    collect_variables(one, used);
    if (std::find(used.begin(), used.end(), streams_->var) != used.end()) return nullptr;
    still.terms.push_back(term);
  }
  const std::string key = std::to_string(id) + ":" + std::to_string(coefficient) + ":" + key_of(still);
  Stream& stream = streams_->of[key];
  if (stream.pointer) return stream.pointer;
  llvm::Type* type = scalar_.memory_type(nest_.buffers[id].type);
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(streams_->before->getTerminator());
  integers_.swap(streams_->integers);
  llvm::Value* first = scalar_part(still);
  integers_.swap(streams_->integers);
  llvm::Value* moved = b_.CreateMul(streams_->lo, b_.getInt64(static_cast<uint64_t>(coefficient)));
  first = first ? b_.CreateAdd(first, moved) : moved;
  stream.first = b_.CreateGEP(type, base_of(id), first);
  stream.step_bytes = coefficient * streams_->step * size_bytes(nest_.buffers[id].type);
  stream.pointer = llvm::PHINode::Create(b_.getPtrTy(), 2, "", streams_->header->begin());
  stream.pointer->addIncoming(stream.first, streams_->before);
  return stream.pointer;
}

/// Pointers that move by the same bytes share one offset, which costs a register more and an addition each less.
void NestCode::move_streams(Streams& streams, llvm::BasicBlock* latch) {
  std::map<int64_t, std::vector<Stream*>> by_step;
  for (auto& [key, stream] : streams.of) by_step[stream.step_bytes].push_back(&stream);
  for (const auto& [step, group] : by_step) {
    if (group.size() < 2) {
      Stream& only = *group.front();
      only.pointer->addIncoming(b_.CreateGEP(b_.getInt8Ty(), only.pointer, b_.getInt64(static_cast<uint64_t>(step))), latch);
      continue;
    }
    llvm::PHINode* offset = llvm::PHINode::Create(b_.getInt64Ty(), 2, "", streams.header->begin());
    offset->addIncoming(b_.getInt64(0), streams.before);
    offset->addIncoming(b_.CreateAdd(offset, b_.getInt64(static_cast<uint64_t>(step))), latch);
    for (Stream* stream : group) {
      llvm::IRBuilder<> first(streams.header, streams.header->getFirstInsertionPt());
      stream->pointer->replaceAllUsesWith(first.CreateGEP(b_.getInt8Ty(), stream->first, offset));
      stream->pointer->eraseFromParent();
    }
  }
}

}  // namespace polyweft::targets
