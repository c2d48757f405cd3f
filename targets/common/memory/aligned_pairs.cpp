#include "targets/common/memory/aligned_pairs.h"

#include <algorithm>

namespace polyweft::targets {

/// Lanes k and up of one aligned vector, then the first ones of another: what stands above or below a vector whose
/// lanes are rows, the storage skewed alike. None where the lanes are not so.
std::optional<AlignedPairs::AlignedPair> AlignedPairs::aligned_pair(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(buffer.type);
  if (!scalar_.can().line_permutes || buffer.scope != Scope::heap || bytes < 4 || width * bytes != kLineBytes)
    return std::nullopt;
  if (has_data(access)) return std::nullopt;
  const Affine offset = places_.offset_of(access, nullptr);
  if (!uses(offset - Affine::variable(kLane, offset.coefficient(kLane)), kLane)) return std::nullopt;
  std::vector<Affine> at;
  for (int64_t lane = 0; lane < width; ++lane)
    at.push_back(facts_.without_exact_quotients(facts_.simplify(substitute(offset, {{kLane, Affine::of(lane)}}))));
  int64_t turn = 1;
  while (turn < width && at[static_cast<size_t>(turn)] - at[0] == Affine::of(turn)) ++turn;
  if (turn == width) return std::nullopt;
  for (int64_t lane = turn; lane < width; ++lane)
    if (!(at[static_cast<size_t>(lane)] - at[static_cast<size_t>(turn)] == Affine::of(lane - turn)))
      return std::nullopt;
  const AlignedPair out{at[0] - Affine::of(width - turn) + Affine::variable(kLane),
                        at[static_cast<size_t>(turn)] + Affine::variable(kLane), turn};
  if (places_.alignment_of(access.id, out.low) < kLineBytes || places_.alignment_of(access.id, out.high) < kLineBytes)
    return std::nullopt;
  return out;
}

llvm::Value* AlignedPairs::load_from_aligned_pair(const Access& access) {
  const auto lines = aligned_pair(access);
  if (!lines) return nullptr;
  const ElementType type = nest_.buffers[access.id].type;
  const auto width = static_cast<int64_t>(lanes_.width), turn = lines->turn;
  if (lanes_.prefetch)
    for (const Affine& line : {lines->low, lines->high})
      prefetches_.prefetch(access, places_.place_at(access.id, line));
  if (!lanes_.mask)
    return scalar_.hooks().joined(b_, accesses_.aligned_load(access.id, lines->low),
                                  accesses_.aligned_load(access.id, lines->high), static_cast<unsigned>(width - turn));
  const Place low = places_.place_at(access.id, lines->low), high = places_.place_at(access.id, lines->high);
  if (!lanes_.start || !accesses_.lies_in_whole_lines(access.id, low))
    return scalar_.hooks().joined(b_, accesses_.load_part(access.id, lines->low, turn - width),
                                  accesses_.load_part(access.id, lines->high, turn),
                                  static_cast<unsigned>(width - turn));
  // A line that no active lane needs may be nobody's memory; the other one is not.
  llvm::Value* low_or_high = b_.CreateSelect(b_.CreateICmpSLT(lanes_.start, b_.getInt64(static_cast<uint64_t>(turn))),
                                             low.pointer, high.pointer);
  llvm::Value* high_or_low = b_.CreateSelect(b_.CreateICmpSGT(lanes_.count, b_.getInt64(static_cast<uint64_t>(turn))),
                                             high.pointer, low.pointer);
  return scalar_.hooks().joined(b_, accesses_.load_line(low_or_high, type), accesses_.load_line(high_or_low, type),
                                static_cast<unsigned>(width - turn));
}

/// A vector that starts late inside one aligned vector and ends in the next, from these two: its load would take part
/// of two cache lines, and the lower one was the higher one of the iteration before (rotate_neighbours). Only the late
/// ones, so that loads and shuffles share the work. What is read beside the wanted elements lies in their cache lines.
/// Null where this does not hold.
llvm::Value* AlignedPairs::load_between(BufferId id, const Place& place) {
  const Buffer& buffer = nest_.buffers[id];
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(buffer.type);
  Streams* const streams = pointers_.streams();
  if (!streams || streams->stored[id] || !variables_.context().sharers(id).empty() || !scalar_.can().line_permutes ||
      buffer.scope != Scope::heap || lanes_.mask || place.offsets || place.stride != 1)
    return nullptr;
  const int64_t late = (place.offset.constant % width + width) % width;
  const Affine before = place.offset - Affine::of(late);
  if (bytes < 4 || width * bytes != kLineBytes || late <= width / 2 || places_.alignment_of(id, before) < kLineBytes)
    return nullptr;
  llvm::Value* first = accesses_.aligned_load(id, before);
  llvm::Value* second = accesses_.aligned_load(id, before + Affine::of(width));
  streams->has_neighbours = true;
  return scalar_.hooks().joined(b_, first, second, static_cast<unsigned>(late));
}

}  // namespace polyweft::targets
