#include "targets/common/tiles/tile_places.h"

#include <algorithm>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

bool is_tile_operand(const ir::Instruction::Operand& operand) {
  return operand.register_element == "tile16" && operand.register_lanes == kTileRowBytes;
}

}  // namespace

std::string TilePlace::key(int part) const {
  std::string out = "tile" + (part > 0 ? std::to_string(part) + "/" : "") + std::to_string(buffer) + ":" +
                    key_of(first) + ":" + std::to_string(distance);
  for (int64_t n : trips) out += "," + std::to_string(n);
  return out;
}

/// Where an access moves by a constant distance along each of the loops, and by these alone: the distances.
std::optional<TilePlaces::Strided> TilePlaces::strided(const Access& access, const std::vector<const Loop*>& loops) {
  const auto axis = [](size_t n) { return kAxis + static_cast<VarId>(n); };
  bool fits = !registers_.in_registers(access.id);
  for (const Subscript& s : access.index) fits = fits && !s.data;
  std::vector<int64_t> trips;
  for (const Loop* loop : loops) {
    const auto count = loop->step == 1 ? variables_.constant_trips(*loop, fold(loop->lo.of[0])) : std::nullopt;
    if (!count || *count < 1) fits = false;
    trips.push_back(count.value_or(0));
  }
  if (!fits) return std::nullopt;
  for (size_t n = 0; n < loops.size(); ++n) {
    variables_.set_facts(axis(n), {0, trips[n] - 1, 1});
    variables_.substitute(loops[n]->var,
                          fold(loops[n]->lo.of[0]) + (trips[n] > 1 ? Affine::variable(axis(n)) : Affine::of(0)));
  }
  std::vector<Affine> index;
  for (const Subscript& s : access.index) index.push_back(fold(s.affine));
  Strided out{facts_.offset(nest_.buffers[access.id], index), {}};
  for (size_t n = 0; n < loops.size(); ++n) {
    out.strides.push_back(out.first.coefficient(axis(n)));
    out.first = out.first - Affine::variable(axis(n), out.strides.back());
  }
  std::vector<VarId> used;
  collect_variables(out.first, used);
  for (size_t n = 0; n < loops.size(); ++n) {
    fits = fits && std::find(used.begin(), used.end(), axis(n)) == used.end();
    variables_.forget_facts(axis(n));
    variables_.end_substitution(loops[n]->var);
  }
  if (!fits) return std::nullopt;
  return out;
}

/// The operand as rows of equal distance, each without gaps.
std::optional<TilePlace> TilePlaces::tile_place(const ir::TensorMatch& match, size_t number) {
  const auto& own = match.instruction->operands[number];
  if (!is_tile_operand(own) || (number > 0 && !match.binding.access[number - 1])) return std::nullopt;
  const Access& access = number == 0 ? match.compute->dst[0] : *match.binding.access[number - 1];
  const Buffer& buffer = nest_.buffers[access.id];
  std::vector<const Loop*> loops;
  for (uint32_t axis : own.loops) loops.push_back(match.loops[axis]);
  const auto steps = strided(access, loops);
  if (!steps) return std::nullopt;
  TilePlace out;
  out.buffer = access.id;
  out.first = steps->first;
  out.rows_are_reduced = match.instruction->axes[own.loops[0]].is_reduced;
  const int64_t element = size_bytes(own.type);
  bool is_short = false, lacks_terms = false, has_gaps = false;
  int64_t stride = 1, reach = 0;
  for (size_t d = own.loops.size(); d-- > 0;) {
    const auto& axis = match.instruction->axes[own.loops[d]];
    const int64_t trips = *variables_.constant_trips(*loops[d], fold(loops[d]->lo.of[0]));
    has_gaps |= d > 0 && trips > 1 && steps->strides[d] != stride;
    out.strides.insert(out.strides.begin(), steps->strides[d]);
    if (d == 0) out.distance = trips > 1 ? steps->strides[0] * element : kTileRowBytes;
    reach += (axis.extent - 1) * (d > 0 ? stride : out.distance / element);
    out.trips.insert(out.trips.begin(), trips);
    out.extents.insert(out.extents.begin(), axis.extent);
    is_short |= trips < axis.extent;
    lacks_terms |= trips < axis.extent && axis.is_reduced;
    stride *= axis.extent;
  }
  const Interval range = facts_.range(out.first);
  const bool is_inside = out.distance >= 0 && range.lo >= 0 && range.hi + reach < allocated_elements(buffer);
  // Groups that are short everywhere lie closer together; a row of them fits one vector.
  int64_t span = 1;
  for (size_t d = 1; d < out.trips.size(); ++d) {
    if (out.trips[d] > 1 && out.strides[d] < 1) return std::nullopt;
    span += (out.trips[d] - 1) * out.strides[d];
  }
  out.parts = own.parts;
  if (out.parts > 1 && has_gaps) return std::nullopt;
  if (has_gaps && (!lacks_terms || span * element > kTileRowBytes)) return std::nullopt;
  out.is_staged = lacks_terms || (is_short && !is_inside);
  // A whole tile may be stored over cells of a home only; those past the edge are nobody's there.
  if (number == 0 && (out.is_staged || (is_short && buffer.scope != Scope::tile))) return std::nullopt;
  return out;
}

std::optional<TilePlan> TilePlaces::tile_plan(const ir::TensorMatch& match) {
  if (lanes_.width > 1 || match.instruction->operands.size() != 3) return std::nullopt;
  TilePlan out;
  for (size_t number = 0; number < 3; ++number) {
    auto place = tile_place(match, number);
    if (!place) return std::nullopt;
    out.push_back(std::move(*place));
  }
  return out;
}

}  // namespace polyweft::targets
