// What a search compares its candidates with.
#include <algorithm>

#include "driver/flops.h"
#include "driver/threads.h"
#include "driver/tuner_impl.h"
#include "polyweft/cost_model.h"

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

std::optional<bool> Tuner::Impl::agrees_when_small(const Task& t, const TaskOptions& task_options,
                                                   const std::string& trace, double naive_ns, double most_ns) {
  constexpr int64_t kMostDivided = 64;
  const double ns_of_flop = naive_ns / std::max(1.0, count_flops(t.program));
  for (int64_t by = 2; by <= kMostDivided; by *= 2) {
    TaskOptions options_when_small = task_options;
    options_when_small.parameters = divided(t, by);
    const auto small = planner.task(t.source, options_when_small);
    if (!small) continue;
    if (ns_of_flop * count_flops(small->program) > most_ns) continue;
    const auto base = planner.base_nest(*small);
    if (!base) continue;
    const auto replayed = planner.replay(*small, trace);
    const auto nest =
        replayed ? instantiate(*replayed, values_of(replayed->trace)) : Result<LoopNest>(replayed.error());
    if (!nest) continue;
    RunRequest request;
    auto kernel = compiler.for_runner(on_threads(*nest, t.key.threads), CompileService::Spills::allow);
    if (!kernel || !begin_lab(*small, *base)) continue;
    request.candidate = std::move(*kernel);
    request.time_budget = std::chrono::milliseconds{0};
    const auto outcome = runner->run(request);
    if (!outcome) continue;
    return outcome->status == RunStatus::ok;
  }
  return std::nullopt;
}

// A program without sizes to choose has its proof alone: the search compares its candidates with each other then.
Result<Reference> Tuner::Impl::reference_of(const Task& t, const TuneOptions& tune_options,
                                            const SearchSpaceOfTask& space) {
  constexpr double kShareOfBudget = 0.1, kSets = 2;
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  Reference naive{std::move(*base)};
  if (tune_options.budget == TuneOptions::kNoLimit || runs_elsewhere() || !compiler.has_reference_of_its_kind())
    return naive;
  const double most_ns = kShareOfBudget * std::chrono::duration<double, std::nano>(tune_options.budget).count() / kSets;
  const double naive_ns = analytic_model(compiler.machine(t.key.threads))->predict_ns(naive.nest);
  if (naive_ns <= most_ns) return naive;
  WorkspaceLimit limit(tune_options.max_workspace);
  const auto known = space.rehearsed.empty() ? Result<Plan>(fail("PW0650", "no rehearsal"))
                                             : planner.plan_by_trace(t, space.rehearsed, limit);
  const auto plan = known ? std::optional(*known) : planner.first_that_fits(t, space.templates, space.choices, limit);
  if (!plan || agrees_when_small(t, tune_options, plan->trace, naive_ns, most_ns / 2) == false) return naive;
  return Reference{on_threads(plan->nest, t.key.threads), plan->trace, false};
}

}  // namespace polyweft
