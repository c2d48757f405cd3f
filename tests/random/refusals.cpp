#include "random/refusals.h"

#include <algorithm>

#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/values/seeded_data.h"
#include "poly/check/checker.h"
#include "schedules/queries.h"

namespace polyweft::random_test {
namespace {

bool is_reason(const std::string& code) {
  return code == "PW0305" || code == "PW0306" || code == "PW0307" || code == "PW0323";
}

bool runs_at_once(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && (loop->mark.kind == MarkKind::parallel || loop->mark.kind == MarkKind::vector ||
                    loop->mark.kind == MarkKind::axis);
  });
}

/// Lanes are not run in lock step and tasks not at once by the interpreter: the checker, which knows no step, has a say
/// there.
Truth truth_of_nest(const Program& program, NumericsClass cls, LoopNest nest) {
  nest.cls = cls;
  if (!verify(nest) || !has_the_programs_terms(program, nest, cls)) return Truth::illegal;
  if (!runs_at_once(nest)) return Truth::legal;
  const poly::NestCheck check = poly::check_nest(program, nest);
  return check.verdict == Verdict::proven    ? Truth::legal
         : check.verdict == Verdict::refuted ? Truth::illegal
                                             : Truth::undecided;
}

Truth truth_of_trace(const Program& program, NumericsClass cls, NumericsClass claimed, const Trace& trace,
                     const schedules::Isl& isl) {
  auto made = schedules::replay(program, claimed, trace, isl);
  if (!made) return Truth::no_nest;
  made->fuses_products = made->fuses_products && cls == claimed;
  auto nest = instantiate(*made, values_of(trace));
  return nest ? truth_of_nest(program, cls, std::move(*nest)) : Truth::no_nest;
}

/// Two instances that the refusal names.
bool names_a_pair(const Error& error) {
  return std::any_of(error.notes.begin(), error.notes.end(),
                     [](const std::string& note) { return std::count(note.begin(), note.end(), '[') >= 2; });
}

using Point = std::vector<int64_t>;

/// Points of a statement by enumeration.
std::vector<Point> points_of(const NestTemplate& t, const Stage& stage) {
  std::vector<Point> out;
  Point point = stage.lo;
  for (size_t k = 0; k < point.size(); ++k)
    if (stage.lo[k] >= stage.hi[k]) return out;
  for (;;) {
    if (schedules::contains(t, stage, point)) out.push_back(point);
    size_t k = point.size();
    while (k > 0 && ++point[k - 1] >= stage.hi[k - 1]) {
      point[k - 1] = stage.lo[k - 1];
      --k;
    }
    if (k == 0) return out;
  }
}

int64_t floored(int64_t value, int64_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

/// fuse S into H at L: an iteration of H's loops outside and at L is told by the numbers of their tiles; S at the same
/// values comes after it.
Truth truth_of_fusion(const NestTemplate& t, const FuseStep& step) {
  const Stage &host = t.stages[*schedules::stage_named(t, step.into)],
              &stage = t.stages[*schedules::stage_named(t, step.statement)];
  const auto depth = *schedules::depth_of(host, step.at);
  const Equation& equation = schedules::equation_of(t, host);
  const auto key = [&](const Point& at, const std::vector<uint32_t>& own) {
    Point out;
    for (uint32_t k = 0; k < depth; ++k) {
      const uint32_t index = host.loops[k].index;
      out.push_back(floored(at[own[index]] - host.lo[index], std::max<int64_t>(1, host.loops[k].step.constant)));
    }
    return out;
  };
  std::vector<uint32_t> same(host.lo.size()), partner(host.lo.size());
  for (uint32_t k = 0; k < same.size(); ++k) same[k] = k;
  for (uint32_t k = 0; k < depth; ++k) {
    const uint32_t index = host.loops[k].index;
    const auto named = schedules::index_named(t, stage, schedules::index_name(t, host, index));
    if (index >= host.data_indices || !named) return Truth::of_form;
    partner[index] = *named;
  }
  const auto values = [&](const Point& point) {
    Point out(t.program.parameters.size(), 0);
    out.insert(out.end(), point.begin(), point.end());
    return out;
  };
  std::map<Point, Point> last;  // of each element: the last iteration that folds into it
  for (const Point& point : points_of(t, host)) {
    Point element;
    for (const Slot& slot : equation.slots)
      element.push_back(slot.var == kNoVar ? evaluate(slot.position, values(point)) : values(point)[slot.var]);
    Point& at = last[element];
    at = std::max(at, key(point, same));
  }
  for (const Point& point : points_of(t, stage))
    for (TensorId tensor : equation.targets)
      for (const Access& access : schedules::reads_of(t, stage, tensor)) {
        Point element;
        for (const Subscript& s : access.index) {
          if (s.data) return Truth::of_form;
          element.push_back(evaluate(s.affine, values(point)));
        }
        const auto made = last.find(element);
        if (made != last.end() && made->second > key(point, partner)) return Truth::illegal;
      }
  return Truth::legal;
}

}  // namespace

bool has_the_programs_terms(const Program& program, const LoopNest& nest, NumericsClass cls) {
  const auto inputs = ir::seeded_inputs(program, 3, ir::DataKind::integers);
  ir::EvaluateOptions wanted_options;
  wanted_options.tags = cls;
  const auto wanted = ir::evaluate(program, inputs, wanted_options);
  ir::InterpreterOptions options;
  options.with_tags = true;
  const auto got = ir::interpret(nest, inputs, options);
  return wanted.ok() && got.ok() && got->tags == wanted->tags && got->written == wanted->written;
}

std::string kind_of(const Refused& refused) {
  const std::string text = print(refused.step);
  return text.substr(0, text.find(' ')) + " " + refused.error.code;
}

Truth truth_of(const Program& program, NumericsClass cls, const Refused& refused) {
  if (!is_reason(refused.error.code)) return Truth::of_form;
  Trace trace = refused.before;
  trace.steps.push_back(refused.step);
  const auto is_band = [](const Step& step) { return std::holds_alternative<BandStep>(step); };
  const bool has_band = std::any_of(trace.steps.begin(), trace.steps.end(), is_band);
  const std::string& why = refused.error.message;
  // Words of the refusals that no relation decides.
  if (why.find("accumulators of their own") != std::string::npos || why.find("may have instances") != std::string::npos)
    return Truth::of_form;
  if (why.find("fold into the same element") != std::string::npos || why.find("in two nests") != std::string::npos)
    return names_a_pair(refused.error) ? Truth::illegal : Truth::legal;
  if (why.find("outside would be shared") != std::string::npos || why.find("folds a reduction") != std::string::npos ||
      why.find("would run at once") != std::string::npos)
    return Truth::illegal;
  if (has_band) return truth_of_trace(program, cls, cls, trace, isl_without_relations(program));
  if (const auto* fuse = std::get_if<FuseStep>(&refused.step)) {
    const auto t = schedules::replay(program, cls, refused.before);
    return t ? truth_of_fusion(*t, *fuse) : Truth::no_nest;
  }
  return truth_of_trace(program, cls, NumericsClass::reassoc, trace, {});
}

}  // namespace polyweft::random_test
