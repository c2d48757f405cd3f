#include "schedules/sketches/guests.h"

#include <algorithm>

#include "schedules/bands.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kSums = 4;  ///< vectors of partial sums at once

}  // namespace

std::vector<std::string> names_of_guests(const NestTemplate& t, uint32_t band) {
  std::vector<std::string> out;
  for (uint32_t guest : stages_of(t, band)) out.push_back(t.stages[guest].name);
  return out;
}

double points_inside(const NestTemplate& t, const Stage& stage) {
  double out = points_of(stage);
  for (size_t k = 0; k < stage.inside.size(); ++k)
    for (size_t other = 0; other < k; ++other) {
      if (!(stage.inside[k] + stage.inside[other] == Affine::of(0))) continue;
      int64_t extent = 1;
      for (const Term& term : stage.inside[k].terms) {
        const uint32_t index = term.var - t.program.index_var(0);
        extent = std::max(extent, stage.hi[index] - stage.lo[index]);
      }
      out /= static_cast<double>(extent);
    }
  return out;
}

bool vectorize_guest(Sketcher& s, const std::string& name) {
  auto id = stage_named(s.t_, name);
  if (!id) return false;
  const Stage stage = s.t_.stages[*id];
  const Equation& equation = equation_of(s.t_, stage);
  const int64_t lanes = std::max<int64_t>(1, s.facts_->vector_bytes / size_bytes(s.t_.program.tensors[equation.targets[0]].type));
  bool sums_along = false;  // lanes along the sum find neighbours in memory
  for (uint32_t k = stage.data_indices; stage.reduces && k < stage.lo.size(); ++k)
    sums_along |= stage.hi[k] - stage.lo[k] >= 2 * lanes && reads_along(equation, s.t_.program.index_var(k));
  if (!equation.slots.empty()) {
    const Slot& last = equation.slots.back();
    const Affine position = last.var == kNoVar ? last.position : Affine::variable(last.var);
    for (uint32_t k = 0; k < stage.data_indices; ++k) {
      const int64_t coeff = position.coefficient(s.t_.program.index_var(k));
      if (coeff != 1 || stage.hi[k] - stage.lo[k] < lanes / 2) continue;
      const std::string index = index_name(s.t_, stage, k);
      if (sums_along && !reads_along(equation, s.t_.program.index_var(k))) continue;
      if (stage.reduces) {
        const bool has_own_sum = std::any_of(stage.loops.begin(), stage.loops.end(), [&](const TemplateLoop& l) {
          const bool is_tied = std::any_of(stage.placement.ties.begin(), stage.placement.ties.end(), [&](const auto& tie) { return tie.first == l.index; });
          return l.index >= stage.data_indices && !is_tied;
        });
        if (has_own_sum &&
            s.take_all({TileStep{name, {{index, Size{4 * lanes, ""}}}}, VectorizeStep{name, index, Size{lanes, ""}}, AccumulateStep{name, index + ".1", Scope::reg}}))
          return true;
      }
      if (s.take(VectorizeStep{name, index, Size{lanes, ""}})) return true;
    }
  }
  if (!stage.reduces || equation.targets.size() != 1) return false;
  for (uint32_t k = stage.data_indices; k < stage.lo.size(); ++k) {  // lanes are partial sums
    const std::string index = index_name(s.t_, stage, k);
    if (stage.hi[k] - stage.lo[k] < 2 * lanes || !reads_along(equation, s.t_.program.index_var(k))) continue;
    std::vector<std::string> order;
    for (uint32_t d = 0; d < stage.data_indices; ++d) order.push_back(index_name(s.t_, stage, d));
    const std::string at = order.empty() ? "root" : order.back();
    order.insert(order.end(), {index + ".1", index});
    if (s.take_all({TileStep{name, {{index, Size{kSums * lanes, ""}}}}, PermuteStep{name, order}, AccumulateStep{name, at, Scope::reg},
                    VectorizeStep{name, index, Size{lanes, ""}}}))
      return true;
  }
  return false;
}

}  // namespace polyweft::schedules
