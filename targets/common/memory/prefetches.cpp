#include "targets/common/memory/prefetches.h"

#include <algorithm>
#include <cstdlib>

#include "support/integer_division.h"

namespace polyweft::targets {

/// By how many elements an iteration of the loop around moves the access, where it moves towards what lies `by`
/// further; else 0.
int64_t Prefetches::moves_towards(const Access& access, const Affine& offset, const std::vector<int64_t>& by) const {
  const Streams* streams = pointers_.streams();
  if (!streams || access.index.size() != by.size()) return 0;
  int64_t iterations = 0;
  for (size_t d = 0; d < by.size(); ++d) {
    const int64_t move = fold(access.index[d].affine).coefficient(streams->var) * streams->step;
    if (move != 0 && by[d] != 0 && by[d] % move == 0) iterations = by[d] / move;
  }
  for (size_t d = 0; d < by.size(); ++d)
    if (by[d] != iterations * fold(access.index[d].affine).coefficient(streams->var) * streams->step) return 0;
  const Affine next = facts_.simplify(substitute(
                          offset, {{streams->var, Affine::variable(streams->var) + Affine::of(streams->step)}})) -
                      offset;
  return next.is_constant() ? next.constant : 0;
}

/// Has the block asked for this place, or do other iterations, which move by `step` towards a place `far` elements on?
bool Prefetches::is_asked_for(BufferId id, const Affine& offset, int64_t step, int64_t far) const {
  return std::any_of(asked_.vectors.begin(), asked_.vectors.end(), [&](const auto& place) {
    const Affine apart = offset - place.second;
    if (place.first != id || !apart.is_constant()) return false;
    return apart.constant == 0 || (step != 0 && apart.constant % step == 0 && std::abs(apart.constant) < std::abs(far));
  });
}

/// One hint a cache line of the vector, however many rows of an unrolled block read it; addresses past the buffer's end
/// do no harm, a hint never faults.
void Prefetches::prefetch(const Access& access, const Place& place) {
  if (!lanes_.prefetch || place.offsets || place.stride != 1) return;
  if (asked_.block != b_.GetInsertBlock()) asked_ = {b_.GetInsertBlock(), {}, {}};
  const bool is_covered = std::all_of(lanes_.prefetch->begin(), lanes_.prefetch->end(), [&](const Prefetch& ahead) {
    if (ahead.buffer != access.id) return true;
    std::vector<Affine> by;
    for (int64_t distance : ahead.by) by.push_back(Affine::of(distance));
    const Affine offset = facts_.offset(nest_.buffers[access.id], by);
    return !offset.is_constant() ||
           is_asked_for(access.id, place.offset, moves_towards(access, place.offset, ahead.by), offset.constant);
  });
  if (is_covered) return;
  asked_.vectors.emplace_back(access.id, place.offset);
  emit_prefetch(access.id, place.pointer);
}

/// Of vectors among which lanes pick their elements, one for each line: taps that lie between share them.
void Prefetches::prefetch_near(BufferId id, const Affine& offset) {
  if (!lanes_.prefetch) return;
  if (asked_.block != b_.GetInsertBlock()) asked_ = {b_.GetInsertBlock(), {}, {}};
  const int64_t line = std::max<int64_t>(kLineBytes / size_bytes(nest_.buffers[id].type), 1);
  const std::string key = std::to_string(id) + " near " + key_of(offset - Affine::of(offset.constant)) + " line " +
                          std::to_string(floor_quotient(offset.constant, line));
  if (asked_.places.insert(key).second) emit_prefetch(id, places_.place_at(id, offset).pointer);
}

void Prefetches::emit_prefetch(BufferId id, llvm::Value* vector) {
  const Buffer& buffer = nest_.buffers[id];
  llvm::Type* memory = scalar_.memory_type(buffer.type);
  for (const Prefetch& ahead : *lanes_.prefetch) {
    if (ahead.buffer != id) continue;
    std::vector<Affine> by;
    for (int64_t distance : ahead.by) by.push_back(Affine::of(distance));
    const Affine offset = facts_.offset(buffer, by);
    if (!offset.is_constant()) continue;
    const int64_t line = std::max<int64_t>(64 / size_bytes(buffer.type), 1);
    for (int64_t at = 0; at < static_cast<int64_t>(lanes_.width); at += line) {
      llvm::Value* pointer = b_.CreateGEP(memory, vector, b_.getInt64(static_cast<uint64_t>(offset.constant + at)));
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    }
  }
}

}  // namespace polyweft::targets
