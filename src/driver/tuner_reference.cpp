// What a search compares its candidates with.
#include <algorithm>

#include "driver/flops.h"
#include "driver/threads.h"
#include "driver/tuner_impl.h"
#include "polyweft/cost_model.h"
#include "support/helper_path.h"

namespace polyweft {
namespace {

/// The parameters divided, at least 1.
std::map<std::string, int64_t> divided(const Task& t, int64_t by) {
  std::map<std::string, int64_t> out;
  for (size_t k = 0; k < t.source.parameters.size(); ++k)
    out[t.source.parameters[k].name] = std::max<int64_t>(1, t.binding[k] / by);
  return out;
}

}  // namespace

std::optional<bool> Tuner::Impl::agrees_when_small(const Workbench& at, const Task& t, const TaskOptions& task_options,
                                                   const std::string& trace, double naive_ns, double most_ns) {
  constexpr int64_t kMostDivided = 64;
  const double ns_of_flop = naive_ns / std::max(1.0, count_flops(t.program));
  for (int64_t by = 2; by <= kMostDivided; by *= 2) {
    TaskOptions options_when_small = task_options;
    options_when_small.parameters = divided(t, by);
    const auto small = at.planner.task(t.source, options_when_small);
    if (!small) continue;
    if (ns_of_flop * count_flops(small->program) > most_ns) continue;
    const auto base = at.planner.base_nest(*small);
    if (!base) continue;
    const auto replayed = at.planner.replay(*small, trace);
    const auto nest =
        replayed ? instantiate(*replayed, values_of(replayed->trace)) : Result<LoopNest>(replayed.error());
    if (!nest) continue;
    RunRequest request;
    auto kernel = at.compiler.for_runner(on_threads(*nest, t.key.threads), CompileService::Spills::allow);
    const auto lab = runner_task(*small, *base, true, &at.compiler.of_references());
    if (!kernel || !lab || !at.runner.begin(*lab)) continue;
    request.candidate = std::move(*kernel);
    request.time_budget = std::chrono::milliseconds{0};
    const auto outcome = at.runner.run(request);
    if (!outcome) continue;
    return outcome->status == RunStatus::ok;
  }
  return std::nullopt;
}

std::optional<LoopNest> Tuner::Impl::reference_of_cpu(const Task& t, const TaskOptions& task_options,
                                                      const LoopNest& base, double most_ns) {
  const CompileService& cpu = compiler.of_references();
  const double naive_ns = analytic_model(cpu.machine(1))->predict_ns(base);
  if (compiler.has_reference_of_its_kind() || runs_elsewhere() || naive_ns <= most_ns) return std::nullopt;
  Planner of_cpu(cpu, isl, stored, trust);
  TaskOptions one_thread = task_options;
  one_thread.threads = 1;
  one_thread.trace.clear();
  one_thread.max_workspace.reset();
  const auto task = of_cpu.task(t.source, one_thread);
  if (!task) return std::nullopt;
  const auto templates = of_cpu.sketches(*task);
  if (!templates) return std::nullopt;
  WorkspaceLimit limit(std::nullopt);
  const auto plan = of_cpu.first_that_fits(*task, *templates, of_cpu.choices(*task, *templates), limit);
  if (!plan) return std::nullopt;
  RunnerOptions runner_options;
  runner_options.command = {helper_program("polyweft-runner", options.helper_directory)};
  const auto cpu_runner = cpu.start_runner(runner_options);
  if (!cpu_runner) return std::nullopt;
  const auto agrees =
      agrees_when_small({of_cpu, cpu, **cpu_runner}, *task, one_thread, plan->trace, naive_ns, most_ns / 2);
  return agrees == false ? std::nullopt : std::optional(on_threads(plan->nest, 1));
}

// A program without sizes to choose has its proof alone: the search compares its candidates with each other then.
Result<Reference> Tuner::Impl::reference_of(const Task& t, const TuneOptions& tune_options,
                                            const SearchSpaceOfTask& space) {
  constexpr double kShareOfBudget = 0.1, kSets = 2;
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  Reference naive{std::move(*base)};
  if (tune_options.budget == TuneOptions::kNoLimit || runs_elsewhere()) return naive;
  const double most_ns = kShareOfBudget * std::chrono::duration<double, std::nano>(tune_options.budget).count() / kSets;
  if (!compiler.has_reference_of_its_kind()) {
    naive.of_cpu = reference_of_cpu(t, tune_options, naive.nest, most_ns);
    return naive;
  }
  const double naive_ns = analytic_model(compiler.machine(t.key.threads))->predict_ns(naive.nest);
  if (naive_ns <= most_ns) return naive;
  WorkspaceLimit limit(tune_options.max_workspace);
  const auto known = space.rehearsed.empty() ? Result<Plan>(fail("PW0650", "no rehearsal"))
                                             : planner.plan_by_trace(t, space.rehearsed, limit);
  const auto plan = known ? std::optional(*known) : planner.first_that_fits(t, space.templates, space.choices, limit);
  if (auto started = start_runner(); !started) return started.error();
  const Workbench here{planner, compiler, *runner};
  if (!plan || agrees_when_small(here, t, tune_options, plan->trace, naive_ns, most_ns / 2) == false) return naive;
  return Reference{on_threads(plan->nest, t.key.threads), plan->trace, false};
}

}  // namespace polyweft
