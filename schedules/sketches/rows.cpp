// Elementwise stages, and reductions along unit stride.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

/// Is some lane's element next to its neighbour's in every read, or the same?
bool is_dense_along(const PlanContext& c, uint32_t index) {
  return std::all_of(c.table.reads.begin(), c.table.reads.end(),
                     [&](const ReadRow& row) { return !row.irregular[index] && row.block[index] == 0 && (row.stride[index] == 0 || row.stride[index] == 1); });
}

bool has_opaque_guard(const PlanContext& c) {
  return !c.stage.guards.empty();
}

/// Lower limits that depend on other indices would need lanes that start late.
bool has_moving_start(const PlanContext& c, uint32_t index) {
  VarId var = c.t.program.index_var(index);
  return std::any_of(c.stage.inside.begin(), c.stage.inside.end(), [&](const Affine& e) { return e.coefficient(var) > 0; });
}

/// The index along which the only read is dense, where that is not the output's: a transposition.
std::optional<uint32_t> turned_index(const PlanContext& c) {
  if (c.stage.reduces || !c.table.unit || equation_of(c.t, c.stage).rhs->op != Op::read || !c.stage.inside.empty() || !c.stage.guards.empty()) return std::nullopt;
  const ReadRow& row = c.table.reads.front();
  if (c.table.reads.size() != 1 || row.stride[*c.table.unit] == 1 || row.irregular[*c.table.unit]) return std::nullopt;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (k != *c.table.unit && row.stride[k] == 1 && !row.irregular[k] && row.block[k] == 0 && !row.idle[k]) return k;
  return std::nullopt;
}

/// others, k and unit tiled | k  unit: serial; code generation turns the tile by squares in registers.
Plan plan_turned(const PlanContext& c, uint32_t k) {
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
  std::vector<TileStep::Level> levels = {{c.name(unit), add_size(plan, c, "tu", std::min<int64_t>(64, c.table.extent[unit]), along)},
                                         {c.name(k), add_size(plan, c, "tk", std::min<int64_t>(64, c.table.extent[k]), across)}};
  plan.steps.push_back(TileStep{c.stage.name, levels});
  const auto order = loop_order(c, outer, levels, {k, unit});
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  return plan;
}

}  // namespace

Plan plan_pure(const PlanContext& c) {
  Plan plan;
  if (const auto k = turned_index(c)) return plan_turned(c, *k);
  std::vector<uint32_t> outer;
  auto cuts = c.table.unit ? cuts_at_clamps(c.table, c.stage, *c.table.unit) : std::nullopt;
  bool has_vector = !c.stage.reduces && cuts && c.table.unit && c.table.extent[*c.table.unit] >= 4 && is_dense_along(c, *c.table.unit) && !has_opaque_guard(c) &&
                    !has_moving_start(c, *c.table.unit);
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (!has_vector || k != *c.table.unit) outer.push_back(k);
  if (!has_vector) return plan;
  int64_t lanes = c.lanes(), whole = (c.table.extent[*c.table.unit] + lanes - 1) / lanes * lanes;
  std::vector<int64_t> candidates;
  for (int64_t w : {1, 2, 4, 8})
    if (w * lanes <= whole) candidates.push_back(w * lanes);
  Size width = add_size(plan, c, "vw", std::min(4 * lanes, whole), candidates);
  std::string v = c.name(*c.table.unit);
  std::vector<TileStep::Level> levels = {{v, width}};
  plan.steps.push_back(TileStep{c.stage.name, levels});
  auto order = loop_order(c, outer, levels, {*c.table.unit});
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  if (!cuts->empty()) plan.steps.push_back(SplitStep{c.stage.name, v + ".1", *cuts});
  plan.steps.push_back(VectorizeStep{c.stage.name, v, Size{lanes, ""}});
  return plan;
}

std::optional<uint32_t> lane_index(const PlanContext& c) {
  const Equation& equation = equation_of(c.t, c.stage);
  if (!c.stage.reduces || equation.targets.size() != 1 || !is_order_free(c.t.cls, c.t.program, equation) || has_opaque_guard(c)) return std::nullopt;
  switch (equation.rhs->reduction.reducer) {
    case Reducer::sum:
    case Reducer::prod:
    case Reducer::max:
    case Reducer::min:
      break;
    default:
      return std::nullopt;
  }
  std::optional<uint32_t> best;
  for (uint32_t k = c.stage.data_indices; k < c.table.extent.size(); ++k) {
    bool is_unit = std::any_of(c.table.reads.begin(), c.table.reads.end(), [&](const ReadRow& row) { return row.stride[k] == 1; });
    bool is_clamped = std::any_of(c.table.reads.begin(), c.table.reads.end(), [&](const ReadRow& row) { return row.idle[k].has_value(); });
    if (is_unit && !is_clamped && is_dense_along(c, k) && c.table.extent[k] >= 8 && !has_moving_start(c, k)) best = k;
  }
  return best;
}

namespace {

/// Rule 6. A chain of additions gathers one rounding each: beyond some hundred an accumulator is put aside and the next part begins with a new one (a tree over the
/// parts, whatever their number, adds less than twenty roundings). And threads need parts where there are too few elements to share out.
std::optional<RfactorStep> long_sum_in_parts(const PlanContext& c, uint32_t lane) {
  constexpr double kLongestChain = 512, kLeastPoints = 100'000;
  double points = 1, elements = 1;
  for (uint32_t i = 0; i < c.table.extent.size(); ++i) (i < c.stage.data_indices ? elements : points) *= static_cast<double>(c.table.extent[i]);
  const Reducer reducer = equation_of(c.t, c.stage).rhs->reduction.reducer;
  const bool is_rounded = (reducer == Reducer::sum || reducer == Reducer::prod) && is_float(c.t.program.tensors[equation_of(c.t, c.stage).targets[0]].type);
  const double chain = points / static_cast<double>(4 * c.lanes());
  int64_t parts = is_rounded && chain > 2 * kLongestChain ? static_cast<int64_t>(chain / kLongestChain) : 1;
  if (c.facts.threads > 1 && c.seat == Seat::root && elements < 2 * c.facts.threads && points * elements > kLeastPoints)
    parts = std::max<int64_t>(parts, c.facts.threads);
  parts = std::min<int64_t>(parts / c.facts.threads * c.facts.threads, 4096);
  const uint32_t first = c.stage.data_indices;
  const uint32_t index = first != lane && c.table.extent[first] >= parts ? first : lane;
  if (parts < 2 || c.table.extent[index] < parts) return std::nullopt;
  return RfactorStep{c.stage.name, c.name(index), parts};
}

}  // namespace

/// others, k tiled | the other reduced indices, k in several vectors: as many accumulators as the latency of an addition asks for.
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
