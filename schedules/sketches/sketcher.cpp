#include "schedules/sketches/sketcher.h"

#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {

Sketcher::Sketcher(const Program& program, NumericsClass cls, const Machine& machine, const Isl& isl)
    : machine_(&machine), isl_(&isl), t_(unscheduled_template(program, cls)) {}

bool Sketcher::take(const Step& step) {
  auto next = apply(t_, step, *isl_);
  if (!next) return false;
  t_ = std::move(*next);
  t_.trace.steps.push_back(step);
  return true;
}

bool Sketcher::take_all(const std::vector<Step>& steps) {
  const NestTemplate before = t_;
  for (const Step& step : steps)
    if (!take(step)) {
      t_ = before;
      return false;
    }
  return true;
}

void Sketcher::decide(const std::string& name, int64_t value, std::vector<int64_t> candidates) {
  t_.trace.decisions.push_back({name, value, std::move(candidates)});
}

std::string Sketcher::band_name() const {
  std::string out = "band" + std::to_string(t_.bands.size() + 1);
  while (std::any_of(t_.stages.begin(), t_.stages.end(), [&](const Stage& s) { return s.name == out; })) out += "_";
  return out;
}

int64_t Sketcher::lanes_of(const Stage& stage) const {
  return schedules::lanes_of(t_, stage, *machine_);
}

void Sketcher::plan_others() {
  std::vector<std::string> names;
  for (const Stage& stage : t_.stages)
    if (!stage.is_frame && stage.placement.kind == Placement::Kind::at_root &&
        std::none_of(stage.loops.begin(), stage.loops.end(),
                     [](const TemplateLoop& l) { return !is_point_loop(l) || l.mark != Mark{}; }))
      names.push_back(stage.name);
  for (const std::string& name : names) {
    const auto id = stage_named(t_, name);
    take_all(plan_stage(context_for(t_, *id, *machine_)).steps);
  }
}

}  // namespace polyweft::schedules
