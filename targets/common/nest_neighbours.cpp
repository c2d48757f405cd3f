// Lanes whose elements lie near each other, but are not contiguous: every second one (an image drawn small), each one
// twice (drawn large). One or two vectors that hold them all are loaded and a shuffle picks, where a gather asks memory
// for each lane. Neighbours share the vectors: taps 2x, 2x + 1 are the even and the odd lanes of the same two. Lanes
// that are stored so are spread over two vectors whose other elements are masked off.
//
// Under a mask: vectors that lie inside the buffer are loaded whole. Where only the first lanes are active, known here,
// the others' elements are left out. Elsewhere each vector has a mask of its own: element e is loaded where an active
// lane uses it. Lanes that are off hold zeros.
#include <algorithm>
#include <utility>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kMaskedBytes = 32;  ///< of a vector where the target has no masks of single lanes; LLVM 22 splits
                                      ///< masked loads of more, and loads parts that are off

/// Where each lane's element lies from that of the lowest.
struct Neighbours {
  Affine low;
  std::vector<int64_t> at;
  int64_t span = 1;  ///< elements from the lowest to the highest
};

std::optional<Neighbours> neighbours(const std::vector<Affine>& places) {
  Neighbours out;
  for (const Affine& place : places) {
    const Affine apart = place - places[0];
    if (!apart.is_constant()) return std::nullopt;
    out.at.push_back(apart.constant);
  }
  const auto [least, most] = std::minmax_element(out.at.begin(), out.at.end());
  const int64_t first = *least;
  out.span = *most - first + 1;
  out.low = places[0] + Affine::of(first);
  for (int64_t& at : out.at) at -= first;
  return out;
}

/// Every second element from an odd one: from the even one before it, as its neighbours do.
Neighbours from_even(Neighbours n) {
  const bool is_odd =
      n.low.constant % 2 != 0 && std::all_of(n.at.begin(), n.at.end(), [](int64_t at) { return at % 2 == 0; });
  if (!is_odd) return n;
  n.low = n.low - Affine::of(1);
  for (int64_t& at : n.at) ++at;
  ++n.span;
  return n;
}

}  // namespace

llvm::Value* NestCode::load_neighbours(const Access& access) {
  const auto width = static_cast<int64_t>(lanes_.width);
  if (width < 4 || strides_.is_symbolic(access.id) || short_[access.id]) return nullptr;
  if (has_data(access)) return nullptr;
  const Affine offset = places_.offset_of(access, nullptr);
  auto places = places_.places_of_lanes(offset);
  if (places.empty()) return nullptr;
  places.resize(static_cast<size_t>(masks_.lanes_that_may_be_active()));
  const auto near = neighbours(places);
  if (!near || near->span > 2 * width) return nullptr;
  const auto are_inside = [&](const Neighbours& n) {
    return n.span <= 2 * width && places_.lies_inside(access.id, n.low, (n.span > width ? 2 : 1) * width);
  };
  const Neighbours even = from_even(*near);
  if (are_inside(even)) return picked(access.id, even.low, even.at, even.span > width ? width : 0);
  if (are_inside(*near)) return picked(access.id, near->low, near->at, near->span > width ? width : 0);
  if (masks_.has_open_mask()) return picked_of_active(access.id, near->low, near->at, near->span);
  if (near->span > width)
    return picked(access.id, near->low, near->at, near->span - width);  // the second vector ends with the last element
  return picked_of_few(access.id, near->low, near->at, near->span);
}

/// A whole vector of memory that is the buffer's, whatever the mask is.
llvm::Value* NestCode::whole_load(BufferId id, const Affine& first) {
  llvm::Value* const mask = lanes_.mask;
  masks_.set_mask(nullptr);
  llvm::Value* out = aligned_load(id, first + Affine::variable(kLane));
  masks_.set_mask(mask);
  return out;
}

