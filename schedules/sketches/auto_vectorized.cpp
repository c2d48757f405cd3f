#include "schedules/sketches/auto_vectorized.h"

#include <algorithm>

namespace polyweft::schedules {
namespace {

/// The outermost loops of statements that have some, in as many tasks as they have iterations; nothing where no loop may be parallel.
Trace in_tasks(const Program& normalized, NumericsClass cls, const Isl& isl) {
  Trace trace;
  auto t = base_template(normalized, cls);
  if (!t) return trace;
  for (const Stage& stage : t->stages) {
    if (stage.loops.empty()) continue;
    Trace longer = trace;
    longer.steps.push_back(ParallelStep{stage.name, stage.loops.front().name, 0});
    if (replay(normalized, cls, longer, isl)) trace = std::move(longer);
  }
  return trace;
}

}  // namespace

std::vector<Trace> auto_vectorized_sketches(const Program& normalized, NumericsClass cls, int threads, const Isl& isl) {
  std::vector<Trace> out;
  Trace parallel = threads > 1 && !has_recurrence(normalized) ? in_tasks(normalized, cls, isl) : Trace{};
  for (Trace trace : {std::move(parallel), Trace{}}) {
    trace.steps.push_back(AutovectorizeStep{});
    if (std::find(out.begin(), out.end(), trace) == out.end()) out.push_back(std::move(trace));
  }
  return out;
}

}  // namespace polyweft::schedules
