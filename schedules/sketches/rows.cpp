// Elementwise stages, and reductions along unit stride.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

/// Is some lane's element next to its neighbour's in every read, or the same, or near it?
bool is_dense_along(const PlanContext& c, uint32_t index) {
  return std::all_of(c.table.reads.begin(), c.table.reads.end(),
                     [&](const ReadRow& row) { return is_near_along(row, index); });
}

/// Is what is not dense along the index at places that no stride describes (quotients, remainders, clamps of them)?
/// Lanes gather it where no classes of residues are dense (these take 0.3 of the time). Subscripts that are data are
/// left to the compiler's vectors: these took 0.84 of the time of ours for a table of 256 values (Zen 5).
bool is_gathered_along(const PlanContext& c, uint32_t index) {
  return is_dense_along(c, index) ||
         (!plan_interleaved(c) && std::all_of(c.table.reads.begin(), c.table.reads.end(), [&](const ReadRow& row) {
           bool is_by_data = false;
           for (const Subscript& s : row.access.index)
             visit(s.data, [&](const ExprNode& e) { is_by_data |= e.op == Op::read; });
           return is_near_along(row, index) || (row.irregular[index] && !is_by_data);
         }));
}

bool has_opaque_guard(const PlanContext& c) {
  return !c.stage.guards.empty();
}

/// Does a condition hold for some lanes of a vector and not for others?
bool has_guard_along(const PlanContext& c, uint32_t index) {
  const VarId var = c.t.program.index_var(index);
  return std::any_of(c.stage.guards.begin(), c.stage.guards.end(), [&](const Guard& guard) {
    std::vector<VarId> used;
    collect_variables(guard, used);
    return std::count(used.begin(), used.end(), var) > 0;
  });
}

/// Lower limits that depend on other indices would need lanes that start late.
bool has_moving_start(const PlanContext& c, uint32_t index) {
  VarId var = c.t.program.index_var(index);
  return std::any_of(c.stage.inside.begin(), c.stage.inside.end(),
                     [&](const Affine& e) { return e.coefficient(var) > 0; });
}

/// The index along which the only read is dense, where that is not the output's: a transposition. What is the same
/// along the output's rows fills them.
std::optional<uint32_t> transposed_index(const PlanContext& c) {
  if (c.stage.reduces || !c.table.unit || equation_of(c.t, c.stage).rhs->op != Op::read || !c.stage.inside.empty() ||
      !c.stage.guards.empty())
    return std::nullopt;
  const ReadRow& row = c.table.reads.front();
  const bool is_plain_along_rows = row.stride[*c.table.unit] == 0 || row.stride[*c.table.unit] == 1;
  if (c.table.reads.size() != 1 || is_plain_along_rows || row.irregular[*c.table.unit] ||
      row.quotient[*c.table.unit] != 0)
    return std::nullopt;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (k != *c.table.unit && row.stride[k] == 1 && !row.irregular[k] && row.block[k] == 0 && row.quotient[k] == 0 &&
        !row.idle[k])
      return k;
  return std::nullopt;
}

/// others, k and unit tiled | k  unit: serial; code generation turns the tile by squares in registers.
Plan plan_transposition(const PlanContext& c, uint32_t k) {
  Plan plan;
  const uint32_t unit = *c.table.unit;
  std::vector<uint32_t> outer;
  for (uint32_t i = 0; i < c.stage.data_indices; ++i)
    if (i != k && i != unit) outer.push_back(i);
  std::vector<int64_t> along, across;
  for (int64_t size : {16, 32, 64, 128, 256, 1024}) {
    if (size <= c.table.extent[unit]) along.push_back(size);
    if (size <= c.table.extent[k]) across.push_back(size);
  }
  std::vector<TileStep::Level> levels = {
      {c.name(unit), add_size(plan, c, "tu", std::min<int64_t>(64, c.table.extent[unit]), along)},
      {c.name(k), add_size(plan, c, "tk", std::min<int64_t>(64, c.table.extent[k]), across)}};
  plan.steps.push_back(TileStep{c.stage.name, levels});
  const auto order = loop_order(c, outer, levels, {k, unit});
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  return plan;
}

}  // namespace

Plan plan_pure(const PlanContext& c) {
  Plan plan;
  if (const auto k = transposed_index(c)) return plan_transposition(c, *k);
  std::vector<uint32_t> outer;
  const auto unit = c.table.unit ? c.table.unit : c.table.spread;
  auto cuts = unit ? cuts_at_clamps(c.table, c.stage, *unit) : std::nullopt;
  bool has_vector = !c.stage.reduces && cuts && unit && c.table.extent[*unit] >= 4 && is_gathered_along(c, *unit) &&
                    !has_guard_along(c, *unit) && !has_moving_start(c, *unit);
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (!has_vector || k != *unit) outer.push_back(k);
  if (!has_vector) return plan;
  int64_t lanes = c.lanes(), whole = (c.table.extent[*unit] + lanes - 1) / lanes * lanes;
  std::vector<int64_t> candidates;
  for (int64_t w : {1, 2, 4, 8})
    if (w * lanes <= whole) candidates.push_back(w * lanes);
  Size width = add_size(plan, c, "vw", std::min(4 * lanes, whole), candidates);
  std::string v = c.name(*unit);
  std::vector<TileStep::Level> levels = {{v, width}};
  plan.steps.push_back(TileStep{c.stage.name, levels});
  auto order = loop_order(c, outer, levels, {*unit});
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  if (!cuts->empty()) plan.steps.push_back(SplitStep{c.stage.name, v + ".1", *cuts});
  plan.steps.push_back(VectorizeStep{c.stage.name, v, Size{lanes, ""}});
  return plan;
}

