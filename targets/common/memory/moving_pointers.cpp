#include "targets/common/memory/moving_pointers.h"

#include <algorithm>
#include <map>

namespace polyweft::targets {
namespace {

constexpr size_t kMostRotated = 16;  // vectors held from one iteration to the next; half of the registers

}  // namespace

llvm::Value* MovingPointers::stream_pointer(BufferId id, const Affine& offset) {
  if (!streams_) return nullptr;
  const int64_t coefficient = offset.coefficient(streams_->var);
  if (coefficient == 0 || streams_->bases[id] != bases_[id]) return nullptr;  // or memory of this iteration alone
  Affine still;
  for (const auto& term : offset.terms) {
    if (!term.quasi && (term.var == kLane || term.var == streams_->var)) continue;
    Affine one;
    one.terms = {term};
    if (strides_.moves(one, streams_->var)) return nullptr;
    still.terms.push_back(term);
  }
  const std::string key = std::to_string(id) + ":" + std::to_string(coefficient) + ":" + key_of(still);
  Streams::Stream& stream = streams_->of[key];
  if (stream.pointer) return stream.pointer;
  llvm::Type* type = scalar_.memory_type(nest_.buffers[id].type);
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(streams_->before->getTerminator());
  integers_.exchange(streams_->integers);
  llvm::Value* first = integers_.scalar_part(still);
  integers_.exchange(streams_->integers);
  llvm::Value* moved = b_.CreateMul(streams_->lo, b_.getInt64(static_cast<uint64_t>(coefficient)));
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(moved);
  if (!first || !known || !known->isZero()) first = first ? b_.CreateAdd(first, moved) : moved;
  stream.first = b_.CreateGEP(type, buffers_.base_of(id), first);
  stream.step_bytes = coefficient * streams_->step * size_bytes(nest_.buffers[id].type);
  stream.pointer = llvm::PHINode::Create(stream.first->getType(), 2, "", streams_->header->begin());
  stream.pointer->addIncoming(stream.first, streams_->before);
  return stream.pointer;
}

void MovingPointers::move_streams(Streams& streams, llvm::BasicBlock* latch) {
  for (const auto& [one, other] : streams.exchanged) {
    one->addIncoming(other, latch);
    other->addIncoming(one, latch);
  }
  std::map<int64_t, std::vector<Streams::Stream*>> by_step;
  for (auto& [key, stream] : streams.of) by_step[stream.step_bytes].push_back(&stream);
  for (const auto& [step, group] : by_step) {
    if (group.size() < 2) {
      Streams::Stream& only = *group.front();
      only.pointer->addIncoming(b_.CreateGEP(b_.getInt8Ty(), only.pointer, b_.getInt64(static_cast<uint64_t>(step))),
                                latch);
      continue;
    }
    llvm::PHINode* offset = llvm::PHINode::Create(b_.getInt64Ty(), 2, "", streams.header->begin());
    offset->addIncoming(b_.getInt64(0), streams.before);
    offset->addIncoming(b_.CreateAdd(offset, b_.getInt64(static_cast<uint64_t>(step))), latch);
    for (Streams::Stream* stream : group) {
      llvm::IRBuilder<> first(streams.header, streams.header->getFirstInsertionPt());
      stream->pointer->replaceAllUsesWith(first.CreateGEP(b_.getInt8Ty(), stream->first, offset));
      stream->pointer->eraseFromParent();
    }
  }
}

/// What one iteration loads and the next one would load again a step lower stays in its register: { V[x-1], V[x],
/// V[x+1] } needs one load an iteration. These are buffers that the loop does not write.
void MovingPointers::rotate_neighbours(Streams& streams) {
  std::vector<std::pair<const Streams::AlignedLoad*, const Streams::AlignedLoad*>> pairs;  // lower, higher
  for (const Streams::AlignedLoad& low : streams.loads)
    for (const Streams::AlignedLoad& high : streams.loads) {
      const Affine step = Affine::of(low.offset.coefficient(streams.var) * streams.step);
      const bool is_next = low.buffer == high.buffer && !streams.stored[low.buffer] && !(step == Affine::of(0)) &&
                           high.offset - low.offset == step;
      if (is_next && low.load->getParent() == streams.header && high.load->getParent() == streams.header)
        pairs.emplace_back(&low, &high);
    }
  if (pairs.empty() || pairs.size() > kMostRotated) return;
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  llvm::BasicBlock* entered = llvm::BasicBlock::Create(b_.getContext(), "entered", function_, streams.header);
  streams.before->getTerminator()->replaceSuccessorWith(streams.header, entered);
  streams.header->replacePhiUsesWith(streams.before, entered);
  b_.SetInsertPoint(entered);
  b_.CreateBr(streams.header);
  std::vector<std::pair<llvm::PHINode*, const Streams::AlignedLoad*>> rotated;
  for (const auto& [low, high] : pairs) {
    auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(low->pointer);
    auto* stream = llvm::dyn_cast<llvm::PHINode>(gep ? gep->getPointerOperand() : low->pointer);
    if (!stream || stream->getParent() != streams.header) continue;
    b_.SetInsertPoint(entered->getTerminator());
    llvm::Value* pointer = stream->getIncomingValueForBlock(entered);
    if (gep) {
      auto* copy = llvm::cast<llvm::GetElementPtrInst>(gep->clone());
      copy->setOperand(0, pointer);
      pointer = b_.Insert(copy);
    }
    auto* first = llvm::cast<llvm::LoadInst>(low->load->clone());
    first->setOperand(0, pointer);
    b_.Insert(first);
    auto* phi = llvm::PHINode::Create(low->load->getType(), 2, "", streams.header->begin());
    phi->addIncoming(first, entered);
    phi->addIncoming(high->load, streams.header);
    rotated.emplace_back(phi, low);
  }
  for (const auto& [phi, low] : rotated) low->load->replaceAllUsesWith(phi);
  streams.before = entered;
}

void MovingPointers::note_aligned(BufferId id, const Place& place, llvm::Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (streams_ && load && variables_.context().sharers(id).empty() && place.alignment == kLineBytes &&
      nest_.buffers[id].scope == Scope::heap)
    streams_->loads.push_back({load, place.pointer, id, place.offset});
}

}  // namespace polyweft::targets