/// Lanes `at` of one vector, or of another that begins `second` elements later (null: none), zeros for all lanes after
/// them.
llvm::Value* NestCode::pick(llvm::Value* first, llvm::Value* other, const std::vector<int64_t>& at, int64_t second) {
  const auto width = static_cast<int64_t>(lanes_.width);
  const int off = other ? llvm::PoisonMaskElem : static_cast<int>(width);
  std::vector<int> from(lanes_.width, off);
  for (size_t lane = 0; lane < at.size(); ++lane)
    from[lane] = static_cast<int>(at[lane] < width ? at[lane] : width + at[lane] - second);
  llvm::Value* out =
      b_.CreateShuffleVector(first, other ? other : llvm::Constant::getNullValue(first->getType()), from);
  return other && at.size() < lanes_.width ? masks_.with_zeros(out) : out;
}

/// Elements `at` of the vector from `low` on, or of another that begins `second` elements later (0: of the first
/// alone).
llvm::Value* NestCode::picked(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t second) {
  llvm::Value* first = whole_load(id, low);
  llvm::Value* other = second == 0 ? nullptr : whole_load(id, low + Affine::of(second));
  prefetch_near(id, low + Affine::variable(kLane));
  if (second != 0) prefetch_near(id, low + Affine::of(second) + Affine::variable(kLane));
  llvm::Value* out = pick(first, other, at, second);
  return masks_.has_open_mask() ? masks_.with_zeros(out) : out;
}

/// What lies past the last of `span` elements may be nobody's.
llvm::Value* NestCode::picked_of_few(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t span) {
  if (span == static_cast<int64_t>(lanes_.width)) return pick(whole_load(id, low), nullptr, at, 0);
  return pick(load_of_elements(id, low, masks_.first_lanes(span)), nullptr, at, 0);
}

/// Each vector by the mask of the elements that active lanes use, or whole where it lies inside. Null where the target
/// has no such loads.
llvm::Value* NestCode::picked_of_active(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t span) {
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(nest_.buffers[id].type);
  const bool masks_elements = scalar_.can().masked_vectors || (bytes >= 4 && bytes * width <= kMaskedBytes);
  if (!masks_elements) return nullptr;
  llvm::Value* parts[2] = {};
  for (int64_t half = 0; half < (span > width ? 2 : 1); ++half) {
    const Affine first = low + Affine::of(half * width);
    parts[half] = places_.lies_inside(id, first, width)
                      ? whole_load(id, first)
                      : load_of_elements(id, first, elements_in_use(at, half * width));
  }
  return masks_.with_zeros(pick(parts[0], parts[1], at, width));
}

/// Of the vector `first` elements later: those that active lanes use. An element that several lanes use is wanted by
/// any of them.
llvm::Value* NestCode::elements_in_use(const std::vector<int64_t>& at, int64_t first) {
  const int width = static_cast<int>(lanes_.width);
  std::vector<std::vector<int>> users;  // lane by element, a row for each lane that an element has; `width`: none
  for (int lane = 0; lane < width; ++lane) {
    const int64_t element = at[static_cast<size_t>(lane)] - first;
    if (element < 0 || element >= width) continue;
    auto row = std::find_if(users.begin(), users.end(),
                            [&](const std::vector<int>& r) { return r[static_cast<size_t>(element)] == width; });
    if (row == users.end()) row = users.insert(users.end(), std::vector<int>(lanes_.width, width));
    (*row)[static_cast<size_t>(element)] = lane;
  }
  llvm::Value* none = llvm::Constant::getNullValue(lanes_.mask->getType());
  llvm::Value* out = none;
  for (const auto& row : users) out = b_.CreateOr(out, b_.CreateShuffleVector(lanes_.mask, none, row));
  return out;
}