std::optional<uint32_t> lane_index(const PlanContext& c) {
  if (!c.stage.reduces || !is_order_free(c.t.cls, c.t.program, equation_of(c.t, c.stage)) || has_opaque_guard(c))
    return std::nullopt;
  std::optional<uint32_t> best;
  for (uint32_t k = c.stage.data_indices; k < c.table.extent.size(); ++k) {
    bool is_unit =
        std::any_of(c.table.reads.begin(), c.table.reads.end(), [&](const ReadRow& row) { return row.stride[k] == 1; });
    bool is_clamped = std::any_of(c.table.reads.begin(), c.table.reads.end(),
                                  [&](const ReadRow& row) { return row.idle[k].has_value(); });
    if (is_unit && !is_clamped && is_dense_along(c, k) && c.table.extent[k] >= 8 && !has_moving_start(c, k)) best = k;
  }
  return best;
}

namespace {

/// Rule 6. A chain of additions gathers one rounding each: beyond some hundred an accumulator is put aside and the next
/// part begins with a new one (a tree over the parts, whatever their number, adds less than twenty roundings). And
/// threads need parts where there are too few elements to share out.
std::optional<RfactorStep> long_sum_in_parts(const PlanContext& c, uint32_t lane) {
  constexpr double kLongestChain = 512, kLeastPoints = 100'000;
  double points = 1, elements = 1;
  for (uint32_t i = 0; i < c.table.extent.size(); ++i)
    (i < c.stage.data_indices ? elements : points) *= static_cast<double>(c.table.extent[i]);
  const Reducer reducer = equation_of(c.t, c.stage).rhs->reduction.reducer;
  const bool is_rounded = (reducer == Reducer::sum || reducer == Reducer::prod) &&
                          is_float(c.t.program.tensors[equation_of(c.t, c.stage).targets[0]].type);
  const double chain = points / static_cast<double>(4 * c.lanes());
  int64_t parts = is_rounded && chain > 2 * kLongestChain ? static_cast<int64_t>(chain / kLongestChain) : 1;
  if (c.machine.cores() > 1 && c.site == Site::root && elements < 2 * c.machine.cores() &&
      points * elements > kLeastPoints)
    parts = std::max<int64_t>(parts, c.machine.cores());
  parts = std::min<int64_t>(parts / c.machine.cores() * c.machine.cores(), 4096);
  const uint32_t first = c.stage.data_indices;
  const uint32_t index = first != lane && c.table.extent[first] >= parts ? first : lane;
  if (parts < 2 || c.table.extent[index] < parts) return std::nullopt;
  return RfactorStep{c.stage.name, c.name(index), parts};
}

/// Does a fold take functions, which need registers of their own?
bool folds_functions(const PlanContext& c) {
  const Reduction& reduction = equation_of(c.t, c.stage).rhs->reduction;
  if (reduction.reducer != Reducer::combiner) return false;
  bool out = false;
  for (const Expr& result : c.t.program.combiners[reduction.combiner].result)
    visit(result, [&](const ExprNode& e) { out |= (e.op >= Op::exp && e.op <= Op::cos) || e.op == Op::pow; });
  return out;
}

/// others, rows in pairs or fours, k in vectors: a state of several components is dear to merge, so that rows rather
/// than vectors of one row are the independent chains, and their merges run side by side.
Plan plan_state_lanes(const PlanContext& c, uint32_t index) {
  Plan plan;
  const int64_t lanes = c.lanes(), whole = (c.table.extent[index] + lanes - 1) / lanes * lanes;
  std::vector<uint32_t> data, reduced;
  for (uint32_t i = 0; i < c.table.extent.size(); ++i)
    if (i != index) (i < c.stage.data_indices ? data : reduced).push_back(i);
  const std::string k = c.name(index);
  const bool has_rows = !data.empty() && c.table.extent[data.back()] >= 2;
  const int64_t most_rows = has_rows ? c.table.extent[data.back()] : 1, chains = folds_functions(c) ? 2 : 4;
  std::vector<int64_t> heights;
  for (int64_t h : {1, 2, 4})
    if (h <= most_rows && h <= chains) heights.push_back(h);
  std::vector<TileStep::Level> levels = {{k, Size{has_rows ? lanes : std::min(chains * lanes, whole), ""}}};
  if (has_rows) levels.push_back({c.name(data.back()), add_size(plan, c, "rows", heights.back(), heights)});
  plan.steps.push_back(TileStep{c.stage.name, levels});
  std::vector<std::string> order;
  for (uint32_t i : data) order.push_back(c.name(i) + (has_rows && i == data.back() ? ".1" : ""));
  const std::string place = order.empty() ? "root" : order.back();
  for (uint32_t i : reduced) order.push_back(c.name(i));
  order.push_back(k + ".1");
  if (has_rows) order.push_back(c.name(data.back()));
  order.push_back(k);
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  plan.steps.push_back(AccumulateStep{c.stage.name, place, Scope::reg});
  if (has_rows) plan.steps.push_back(UnrollStep{c.stage.name, {c.name(data.back())}});
  plan.steps.push_back(VectorizeStep{c.stage.name, k, Size{lanes, ""}});
  if (const auto parts = long_sum_in_parts(c, index)) plan.steps.push_back(*parts);
  return plan;
}

}  // namespace

