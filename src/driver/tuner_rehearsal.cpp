// A search at fewer steps of time first, where one call takes a good part of the budget.
#include <algorithm>

#include "driver/tuner_impl.h"
#include "polyweft/cost_model.h"
#include "schedules/hulls.h"

namespace polyweft {
namespace {

/// The extents of what the caller gives and gets.
std::vector<Box> argument_boxes(const Program& program) {
  const std::vector<Box> boxes = schedules::tensor_boxes(program);
  std::vector<Box> out;
  for (size_t k = 0; k < program.tensors.size(); ++k)
    if (program.tensors[k].kind == TensorKind::input || program.tensors[k].kind == TensorKind::output)
      out.push_back(boxes[k]);
  return out;
}

double left_ns(const TuneOptions& options, std::chrono::steady_clock::time_point start) {
  const auto spent = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::nano>(options.budget - spent).count();
}

std::string announcement(const Task& t, const TuneOptions& fewer) {
  std::string out = "program " + t.source.name + ": calls take long, so the search begins with";
  for (size_t k = 0; k < t.source.parameters.size(); ++k) {
    const auto changed = fewer.parameters.find(t.source.parameters[k].name);
    if (changed == fewer.parameters.end() || changed->second == t.binding[k]) continue;
    out +=
        " " + changed->first + " = " + std::to_string(changed->second) + " instead of " + std::to_string(t.binding[k]);
  }
  return out + ", for " + std::to_string(fewer.budget.count() / 1000) + " s";
}

}  // namespace

// Halves a parameter that no argument's extent depends on, such as a number of steps of time, while a call takes too
// long: what a schedule does to caches and memory stays.
std::optional<TuneOptions> Tuner::Impl::rehearsal_of(const Task& t, const TuneOptions& tune_options,
                                                     double call_ns) const {
  constexpr double kCalls = 200, kCallsWanted = 1000;
  constexpr int64_t kFewestSteps = 16;
  const double budget_ns = std::chrono::duration<double, std::nano>(tune_options.budget).count();
  if (tune_options.budget == TuneOptions::kNoLimit || runs_elsewhere() || call_ns * kCalls < budget_ns)
    return std::nullopt;
  const std::vector<Box> arguments = argument_boxes(t.program);
  TuneOptions out = tune_options;
  for (size_t k = 0; k < t.source.parameters.size(); ++k) {
    const std::string& name = t.source.parameters[k].name;
    int64_t steps = t.binding[k];
    double ns = call_ns;
    while (ns * kCallsWanted > budget_ns && steps / 2 >= kFewestSteps) steps /= 2, ns /= 2;
    if (steps == t.binding[k]) continue;
    TuneOptions fewer = out;
    fewer.parameters[name] = steps;
    const auto task = planner.task(t.source, fewer);
    if (!task || argument_boxes(task->program) != arguments) continue;
    out = std::move(fewer);
    break;
  }
  if (out.parameters == tune_options.parameters) return std::nullopt;
  return out;
}

Result<std::string> Tuner::Impl::rehearsed(const Task& t, const TuneOptions& tune_options, double call_ns,
                                           std::chrono::steady_clock::time_point start) {
  constexpr double kShare = 0.5;  // its races at the end take some more
  auto fewer = rehearsal_of(t, tune_options, call_ns);
  if (!fewer) return std::string();
  const double ns = kShare * left_ns(tune_options, start);
  if (ns <= 0) return std::string();
  fewer->budget = std::chrono::milliseconds(static_cast<int64_t>(ns / 1e6));
  fewer->progress = nullptr;
  fewer->trials = 0;
  fewer->until = 0;
  const auto task = planner.task(t.source, *fewer);
  if (!task) return std::string();
  if (options.notice) options.notice(announcement(t, *fewer));
  const auto found = answer(*task, *fewer, std::chrono::steady_clock::now(), nullptr);
  return found && found->record.certificate.verdict == Verdict::proven ? found->record.trace_text : std::string();
}

}  // namespace polyweft
