// Stencils on rows: a reduction over a few taps, computed where its reader needs a row or a register tile of it.
//
//   others  x: width | taps (unrolled)  x (vectors)
//
// The taps share no operand between rows that a register could keep, so the row alone is the block; with all taps
// unrolled nothing is loaded for the loop's sake, and several vectors of the row hide the latency of the additions.
//
// Where the lanes run across channels (depthwise convolutions), neighbours along a row read the same vectors:
//
//   others | v: two vectors | rows | u: 4 columns | taps, u (unrolled)  v (vectors)
//
// With taps and columns unrolled each vector is loaded once a row of taps and the weights stay in registers; v outside
// the rows keeps the rows of the window in the first cache (inside them where the image comes from memory, whole rows
// at a time). Loops over rows and columns are split where the border begins, so that no condition is left inside.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr double kMostTaps = 32;

std::vector<uint32_t> taps_of(const PlanContext& c) {
  std::vector<uint32_t> out;
  for (uint32_t k = c.stage.data_indices; k < c.table.extent.size(); ++k) out.push_back(k);
  return out;
}

std::vector<uint32_t> data_but(const PlanContext& c, uint32_t vector) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (k != vector) out.push_back(k);
  return out;
}

std::vector<std::string> names(const PlanContext& c, const std::vector<uint32_t>& indices) {
  std::vector<std::string> out;
  for (uint32_t k : indices) out.push_back(c.name(k));
  return out;
}

}  // namespace

bool is_row_stencil(const PlanContext& c) {
  auto shape = block_shape(c);
  if (!shape || shape->must_pack || !c.stage.inside.empty() || equation_of(c.t, c.stage).targets.size() != 1)
    return false;
  double taps = 1;
  for (uint32_t k : taps_of(c)) taps *= static_cast<double>(c.table.extent[k]);
  return taps >= 2 && taps <= kMostTaps && c.table.extent[shape->vector] >= 2 * c.lanes();
}

Plan plan_row_stencil(const PlanContext& c) {
  Plan plan;
  const BlockShape shape = *block_shape(c);
  const std::string &s = c.stage.name, v = c.name(shape.vector);
  const int64_t whole = (c.table.extent[shape.vector] + c.lanes() - 1) / c.lanes() * c.lanes();
  std::vector<TileStep::Level> levels = {{v, Size{std::min(c.row_vectors * c.lanes(), whole), ""}}};
  std::vector<uint32_t> points = taps_of(c);
  points.push_back(shape.vector);
  plan.steps.push_back(TileStep{s, levels});
  plan.steps.push_back(PermuteStep{s, loop_order(c, data_but(c, shape.vector), levels, points)});
  plan.steps.push_back(AccumulateStep{s, v + ".1", Scope::reg});
  if (!shape.cuts.empty()) plan.steps.push_back(SplitStep{s, v + ".1", shape.cuts});
  plan.steps.push_back(UnrollStep{s, names(c, taps_of(c))});
  plan.steps.push_back(VectorizeStep{s, v, Size{c.lanes(), ""}});
  return plan;
}

namespace {

/// Does the index share a subscript with a reduced one: do the taps of neighbours overlap?
bool overlaps(const PlanContext& c, uint32_t index) {
  const VarId var = c.t.program.index_var(index);
  for (const ReadRow& row : c.table.reads)
    for (const Subscript& s : row.access.index)
      for (uint32_t k : taps_of(c))
        if (s.affine.coefficient(var) != 0 && s.affine.coefficient(c.t.program.index_var(k)) != 0) return true;
  return false;
}

/// The values of a data index for which every tap lies inside, as far as conditions on it and reduced indices say.
Interval interior(const PlanContext& c, uint32_t index) {
  Interval out{c.stage.lo[index], c.stage.hi[index] - 1};
  const VarId first = c.t.program.index_var(0);
  for (const Affine& condition : c.stage.inside) {
    const int64_t coeff = condition.coefficient(first + index);
    if (coeff == 0) continue;
    int64_t rest = condition.constant;  // coeff * index + rest >= 0 for all values of the others
    for (const Term& term : condition.terms)
      if (term.var != first + index)
        rest += term.coeff * (term.coeff > 0 ? c.stage.lo[term.var - first] : c.stage.hi[term.var - first] - 1);
    if (coeff > 0)
      out.lo = std::max(out.lo, -(rest >= 0 ? rest / coeff : -((-rest + coeff - 1) / coeff)));
    else
      out.hi = std::min(out.hi, rest >= 0 ? rest / -coeff : -((-rest - coeff - 1) / -coeff));
  }
  return out;
}

}  // namespace

