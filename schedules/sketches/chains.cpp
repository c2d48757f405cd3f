// Two reductions in one nest: a stencil across channels and the product that reads it point by point (depthwise, then
// pointwise).
//
//   rows | u: columns | v: vectors    with the stencil of these columns before the loop over v, in a buffer of the
//   first cache rows | v | u                      with the stencil of the whole row
//
// The stencil's elements are read once a tile of v, from cache, and never reach memory. Its window follows the
// product's tile one to one, so that nothing is computed again.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

/// The host's index that runs along each dimension of what the producer makes; empty where a subscript is more than an
/// index.
std::vector<uint32_t> indices_read_by(const PlanContext& producer, const PlanContext& host) {
  const auto accesses = reads_of(host.t, host.stage, equation_of(producer.t, producer.stage).targets[0]);
  std::vector<uint32_t> out;
  if (accesses.size() != 1) return out;
  for (const Subscript& s : accesses[0].index) {
    if (s.data || s.affine.terms.size() != 1 || s.affine.constant != 0 || s.affine.terms[0].quasi ||
        s.affine.terms[0].coeff != 1)
      return {};
    const uint32_t index = s.affine.terms[0].var - host.t.program.index_var(0);
    if (std::count(out.begin(), out.end(), index)) return {};
    out.push_back(index);
  }
  return out;
}

struct Tile {
  int64_t width = 0, columns = 1;
};

/// As many accumulators as the registers hold beside one row of operands.
Tile tile_of(const PlanContext& c, const BlockShape& shape) {
  const int64_t lanes = c.lanes(), columns = c.table.extent[*shape.unrolled];
  Tile best;
  double most = 0;
  for (int64_t vectors : {4, 3, 2, 1}) {
    if (c.table.extent[shape.vector] % (vectors * lanes) != 0) continue;
    const int64_t fits = std::min((c.machine.units.vector_registers - 1 - vectors) / vectors, columns),
                  tiles = (columns + fits - 1) / fits, even = (columns + tiles - 1) / tiles;
    const double share =
        static_cast<double>(vectors * even) / static_cast<double>(vectors + even);  // multiplications a load
    if (share > most) most = share, best = {vectors * lanes, even};
  }
  return best;
}

std::vector<std::string> all_names(const PlanContext& c, const std::vector<uint32_t>& indices) {
  std::vector<std::string> out;
  for (uint32_t k : indices) out.push_back(c.name(k));
  return out;
}

}  // namespace

bool is_chain(const PlanContext& producer, const PlanContext& host) {
  const auto own = block_shape(producer), shape = block_shape(host);
  if (!own || !shape || !is_tap_block(producer, *own) || !shape->unrolled || shape->must_pack || shape->tensor ||
      !shape->cuts.empty() || shape->lane_block != 0)
    return false;
  if (!host.stage.inside.empty() || !host.stage.guards.empty() || tile_of(host, *shape).width == 0) return false;
  const Equation& made = equation_of(producer.t, producer.stage);
  const auto along = indices_read_by(producer, host);
  if (along.size() != producer.stage.data_indices || made.slots.size() != along.size()) return false;
  for (size_t d = 0; d < along.size(); ++d) {
    const Slot& slot = made.slots[d];
    if (slot.var == kNoVar || slot.var - producer.t.program.index_var(0) != d || along[d] == shape->vector)
      return false;
    if ((d == *own->unrolled) != (along[d] == *shape->unrolled)) return false;
  }
  return host.stage.data_indices == along.size();  // all but the channels, and the lanes of the product instead
}

Plan plan_chain(const PlanContext& producer, const PlanContext& host, const ChainForm& form) {
  const bool by_rows = form.by_rows;
  Plan plan;
  const BlockShape shape = *block_shape(host), own = *block_shape(producer);
  const Tile tile = tile_of(host, shape);
  const std::string &s = host.stage.name, &p = producer.stage.name, v = host.name(shape.vector),
                    u = host.name(*shape.unrolled);
  std::vector<std::string> order;
  std::vector<uint32_t> points;
  for (uint32_t k = 0; k < host.stage.data_indices; ++k)
    if (k != shape.vector && k != *shape.unrolled) order.push_back(host.name(k));
  const std::vector<std::string> rows = order;
  for (uint32_t k = host.stage.data_indices; k < host.table.extent.size(); ++k) points.push_back(k);
  points.push_back(*shape.unrolled);
  points.push_back(shape.vector);
  const std::vector<std::string> tiles =
      by_rows ? std::vector<std::string>{v + ".1", u + ".1"} : std::vector<std::string>{u + ".1", v + ".1"};
  order.insert(order.end(), tiles.begin(), tiles.end());
  for (const std::string& name : all_names(host, points)) order.push_back(name);
  const std::string place = by_rows && !rows.empty() ? rows.back() : tiles[0];
  plan.steps.push_back(TileStep{s, {{v, Size{tile.width, ""}}, {u, Size{tile.columns, ""}}}});
  plan.steps.push_back(PermuteStep{s, order});
  plan.steps.push_back(ComputeAtStep{p, s, place, Scope::heap});
  const auto along = indices_read_by(producer, host);
  for (uint32_t d = 0; d < along.size(); ++d) {
    const bool across = d == *own.unrolled;
    if (along[d] >= host.stage.data_indices || (across && by_rows)) continue;
    const auto cuts = cuts_at_borders(producer, d, across ? tile.columns : 1);
    if (!cuts.empty()) plan.steps.push_back(SplitStep{s, across ? u + ".1" : host.name(along[d]), cuts});
  }
  for (const ReadRow& row : host.table.reads) {
    const auto dim = dimension_alone(host.t, row.access, shape.vector);
    if (host.t.program.tensors[row.tensor].is_const_input && !host.t.program.tensors[row.tensor].hidden && dim &&
        !row.uses(*shape.unrolled))
      plan.steps.push_back(PromoteStep{host.t.program.tensors[row.tensor].name, s, "root", Scope::heap,
                                       panel_layout(row, *dim, Size{tile.width, ""})});
  }
  plan.steps.push_back(AccumulateStep{s, tiles[1], Scope::reg});
  plan.steps.push_back(UnrollStep{s, {u}});
  plan.steps.push_back(VectorizeStep{s, v, Size{host.lanes(), ""}});
  if (form.streams) plan.steps.push_back(StreamStep{s});
  plan.append(plan_tap_block(producer, own, by_rows ? 0 : tile.columns));
  for (uint32_t d = 0; form.prefetch_rows > 0 && !rows.empty() && d < along.size(); ++d) {
    if (host.name(along[d]) != rows.back()) continue;
    for (const ReadRow& row : producer.table.reads)
      if (row.uses(d) && !producer.t.program.tensors[row.tensor].is_const_input)
        plan.steps.push_back(PrefetchStep{producer.t.program.tensors[row.tensor].name, p, producer.name(d),
                                          Size{form.prefetch_rows, ""}});
  }
  if (host.machine.cores() > 1) plan.steps.push_back(ParallelStep{s, order.front()});
  return plan;
}

}  // namespace polyweft::schedules
