// Stencils on rows: a reduction over a few taps, computed where its reader needs a row or a register tile of it.
//
//   others  x: width | taps (unrolled)  x (vectors)
//
// The taps share no operand between rows that a register could keep, so the row alone is the block; with all taps unrolled nothing is loaded
// for the loop's sake, and several vectors of the row hide the latency of the additions.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr double kMostTaps = 32;
constexpr int64_t kVectors = 4;

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
  if (!shape || shape->must_pack || !c.stage.inside.empty() || equation_of(c.t, c.stage).targets.size() != 1) return false;
  double taps = 1;
  for (uint32_t k : taps_of(c)) taps *= static_cast<double>(c.table.extent[k]);
  return taps >= 2 && taps <= kMostTaps && c.table.extent[shape->vector] >= 2 * c.lanes();
}

Plan plan_row_stencil(const PlanContext& c) {
  Plan plan;
  const BlockShape shape = *block_shape(c);
  const std::string &s = c.stage.name, v = c.name(shape.vector);
  const int64_t whole = (c.table.extent[shape.vector] + c.lanes() - 1) / c.lanes() * c.lanes();
  std::vector<TileStep::Level> levels = {{v, Size{std::min(kVectors * c.lanes(), whole), ""}}};
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