std::vector<int64_t> cuts_at_borders(const PlanContext& c, uint32_t index, int64_t tile) {
  constexpr size_t kMostCuts = 6;
  const Interval inside = interior(c, index);
  std::vector<int64_t> out;
  for (int64_t at = c.stage.lo[index] + tile; at < c.stage.hi[index]; at += tile) {
    const bool ends_border = at - tile<inside.lo, begins_border = at + tile - 1> inside.hi;
    if (ends_border || begins_border) out.push_back(at);
    if (out.size() > kMostCuts) return {};
  }
  return out;
}

namespace {

/// Do the rows of one image stay in the second cache, so that a strip of its lanes may be read at a time?
bool stays_in_l2(const PlanContext& c, uint32_t across) {
  for (const ReadRow& row : c.table.reads) {
    if (!row.uses(across)) continue;
    double bytes = static_cast<double>(size_bytes(c.t.program.tensors[row.tensor].type));
    const Box& box = c.t.boxes[row.tensor];
    for (size_t d = 0; d < box.lo.size(); ++d) bytes *= static_cast<double>(box.hi[d] - box.lo[d]);
    for (uint32_t k = 0; k < c.stage.data_indices; ++k)
      if (row.uses(k) && row.stride[k] != 1 && !overlaps(c, k)) bytes /= static_cast<double>(c.table.extent[k]);
    if (c.machine.caches() > 1 && bytes > static_cast<double>(c.machine.cache_bytes(1))) return false;
  }
  return true;
}

std::vector<int64_t> tile_widths(const PlanContext& c, uint32_t vector) {
  std::vector<int64_t> out;
  for (int64_t vectors : {2, 3, 1})
    if (c.table.extent[vector] % (vectors * c.lanes()) == 0) out.push_back(vectors * c.lanes());
  return out;
}

}  // namespace

bool is_tap_block(const PlanContext& c, const BlockShape& shape) {
  if (!shape.unrolled || shape.must_pack || shape.tensor || !shape.cuts.empty() || shape.lane_block != 0 ||
      tile_widths(c, shape.vector).empty())
    return false;
  double taps = 1;
  for (uint32_t k : taps_of(c)) taps *= static_cast<double>(c.table.extent[k]);
  const bool lanes_everywhere = std::all_of(c.table.reads.begin(), c.table.reads.end(),
                                            [&](const ReadRow& row) { return row.stride[shape.vector] == 1; });
  return taps >= 2 && taps <= kMostTaps && lanes_everywhere && overlaps(c, *shape.unrolled);
}

namespace {

struct TapForm {
  TapOrder order = TapOrder::inside_rows;
  Size width;           ///< of a tile of lanes
  int64_t columns = 1;  ///< of a block
  bool cuts_columns = true;
};

/// The steps of the block; `plan` may have decisions for its sizes.
Plan tap_block(Plan plan, const PlanContext& c, const BlockShape& shape, const TapForm& form, int64_t of_reader) {
  const uint32_t across = *shape.unrolled;
  const std::string &s = c.stage.name, v = c.name(shape.vector), u = c.name(across);
  const std::vector<TileStep::Level> levels = {{v, form.width}, {u, Size{form.columns, ""}}};
  std::vector<std::string> order, rows;
  for (uint32_t k : data_but(c, shape.vector))
    if (k != across) (overlaps(c, k) ? rows : order).push_back(c.name(k));
  if (form.order == TapOrder::outside_rows) order.push_back(v + ".1");
  order.insert(order.end(), rows.begin(), rows.end());
  if (form.order == TapOrder::inside_rows) order.push_back(v + ".1");
  order.push_back(u + ".1");
  if (form.order == TapOrder::inside_columns) order.push_back(v + ".1");
  const std::string block = order.back();
  std::vector<uint32_t> points = taps_of(c), unrolled = points;
  points.push_back(across);
  points.push_back(shape.vector);
  for (const std::string& name : names(c, points)) order.push_back(name);
  unrolled.push_back(across);
  plan.steps.push_back(TileStep{s, levels});
  plan.steps.push_back(PermuteStep{s, order});
  for (const ReadRow& row : c.table.reads) {
    const Tensor& tensor = c.t.program.tensors[row.tensor];
    const auto dim = dimension_alone(c.t, row.access, shape.vector);
    if (!tensor.is_const_input || tensor.hidden || row.uses(across) || !dim) continue;
    plan.steps.push_back(PromoteStep{tensor.name, s, "root", Scope::heap, panel_layout(row, *dim, levels[0].size)});
  }
  plan.steps.push_back(AccumulateStep{s, block, Scope::reg});
  for (uint32_t k : data_but(c, shape.vector)) {
    if (c.site == Site::attached && (k != across || of_reader > 0)) continue;  // its range is a window of the host's
    if (k == across && !form.cuts_columns) continue;
    const auto cuts = cuts_at_borders(c, k, k == across ? form.columns : 1);
    if (!cuts.empty()) plan.steps.push_back(SplitStep{s, k == across ? u + ".1" : c.name(k), cuts});
  }
  plan.steps.push_back(UnrollStep{s, names(c, unrolled)});
  plan.steps.push_back(VectorizeStep{s, v, Size{c.lanes(), ""}});
  return plan;
}

constexpr int64_t kColumns = 4, kAllColumns = 7;

int64_t columns_of_block(const PlanContext& c, uint32_t across) {
  return c.table.extent[across] <= kAllColumns ? c.table.extent[across] : kColumns;
}

}  // namespace