/// A vector by the mask of its elements, zeros elsewhere. Where none is on the address is the buffer's all the same: a
/// load of a page that is not there costs some hundred cycles.
llvm::Value* NestCode::load_of_elements(BufferId id, const Affine& first, llvm::Value* mask) {
  const ElementType type = nest_.buffers[id].type;
  auto* vector = llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width);
  llvm::Value* zeros = llvm::Constant::getNullValue(vector);
  const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  if (known && known->isNullValue()) return scalar_.from_memory(zeros, type);
  const Place place = places_.place_at(id, first);
  llvm::Value* pointer = place.pointer;
  if (!known) {
    llvm::Value* bits = b_.CreateBitCast(mask, b_.getIntNTy(lanes_.width));
    pointer = b_.CreateSelect(b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), pointer,
                              buffers_.base_of(id));
  }
  return scalar_.from_memory(
      b_.CreateMaskedLoad(vector, pointer, llvm::Align(static_cast<uint64_t>(size_bytes(type))), mask, zeros), type);
}

/// Every second element, from two vectors with the lanes apart: what lies between is masked off and stays as it is.
llvm::Instruction* NestCode::store_spread(const Place& place, llvm::Value* lanes, llvm::Align align) {
  const int width = static_cast<int>(lanes_.width);
  llvm::Instruction* last = nullptr;
  for (int half = 0; half < 2; ++half) {
    std::vector<int> apart;
    std::vector<llvm::Constant*> written;
    for (int lane = 0; lane < width; ++lane) {
      apart.push_back(half * width / 2 + lane / 2);
      written.push_back(b_.getInt1(lane % 2 == 0));
    }
    llvm::Value* mask = llvm::ConstantVector::get(written);
    if (lanes_.mask) mask = b_.CreateAnd(mask, b_.CreateShuffleVector(lanes_.mask, apart));
    llvm::Value* pointer = half == 0 ? place.pointer
                                     : b_.CreateGEP(lanes->getType()->getScalarType(), place.pointer,
                                                    b_.getInt64(static_cast<uint64_t>(width)));
    last = b_.CreateMaskedStore(b_.CreateShuffleVector(lanes, apart), pointer, align, mask);
  }
  return last;
}

/// Some lanes of a line are active, at least one, and all of it is memory of the buffer: loads take the line whole,
/// what the other lanes make of it goes nowhere. A masked load costs an operation beside the load, and one of what the
/// statement itself stores waits for the masked store of the row before until that is in memory (100 cycles a row of
/// seidel's ends). Of numbers only where that is so: what lies between rows may be anything, and the least of them are
/// slow.
bool NestCode::lies_in_whole_lines(BufferId id, const Place& place) const {
  const Buffer& buffer = nest_.buffers[id];
  const auto width = static_cast<int64_t>(lanes_.width);
  const bool has_active = is_in_place_ ? lanes_.start != nullptr : is_integer(buffer.type) && lanes_.active > 0;
  return has_active && lanes_.mask && !lanes_.guarded && scalar_.can().masked_vectors && !place.offsets &&
         place.stride == 1 && width * size_bytes(buffer.type) == kLineBytes && place.alignment >= kLineBytes &&
         buffer.scope == Scope::heap && !strides_.is_symbolic(id) && allocated_elements(buffer) % width == 0;
}

/// The line stored whole too, its other lanes as they were. Null where another thread may write them meanwhile.
llvm::Instruction* NestCode::store_whole(BufferId id, const Place& place, llvm::Value* value) {
  if (!is_in_place_ || !lies_in_whole_lines(id, place) || buffers_.is_met_by_others(id)) return nullptr;
  const ElementType type = nest_.buffers[id].type;
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align line(kLineBytes);
  llvm::Value* raw = scalar_.to_memory(scalar_.splat(value, lanes_.width), type);
  llvm::Value* old = b_.CreateAlignedLoad(llvm::FixedVectorType::get(memory, lanes_.width), place.pointer, line);
  // LLVM would make a masked store of it again.
  llvm::Value* hidden = scalar_.hooks().opaque(b_, old);
  return b_.CreateAlignedStore(b_.CreateSelect(lanes_.mask, raw, hidden), place.pointer, line);
}

}  // namespace polyweft::targets
