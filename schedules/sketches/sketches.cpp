// Sketches of a whole program: the rules (rule.h) one after the other, and what is asked of each program besides.
#include "schedules/sketches/sketches.h"

#include <algorithm>

#include "ir/nests/instruction.h"
#include "schedules/sketches/first_steps.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/recurrences.h"
#include "schedules/sketches/rule.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Instructions that hold their unit no longer than one multiply-add: always worth it. Of the others, plain vectors are
/// proposed as well.
std::vector<std::string> fast_ones(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& name : names)
    if (auto instruction = ir::instruction_named(name); instruction && (*instruction)->issues <= 1) out.push_back(name);
  return out;
}

bool uses_other(const std::vector<NestTemplate>& sketches, const std::vector<std::string>& names) {
  for (const NestTemplate& sketch : sketches)
    for (const Step& step : sketch.trace.steps)
      if (const auto* s = std::get_if<TensorizeStep>(&step);
          s && std::find(names.begin(), names.end(), s->instruction) == names.end())
        return true;
  return false;
}

bool all_in_tiles(const std::vector<NestTemplate>& sketches) {
  return std::all_of(sketches.begin(), sketches.end(), [](const NestTemplate& sketch) {
    return std::any_of(sketch.trace.steps.begin(), sketch.trace.steps.end(), [](const Step& step) {
      const auto* sums = std::get_if<AccumulateStep>(&step);
      return sums && sums->scope == Scope::tile;
    });
  });
}

/// The first stage with most points.
uint32_t dominant_stage(const NestTemplate& t) {
  uint32_t best = 0;
  double most = -1;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (t.stages[k].placement.kind == Placement::Kind::inlined) continue;
    const double points = points_of(t.stages[k]);
    if (points > most) most = points, best = k;
  }
  return best;
}

/// With all instructions of the machine; the base order where no rule proposes anything.
std::vector<NestTemplate> serial_sketches(const NestTemplate& base, const Machine& machine) {
  if (auto first = base.stages.empty() ? std::nullopt : first_steps(base)) {
    const Isl none;
    StageCase c{{base.program, base.cls, machine, none}, std::move(first->begun), std::move(first->planned)};
    c.dominant = dominant_stage(c.planned);
    propose(c);
    if (!c.out.empty()) return std::move(c.out);
  }
  return {base};
}

/// Of rules for searches alone.
std::vector<NestTemplate> searched_sketches(const NestTemplate& base, const Machine& machine) {
  auto first = base.stages.empty() ? std::nullopt : first_steps(base);
  if (!first) return {};
  const Isl none;
  StageCase c{{base.program, base.cls, machine, none}, std::move(first->begun), std::move(first->planned)};
  c.dominant = dominant_stage(c.planned);
  c.is_for_search = true;
  if (!is_long_chain(c.planned)) propose(c);
  return std::move(c.out);
}

void add_if_new(std::vector<NestTemplate>& out, NestTemplate sketch) {
  if (!has_trace(out, sketch.trace)) out.push_back(std::move(sketch));
}

/// Each in parts; and, where a fork may cost more than it saves, each on one thread, for the cost model to judge.
std::vector<NestTemplate> for_threads(const NestTemplate& base, std::vector<NestTemplate> serial,
                                      const Machine& machine) {
  std::vector<NestTemplate> out;
  for (const NestTemplate& sketch : serial)
    if (auto shared = in_parts(sketch, machine)) add_if_new(out, *std::move(shared));
  if (!out.empty() && !may_not_pay(base, machine)) return out;
  for (NestTemplate& sketch : serial) add_if_new(out, std::move(sketch));
  return out;
}

/// A plan for each stage, in parts for several cores; the base order of a program with a recurrence.
Result<std::vector<NestTemplate>> planned_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   std::shared_ptr<const LoopNest> recurrence_nest) {
  auto base = base_template(normalized, cls, std::move(recurrence_nest));
  if (!base) return base.error();
  if (base->fixed) return std::vector{*std::move(base)};
  std::vector<NestTemplate> out = serial_sketches(*base, machine);
  Machine plain = machine;
  plain.units.instructions = fast_ones(machine.units.instructions);
  if (uses_other(out, plain.units.instructions) && !all_in_tiles(out))
    for (NestTemplate& sketch : serial_sketches(*base, plain)) add_if_new(out, std::move(sketch));
  return machine.cores() > 1 ? for_threads(*base, std::move(out), machine) : out;
}

void append(std::vector<NestTemplate>& out, std::vector<NestTemplate> more) {
  for (NestTemplate& sketch : more) out.push_back(std::move(sketch));
}

}  // namespace

std::vector<Trace> traces_of(const std::vector<NestTemplate>& sketches) {
  std::vector<Trace> out;
  for (const NestTemplate& sketch : sketches) out.push_back(sketch.trace);
  return out;
}

std::vector<Trace> sketches(const Program& normalized, NumericsClass cls, const Machine& machine) {
  const auto made = planned_sketches(normalized, cls, machine, nullptr);
  return made ? traces_of(*made) : std::vector<Trace>{Trace{}};
}

Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   std::shared_ptr<const LoopNest> recurrence_nest) {
  return sketch_templates(normalized, cls, machine, Isl{std::move(recurrence_nest)});
}

Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   const Isl& isl) {
  if (machine.has_grid()) {
    GridCase grid{{normalized, cls, machine, isl}};
    propose(grid);
    const bool is_done = !grid.out.empty() && !has_recurrence(normalized);
    auto base = is_done ? Result<NestTemplate>(NestTemplate{}) : base_template(normalized, cls, isl.recurrence_nest);
    if (!base && grid.out.empty()) return base.error();
    if (!is_done && base) grid.out.push_back(*std::move(base));  // by one thread: short ones do not pay for launches
    return std::move(grid.out);
  }
  SketchCase whole{normalized, cls, machine, isl};
  if (has_recurrence(normalized)) whole.out = recurrence_sketches(normalized, cls, machine, isl);
  propose(whole);
  auto planned = planned_sketches(normalized, cls, machine, isl.recurrence_nest);
  if (!planned) return planned.error();
  OrderCase order{{normalized, cls, machine, isl}};
  propose(order);
  // Of equals the first is taken: rather what the compiler vectorizes than the base order.
  const bool has_base = runs_base_order(planned->front().trace);
  append(whole.out, std::move(has_base ? order.out : *planned));
  append(whole.out, std::move(has_base ? *planned : order.out));
  return std::move(whole.out);
}

std::vector<NestTemplate> search_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                           const std::vector<NestTemplate>& known, const Isl& isl) {
  std::vector<NestTemplate> out;
  if (machine.has_grid()) return out;
  if (has_recurrence(normalized)) {
    for (NestTemplate& sketch : searched_recurrence_sketches(normalized, cls, machine, isl))
      if (!has_trace(known, sketch.trace)) add_if_new(out, std::move(sketch));
    return out;
  }
  auto base = base_template(normalized, cls);
  if (!base) return {};
  for (NestTemplate& sketch : searched_sketches(*base, machine)) {
    std::optional<NestTemplate> made;
    if (machine.cores() > 1)
      made = in_parts(sketch, machine);
    else
      made = std::move(sketch);
    if (made && !has_trace(known, made->trace)) add_if_new(out, *std::move(made));
  }
  return out;
}

}  // namespace polyweft::schedules