Plan plan_tap_block(const PlanContext& c, const BlockShape& shape, int64_t of_reader) {
  const uint32_t across = *shape.unrolled;
  const std::vector<int64_t> widths = tile_widths(c, shape.vector);
  TapForm form;
  form.order = stays_in_l2(c, across) ? TapOrder::outside_rows : TapOrder::inside_rows;
  form.width = Size{of_reader > 4 ? widths.back() : widths.front(), ""};  // more columns, fewer vectors of each
  form.columns = of_reader > 0 ? of_reader : columns_of_block(c, across);
  return tap_block({}, c, shape, form, of_reader);
}

// Inside columns the channels of one are read as they lie, from one column to the next: columns are no block then, and
// those to come are asked for.
Plan plan_open_taps(const PlanContext& c, const BlockShape& shape, TapOrder order) {
  constexpr int64_t kMostVectors = 4;
  const uint32_t across = *shape.unrolled;
  Plan plan;
  std::vector<int64_t> widths;
  for (int64_t vectors = 1; vectors <= kMostVectors; ++vectors)
    if (c.table.extent[shape.vector] % (vectors * c.lanes()) == 0) widths.push_back(vectors * c.lanes());
  TapForm form;
  form.order = order;
  form.width = add_size(plan, c, "nr", tile_widths(c, shape.vector).front(), widths);
  form.columns = order == TapOrder::inside_columns ? 1 : columns_of_block(c, across);
  form.cuts_columns = order != TapOrder::inside_columns;
  if (form.cuts_columns) return tap_block(std::move(plan), c, shape, form, 0);
  const Size ahead = add_size(plan, c, "ahead", 0, {0, 2, 4, 6, 8});
  plan = tap_block(std::move(plan), c, shape, form, 0);
  for (const ReadRow& row : c.table.reads) {
    const Tensor& tensor = c.t.program.tensors[row.tensor];
    if (!row.uses(across) || tensor.kind != TensorKind::input || ahead.decision.empty()) continue;
    plan.steps.push_back(PrefetchStep{tensor.name, c.stage.name, c.name(across), ahead});
    return plan;
  }
  std::erase_if(plan.decisions, [&](const Decision& d) { return d.name == ahead.decision; });
  return plan;
}

Plan plan_stencil_in_registers(const PlanContext& c, const std::string& reader, const std::string& place) {
  Plan plan;
  const BlockShape shape = *block_shape(c);
  const std::string &s = c.stage.name, v = c.name(shape.vector);
  plan.steps.push_back(ComputeAtStep{s, reader, place, Scope::reg});
  std::vector<uint32_t> points = data_but(c, shape.vector), taps = taps_of(c);
  points.insert(points.end(), taps.begin(), taps.end());
  points.push_back(shape.vector);
  plan.steps.push_back(PermuteStep{s, names(c, points)});
  plan.steps.push_back(UnrollStep{s, names(c, taps)});
  plan.steps.push_back(VectorizeStep{s, v, Size{c.lanes(), ""}});
  plan.steps.push_back(UnrollStep{s, {v}});
  return plan;
}

}  // namespace polyweft::schedules
