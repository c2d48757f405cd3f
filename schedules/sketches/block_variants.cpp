// Register blocks with more than plan_block has: the elementwise reader at the end of each tile; several rows.
#include <algorithm>

#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

/// Do conditions say which of its values lie inside?
bool meets_border(const PlanContext& c, uint32_t index) {
  const VarId var = c.t.program.index_var(index);
  return std::any_of(c.stage.inside.begin(), c.stage.inside.end(),
                     [&](const Affine& e) { return e.coefficient(var) != 0; });
}

/// Do conditions decide by both what lies inside?
bool meet_in_border(const PlanContext& c, uint32_t a, uint32_t b) {
  const VarId first = c.t.program.index_var(0);
  return std::any_of(c.stage.inside.begin(), c.stage.inside.end(),
                     [&](const Affine& e) { return e.coefficient(first + a) != 0 && e.coefficient(first + b) != 0; });
}

}  // namespace

// At the loop inside which the partial sums are: the innermost one over the block's tiles.
Plan plan_block_with_reader(const PlanContext& c, const PlanContext& z, const BlockShape& shape) {
  Plan plan = plan_block(c, shape);
  std::string place;
  for (const Step& step : plan.steps)
    if (const auto* sums = std::get_if<AccumulateStep>(&step); sums && sums->statement == c.stage.name)
      place = sums->at;
  plan.steps.push_back(FuseStep{z.stage.name, c.stage.name, place});
  if (shape.unrolled) plan.steps.push_back(UnrollStep{z.stage.name, {z.name(*shape.unrolled)}});
  const std::string lanes = z.name(shape.vector);
  plan.steps.push_back(VectorizeStep{z.stage.name, lanes, Size{block_lanes(c, shape), ""}});
  plan.steps.push_back(UnrollStep{z.stage.name, {lanes}});
  return plan;
}

std::optional<Plan> plan_block_of_rows(const PlanContext& c, const BlockShape& shape, BlockRows form) {
  constexpr int64_t kRows = 2, kMostExtent = 14, kMostTaps = 11;
  if (!shape.unrolled || shape.tensor || c.table.extent[*shape.unrolled] > kMostExtent) return std::nullopt;
  std::optional<uint32_t> second;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k) {
    const bool is_alone = std::any_of(c.table.reads.begin(), c.table.reads.end(),
                                      [&](const ReadRow& row) { return row.uses(shape.vector) && !row.uses(k); });
    // Whole rows of an image without a border are as good, unless they leave registers over.
    const bool is_short = 2 * kRows * c.table.extent[*shape.unrolled] <= c.machine.units.vector_registers;
    if (k != shape.vector && k != *shape.unrolled && is_alone && c.table.extent[k] > kRows &&
        c.table.extent[k] <= kMostExtent && (meets_border(c, k) || is_short))
      second = k;
  }
  if (!second) return std::nullopt;
  Plan plan = plan_block(c, shape);
  const std::string rows = c.name(*second), columns = c.name(*shape.unrolled);
  const Size size = form == BlockRows::open ? add_size(plan, c, "rows", kRows, {2, 3, 4}) : Size{kRows, ""};
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    if (auto* tile = std::get_if<TileStep>(&plan.steps[at])) tile->levels.push_back({rows, size});
    if (auto* unroll = std::get_if<UnrollStep>(&plan.steps[at]))
      unroll->loops.insert(std::find(unroll->loops.begin(), unroll->loops.end(), columns), rows);
    auto* permute = std::get_if<PermuteStep>(&plan.steps[at]);
    if (!permute) continue;
    std::replace(permute->loops.begin(), permute->loops.end(), rows, rows + ".1");
    permute->loops.insert(std::find(permute->loops.begin(), permute->loops.end(), columns), rows);
  }
  SplitStep cuts{c.stage.name, rows + ".1", {}};
  for (int64_t at = c.stage.lo[*second] + kRows; at < c.stage.hi[*second]; at += kRows) cuts.at.push_back(at);
  std::vector<Step> splits;
  if (form == BlockRows::two_apart) splits.push_back(std::move(cuts));
  for (uint32_t k = c.stage.data_indices; k + 1 < c.table.extent.size(); ++k) {
    if (!meet_in_border(c, k, *second) || meet_in_border(c, k, *shape.unrolled) || c.table.extent[k] > kMostTaps)
      continue;
    SplitStep taps{c.stage.name, c.name(k), {}};  // in a loop for each value rows at the border are of one size
    for (int64_t value = c.stage.lo[k] + 1; value < c.stage.hi[k]; ++value) taps.at.push_back(value);
    if (!taps.at.empty()) splits.push_back(std::move(taps));
  }
  const auto sums = std::find_if(plan.steps.begin(), plan.steps.end(),
                                 [](const Step& step) { return std::holds_alternative<AccumulateStep>(step); });
  plan.steps.insert(sums + 1, splits.begin(), splits.end());
  for (Constraint& registers : plan.constraints)
    for (Monomial& block : registers.terms)
      if (registers.name == "registers" && block.decisions.size() == 2) {
        if (size.decision.empty())
          block.coeff *= static_cast<double>(size.constant);
        else
          block.decisions.push_back(size.decision);
      }
  return plan;
}

}  // namespace polyweft::schedules