/// others, v tiled | the reduced indices | v: sums in registers, lanes along the unit stride of the outputs.
std::optional<Plan> plan_columns(const PlanContext& c) {
  if (!c.table.unit || !is_dense_along(c, *c.table.unit) || has_opaque_guard(c) || has_moving_start(c, *c.table.unit))
    return std::nullopt;
  const uint32_t unit = *c.table.unit;
  const int64_t extent = c.table.extent[unit];
  if (extent < 4) return std::nullopt;
  Plan plan;
  int64_t lanes = c.lanes();
  while (lanes >= 2 * extent) lanes /= 2;
  const int64_t whole = (extent + lanes - 1) / lanes * lanes;
  std::vector<int64_t> widths;
  for (int64_t w : {1, 2, 4})
    if (w * lanes <= whole) widths.push_back(w * lanes);
  std::vector<uint32_t> outer, points;
  for (uint32_t i = 0; i < c.table.extent.size(); ++i)
    if (i != unit) (i < c.stage.data_indices ? outer : points).push_back(i);
  points.push_back(unit);
  const std::vector<TileStep::Level> levels = {
      {c.name(unit), add_size(plan, c, "vw", std::min(4 * lanes, whole), widths)}};
  plan.steps.push_back(TileStep{c.stage.name, levels});
  plan.steps.push_back(PermuteStep{c.stage.name, loop_order(c, outer, levels, points)});
  plan.steps.push_back(AccumulateStep{c.stage.name, c.name(unit) + ".1", Scope::reg});
  plan.steps.push_back(VectorizeStep{c.stage.name, c.name(unit), Size{lanes, ""}});
  return plan;
}

/// A reduction whose state has several components: lanes along a dense reduced index, or along the outputs; else each
/// state in scalars, which are registers too.
Plan plan_states(const PlanContext& c) {
  if (const auto index = lane_index(c)) return plan_state_lanes(c, *index);
  if (const auto plan = plan_columns(c)) return *plan;
  Plan plan;
  if (c.stage.data_indices > 0 && !has_opaque_guard(c))
    plan.steps.push_back(AccumulateStep{c.stage.name, c.name(c.stage.data_indices - 1), Scope::reg});
  return plan;
}

/// others, k tiled | the other reduced indices, k in several vectors: as many accumulators as the latency of an
/// addition asks for.
Plan plan_lanes(const PlanContext& c, uint32_t index) {
  Plan plan;
  int64_t lanes = c.lanes(), whole = (c.table.extent[index] + lanes - 1) / lanes * lanes;
  std::vector<int64_t> candidates;
  for (int64_t w : {1, 2, 4, 8})
    if (w * lanes <= whole) candidates.push_back(w * lanes);
  Size width = add_size(plan, c, "kw", std::min(4 * lanes, whole), candidates);
  std::string k = c.name(index);
  std::vector<TileStep::Level> levels = {{k, width}};
  plan.steps.push_back(TileStep{c.stage.name, levels});
  std::vector<uint32_t> data, reduced;
  for (uint32_t i = 0; i < c.table.extent.size(); ++i) {
    if (i == index) continue;
    (i < c.stage.data_indices ? data : reduced).push_back(i);
  }
  std::vector<std::string> order;
  for (uint32_t i : data) order.push_back(c.name(i));
  for (uint32_t i : reduced) order.push_back(c.name(i));
  order.push_back(k + ".1");
  order.push_back(k);
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  plan.steps.push_back(AccumulateStep{c.stage.name, data.empty() ? "root" : c.name(data.back()), Scope::reg});
  plan.steps.push_back(VectorizeStep{c.stage.name, k, Size{lanes, ""}});
  if (const auto parts = long_sum_in_parts(c, index)) plan.steps.push_back(*parts);
  return plan;
}

}  // namespace polyweft::schedules
