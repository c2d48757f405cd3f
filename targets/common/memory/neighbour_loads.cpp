#include "targets/common/memory/neighbour_loads.h"

#include <algorithm>
#include <utility>

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

llvm::Value* NeighbourLoads::load_neighbours(const Access& access) {
  const auto width = static_cast<int64_t>(lanes_.width);
  if (width < 4 || strides_.is_symbolic(access.id) || registers_.is_short(access.id)) return nullptr;
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

/// Lanes `at` of one vector, or of another that begins `second` elements later (null: none), zeros for all lanes after
/// them.
llvm::Value* NeighbourLoads::pick(llvm::Value* first, llvm::Value* other, const std::vector<int64_t>& at,
                                  int64_t second) {
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
llvm::Value* NeighbourLoads::picked(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t second) {
  llvm::Value* first = accesses_.whole_load(id, low);
  llvm::Value* other = second == 0 ? nullptr : accesses_.whole_load(id, low + Affine::of(second));
  prefetches_.prefetch_near(id, low + Affine::variable(kLane));
  if (second != 0) prefetches_.prefetch_near(id, low + Affine::of(second) + Affine::variable(kLane));
  llvm::Value* out = pick(first, other, at, second);
  return masks_.has_open_mask() ? masks_.with_zeros(out) : out;
}

/// What lies past the last of `span` elements may be nobody's.
llvm::Value* NeighbourLoads::picked_of_few(BufferId id, const Affine& low, const std::vector<int64_t>& at,
                                           int64_t span) {
  if (span == static_cast<int64_t>(lanes_.width)) return pick(accesses_.whole_load(id, low), nullptr, at, 0);
  return pick(accesses_.load_of_elements(id, low, masks_.first_lanes(span)), nullptr, at, 0);
}

/// Each vector by the mask of the elements that active lanes use, or whole where it lies inside. Null where the target
/// has no such loads.
llvm::Value* NeighbourLoads::picked_of_active(BufferId id, const Affine& low, const std::vector<int64_t>& at,
                                              int64_t span) {
  const auto width = static_cast<int64_t>(lanes_.width), bytes = size_bytes(nest_.buffers[id].type);
  const bool masks_elements = scalar_.can().masked_vectors || (bytes >= 4 && bytes * width <= kMaskedBytes);
  if (!masks_elements) return nullptr;
  llvm::Value* parts[2] = {};
  for (int64_t half = 0; half < (span > width ? 2 : 1); ++half) {
    const Affine first = low + Affine::of(half * width);
    parts[half] = places_.lies_inside(id, first, width)
                      ? accesses_.whole_load(id, first)
                      : accesses_.load_of_elements(id, first, elements_in_use(at, half * width));
  }
  return masks_.with_zeros(pick(parts[0], parts[1], at, width));
}

/// Of the vector `first` elements later: those that active lanes use. An element that several lanes use is wanted by
/// any of them.
llvm::Value* NeighbourLoads::elements_in_use(const std::vector<int64_t>& at, int64_t first) {
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

}  // namespace polyweft::targets
