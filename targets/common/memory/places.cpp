#include "targets/common/memory/places.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace polyweft::targets {
namespace {

constexpr VarId kGather = 0x7fffff00;  // stands for a data-dependent subscript while offsets are computed

}  // namespace

// Offset of an access in elements. Data-dependent subscripts become variables kGather + n whose values are in
// `gathers`.
Affine Places::offset_of(const Access& access, std::vector<llvm::Value*>* gathers) {
  std::vector<Affine> index;
  for (const auto& s : access.index) {
    Affine e = fold(s.affine);
    if (s.data) {
      const VarId stand_in = kGather + static_cast<VarId>(gathers->size());
      llvm::Value* value = further_.exact_index(s.data);
      gathers->push_back(value);
      variables_.bind(stand_in, value, {facts_.range(fold(s.lo)).lo, facts_.range(fold(s.hi)).hi, 1});
      e = e + Affine::variable(stand_in);
    }
    index.push_back(std::move(e));
  }
  return strides_.is_symbolic(access.id) ? strides_.symbolic_offset(access.id, std::move(index))
                                         : facts_.offset(nest_.buffers[access.id], index);
}

Place Places::place_at(BufferId id, const Affine& offset) {
  Place place;
  place.stride = offset.coefficient(kLane);
  place.alignment = alignment_of(id, offset);
  llvm::Type* type = scalar_.memory_type(nest_.buffers[id].type);
  if (nest_.buffers[id].layout.by_xor) {
    const Affine rest = offset - Affine::variable(kLane, place.stride);
    const int64_t bytes = static_cast<int64_t>(lanes_.width) * size_bytes(nest_.buffers[id].type);
    if (lanes_.width > 1 && place.stride != 0 && (place.stride != 1 || place.alignment % bytes != 0))
      throw Refusal{
          fail("PW0523", "buffer " + nest_.buffers[id].name + ": vectors longer than a unit of a layout by xor")};
    place.pointer = xor_pointer(id, rest);
    name_place(place, id, offset);
    return place;
  }
  llvm::Value* pointer = pointers_.stream_pointer(id, offset);
  if (!pointer) {
    pointer = buffers_.base_of(id);
    if (llvm::Value* variable = integers_.scalar_part(offset)) pointer = b_.CreateInBoundsGEP(type, pointer, variable);
  }
  if (offset.constant != 0)
    pointer = b_.CreateInBoundsGEP(type, pointer, b_.getInt64(static_cast<uint64_t>(offset.constant)));
  place.pointer = pointer;
  name_place(place, id, offset);
  return place;
}

int64_t Places::alignment_of(BufferId id, const Affine& offset) const {
  const Buffer& buffer = nest_.buffers[id];
  const int64_t element = size_bytes(buffer.type);
  if (buffer.layout.by_xor)
    return std::gcd(kXorUnitBytes,
                    facts_.known_divisor(offset - Affine::variable(kLane, offset.coefficient(kLane))) * element);
  const bool in_argument =
      buffer.within && nest_.buffers[buffer.within->host].scope == Scope::argument;  // at a multiple of 64 in others
  const bool is_given = buffer.scope == Scope::argument && !buffer.is_packed && !buffers_.is_aligned(id);
  const int64_t base_alignment = in_argument ? element
                                 : is_given  ? std::max(element, hooks_.instructions.can().argument_alignment)
                                             : 64;
  return std::gcd(base_alignment,
                  facts_.known_divisor(offset - Affine::variable(kLane, offset.coefficient(kLane))) * element);
}

void Places::name_place(Place& place, BufferId id, const Affine& offset) const {
  char mask[48];
  std::snprintf(mask, sizeof mask, "@%u@%p", lanes_.width, static_cast<void*>(lanes_.mask));
  place.offset = offset;
  place.key = std::to_string(id) + ":" + key_of(offset) + mask;
}

/// One offset a lane from a pointer to what all lanes have in common. A small table may be held in a register: all of
/// it from its first element on.
void Places::spread_lanes(Place& place, BufferId id, const Affine& offset) {
  Affine common, own;
  common.constant = offset.constant;
  for (const auto& term : offset.terms) {
    Affine one;
    one.terms = {term};
    const bool is_vector =
        !term.quasi && variables_.is_bound(term.var) && ScalarCode::lanes(variables_.value(term.var)) > 1;
    (is_vector || integers_.depends_on_lane(one) ? own : common).terms.push_back(term);
  }
  const bool is_table = allocated_elements(nest_.buffers[id]) <= static_cast<int64_t>(lanes_.width);
  if (is_table || strides_.is_symbolic(id) || !integers_.fits_32_bits(own)) {
    place.offsets = scalar_.splat(integers_.integer(offset), lanes_.width);
    return;
  }
  place.pointer =
      b_.CreateInBoundsGEP(scalar_.memory_type(nest_.buffers[id].type), place.pointer, integers_.integer(common));
  place.offsets = scalar_.splat(integers_.short_integer(own), lanes_.width);
}

