// Elements whose places follow quotients and remainders of the row's index by 2, 3 or 4: each class of residues reads
// rows side by side, and all are stored while their lines are near.
//
//   for y, x: Y[y, x] = f(a[y, x // 2], a[y, x // 2 + x % 2])      for y: for x.1: { for x vector: Y[y, 2 x] = f(a[y,
//   x], a[y, x]);  for x vector: Y[y, 2 x + 1] = .. }
//
// Images drawn larger, polyphase filters, pixels shuffled from channels. Fused, the classes took 0.3 of the time of
// lanes that gather (AVX-512; AVX2 too).
#include <algorithm>
#include <numeric>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostClasses = 4;

/// The least common multiple of what the expression divides the index by.
void gather_divisors(const Affine& e, VarId var, int64_t& multiple) {
  for (const Term& term : e.terms) {
    if (!term.quasi) continue;
    std::vector<VarId> used;
    collect_variables(term.quasi->e, used);
    if (std::count(used.begin(), used.end(), var) == 0) continue;
    if (term.quasi->kind == Quasi::Kind::floor_div && multiple <= kMostClasses)
      multiple = std::lcm(multiple, term.quasi->den);
    gather_divisors(term.quasi->e, var, multiple);
  }
}

/// How many classes of the row's index make what lanes would gather dense; 0 where none do, or nothing is gathered.
int64_t classes_of(const PlanContext& c) {
  if (c.stage.reduces || !c.table.unit || c.stage.placement.kind != Placement::Kind::at_root ||
      !c.stage.guards.empty() || !c.stage.inside.empty() || equation_of(c.t, c.stage).targets.size() != 1)
    return 0;
  const uint32_t unit = *c.table.unit;
  int64_t multiple = 1;
  bool is_gathered = false;
  for (const ReadRow& row : c.table.reads) {
    is_gathered |= !is_near_along(row, unit);
    for (const Subscript& s : row.access.index) {
      if (s.data) return 0;
      gather_divisors(s.affine, c.t.program.index_var(unit), multiple);
    }
  }
  return is_gathered && multiple >= 2 && multiple <= kMostClasses && c.table.extent[unit] >= multiple * c.lanes()
             ? multiple
             : 0;
}

/// The stage in classes, fused at tiles of the row; nothing where a class is not dense either.
std::optional<Plan> plan_classes(const PlanContext& c, int64_t classes) {
  const uint32_t unit = *c.table.unit;
  const std::string x = c.name(unit);
  Plan plan;
  plan.steps.push_back(IndexSetSplitStep{c.stage.name, {x}, classes, {}});
  const auto split = with_steps(c.t, plan.steps);
  if (!split) return std::nullopt;
  const auto parts = parts_named(*split, c.stage.name);
  for (uint32_t part : parts) {
    const StageTable table = table_of(*split, split->stages[part]);
    if (!std::all_of(table.reads.begin(), table.reads.end(),
                     [&](const ReadRow& row) { return is_near_along(row, unit) && row.stride[unit] <= 1; }))
      return std::nullopt;
  }
  const int64_t lanes = c.lanes(), extent = (c.table.extent[unit] / classes + lanes - 1) / lanes * lanes;
  // Four vectors of each class: with one a line is stored by halves that wait for each other (3 times as long), two and
  // eight are 1.2 and 1.0.
  const std::vector<TileStep::Level> levels = {{x, Size{std::min(4 * lanes, extent), ""}}};
  std::vector<uint32_t> outer;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (k != unit) outer.push_back(k);
  plan.steps.push_back(TileStep{c.stage.name, levels});
  plan.steps.push_back(PermuteStep{c.stage.name, loop_order(c, outer, levels, {unit})});
  plan.steps.push_back(VectorizeStep{c.stage.name, x, Size{lanes, ""}});
  for (size_t k = 1; k < parts.size(); ++k)
    plan.steps.push_back(FuseStep{split->stages[parts[k]].name, split->stages[parts[0]].name, x + ".1"});
  return plan;
}

}  // namespace

std::optional<Plan> plan_interleaved(const PlanContext& c) {
  const int64_t classes = classes_of(c);
  return classes ? plan_classes(c, classes) : std::nullopt;
}

}  // namespace polyweft::schedules
