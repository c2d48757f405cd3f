// Vectors that lie across two lines, from the two whole ones: neighbours in memory and in time share these.
#include <algorithm>

#include "targets/common/nest_code.h"

namespace polyweft::targets {

/// Lanes k and up of one aligned vector, then the first ones of another: what stands above or below a vector whose
/// lanes are rows, the storage skewed alike. None where the lanes are not so.
std::optional<NestCode::AlignedPair> NestCode::aligned_pair(const Access& access) {
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

llvm::Value* NestCode::load_from_aligned_pair(const Access& access) {
  const auto lines = aligned_pair(access);
  if (!lines) return nullptr;
  const ElementType type = nest_.buffers[access.id].type;
  const auto width = static_cast<int64_t>(lanes_.width), turn = lines->turn;
  if (lanes_.prefetch)
    for (const Affine& line : {lines->low, lines->high}) prefetch(access, places_.place_at(access.id, line));
  if (!lanes_.mask)
    return scalar_.hooks().joined(b_, aligned_load(access.id, lines->low), aligned_load(access.id, lines->high),
                                  static_cast<unsigned>(width - turn));
  const Place low = places_.place_at(access.id, lines->low), high = places_.place_at(access.id, lines->high);
  if (!lanes_.start || !lies_in_whole_lines(access.id, low))
    return scalar_.hooks().joined(b_, load_part(access.id, lines->low, turn - width),
                                  load_part(access.id, lines->high, turn), static_cast<unsigned>(width - turn));
  // A line that no active lane needs may be nobody's memory; the other one is not.
  llvm::Value* low_or_high = b_.CreateSelect(b_.CreateICmpSLT(lanes_.start, b_.getInt64(static_cast<uint64_t>(turn))),
                                             low.pointer, high.pointer);
  llvm::Value* high_or_low = b_.CreateSelect(b_.CreateICmpSGT(lanes_.count, b_.getInt64(static_cast<uint64_t>(turn))),
                                             high.pointer, low.pointer);
  return scalar_.hooks().joined(b_, load_line(low_or_high, type), load_line(high_or_low, type),
                                static_cast<unsigned>(width - turn));
}

llvm::Value* NestCode::load_line(llvm::Value* pointer, ElementType type) {
  return scalar_.from_memory(b_.CreateAlignedLoad(llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width),
                                                  pointer, llvm::Align(kLineBytes)),
                             type);
}

/// Of a whole aligned vector the lanes that stand for active ones, `by` lanes further up: a vector without any may be
/// nobody's memory.
llvm::Value* NestCode::load_part(BufferId id, const Affine& offset, int64_t by) {
  const auto width = static_cast<int>(lanes_.width);
  std::vector<int> from;
  for (int lane = 0; lane < width; ++lane) {
    const int64_t active = lane + by;
    from.push_back(active >= 0 && active < width ? static_cast<int>(active) : width);
  }
  llvm::Value* none = llvm::Constant::getNullValue(lanes_.mask->getType());
  const Place place = places_.place_at(id, offset);
  const ElementType type = nest_.buffers[id].type;
  auto* vector = llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width);
  llvm::Value* raw =
      b_.CreateMaskedLoad(vector, place.pointer, llvm::Align(static_cast<uint64_t>(place.alignment)),
                          b_.CreateShuffleVector(lanes_.mask, none, from), llvm::Constant::getNullValue(vector));
  return scalar_.from_memory(raw, type);
}

llvm::Value* NestCode::aligned_load(BufferId id, const Affine& offset) {
  const Place whole = places_.place_at(id, offset);
  if (llvm::Value* known = loads_.value(whole.key)) return known;
  llvm::Value* out = load_place(whole, nest_.buffers[id].type);
  loads_.note(whole.key, {out, KnownLoads::Span{id, offset, lanes_.width}});
  pointers_.note_aligned(id, whole, out);
  return out;
}

/// An operation on lanes of two pairs of vectors, all rotated alike, is done to the whole vectors: neighbours, which
/// begin where this one ends, then share what it makes of them, and one result is rotated instead of two operands. The
/// lanes beside the wanted ones are numbers of memory too; nobody reads what becomes of them.
llvm::Value* NestCode::operation_before_rotation(const ExprNode& node, const std::vector<llvm::Value*>& args) {
  if (args.size() != 2 || !is_float(node.type) || (node.op != Op::add && node.op != Op::sub && node.op != Op::mul))
    return nullptr;
  const auto* a = llvm::dyn_cast<llvm::CallInst>(args[0]);
  const auto* b = llvm::dyn_cast<llvm::CallInst>(args[1]);
  if (!a || !b || !a->isInlineAsm() || a->getCalledOperand() != b->getCalledOperand() || a->arg_size() != 2)
    return nullptr;
  llvm::Value* turned[2];
  for (unsigned k = 0; k < 2; ++k) turned[k] = scalar_.apply(node, {a->getArgOperand(k), b->getArgOperand(k)});
  auto* out = llvm::cast<llvm::CallInst>(a->clone());
  out->setArgOperand(0, turned[0]);
  out->setArgOperand(1, turned[1]);
  return b_.Insert(out);
}

/// A vector that starts late inside one aligned vector and ends in the next, from these two: its load would take part
/// of two cache lines, and the lower one was the higher one of the iteration before (rotate_neighbours). Only the late
/// ones, so that loads and shuffles share the work. What is read beside the wanted elements lies in their cache lines.
/// Null where this does not hold.
llvm::Value* NestCode::load_between(BufferId id, const Place& place) {
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
  llvm::Value* first = aligned_load(id, before);
  llvm::Value* second = aligned_load(id, before + Affine::of(width));
  streams->has_neighbours = true;
  return scalar_.hooks().joined(b_, first, second, static_cast<unsigned>(late));
}

}  // namespace polyweft::targets