Place Places::place_of(const Access& access) {
  std::vector<llvm::Value*> gathers;
  Affine offset = offset_of(access, &gathers);
  bool lane_inside = false;
  for (const auto& term : offset.terms) {
    Affine one;
    one.terms = {term};
    const bool plain_lane = !term.quasi && term.var == kLane;
    lane_inside |= !plain_lane && integers_.depends_on_lane(one);
    if (!term.quasi && term.var >= kGather && term.var < kGather + gathers.size())
      lane_inside |= ScalarCode::lanes(variables_.value(term.var)) > 1;
  }
  if (!lane_inside && gathers.empty()) return place_at(access.id, offset);
  if (nest_.buffers[access.id].layout.by_xor)
    throw Refusal{fail("PW0523", "buffer " + nest_.buffers[access.id].name + ": lanes apart in a layout by xor")};
  Place place;
  place.stride = offset.coefficient(kLane);
  place.alignment = gathers.empty() ? alignment_of(access.id, offset) : size_bytes(nest_.buffers[access.id].type);
  place.pointer = buffers_.base_of(access.id);
  llvm::Type* type = scalar_.memory_type(nest_.buffers[access.id].type);
  if (lane_inside)
    spread_lanes(place, access.id, offset);
  else  // data picks the row, the same for all lanes: they lie as they do in any other row
    place.pointer =
        b_.CreateInBoundsGEP(type, place.pointer, integers_.integer(offset - Affine::variable(kLane, place.stride)));
  if (!gathers.empty()) {
    loads_.clear();  // the stand-ins are free again
    integers_.clear();
    for (size_t k = 0; k < gathers.size(); ++k)
      variables_.unbind(kGather + static_cast<VarId>(k));  // a parallel loop hands all variables on
  } else {
    name_place(place, access.id, offset);
  }
  return place;
}

llvm::Value* Places::pointers_of(const Place& place, llvm::Type* type) {
  if (place.offsets) return b_.CreateInBoundsGEP(type, place.pointer, place.offsets);
  // 32-bit steps gather twice as many elements an instruction.
  const bool is_short = std::abs(place.stride) * static_cast<int64_t>(lanes_.width) < INT32_MAX / 16;
  std::vector<llvm::Constant*> steps;
  for (int64_t lane = 0; lane < static_cast<int64_t>(lanes_.width); ++lane)
    steps.push_back(llvm::ConstantInt::get(is_short ? b_.getInt32Ty() : b_.getInt64Ty(),
                                           static_cast<uint64_t>(lane * place.stride), true));
  return b_.CreateInBoundsGEP(type, place.pointer, llvm::ConstantVector::get(steps));
}

Place Places::in_reach(Place place, BufferId buffer) {
  if (lanes_.may_read && lanes_.mask && !place.offsets && place.stride != 0) {
    place.pointer = b_.CreateSelect(lanes_.may_read, place.pointer, buffers_.base_of(buffer));
    place.alignment = std::min(place.alignment, size_bytes(nest_.buffers[buffer].type));
  }
  return place;
}

/// The unit's number in its line xor the line's.
llvm::Value* Places::xor_pointer(BufferId id, const Affine& offset) {
  const auto bytes = static_cast<uint64_t>(size_bytes(nest_.buffers[id].type));
  llvm::Value* const at = b_.CreateMul(integers_.integer(offset), b_.getInt64(bytes));
  llvm::Value* const line = b_.CreateAnd(b_.CreateLShr(at, b_.getInt64(llvm::Log2_64(kXorLineBytes / kXorUnitBytes))),
                                         b_.getInt64(kXorLineBytes - kXorUnitBytes));
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), buffers_.base_of(id), b_.CreateXor(at, line));
}

llvm::Value* Places::pointer_to(BufferId buffer, const Affine& offset) {
  if (nest_.buffers[buffer].layout.by_xor) return xor_pointer(buffer, offset);
  llvm::Value* pointer = buffers_.base_of(buffer);
  llvm::Type* type = scalar_.memory_type(nest_.buffers[buffer].type);
  if (llvm::Value* variable = integers_.scalar_part(offset)) pointer = b_.CreateInBoundsGEP(type, pointer, variable);
  if (offset.constant != 0)
    pointer = b_.CreateInBoundsGEP(type, pointer, b_.getInt64(static_cast<uint64_t>(offset.constant)));
  return pointer;
}

bool Places::lies_inside(BufferId id, const Affine& first, int64_t count) const {
  const Interval range = facts_.range_by_neighbours(first);
  return range.lo >= 0 && range.hi + count <= allocated_elements(nest_.buffers[id]);
}

std::vector<Affine> Places::places_of_lanes(const Affine& offset) const {
  const auto width = static_cast<int64_t>(lanes_.width);
  const int64_t stride = offset.coefficient(kLane);
  const Affine rest = offset - Affine::variable(kLane, stride);
  std::vector<Affine> out;
  if (!uses(rest, kLane)) {
    if (std::abs(stride) < 2) return {};  // one element, or contiguous: plain loads
    for (int64_t lane = 0; lane < width; ++lane) out.push_back(rest + Affine::of(stride * lane));
    return out;
  }
  for (int64_t lane = 0; lane < width; ++lane)
    out.push_back(facts_.simplify(substitute(offset, {{kLane, Affine::of(lane)}})));
  return out;
}

}  // namespace polyweft::targets
