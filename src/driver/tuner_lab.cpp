// What Tuner measures and compares: kernels in the runner, beside their reference.
#include "driver/flops.h"
#include "driver/memory.h"
#include "driver/register_tile.h"
#include "driver/rule_of_thumb.h"
#include "driver/set_notes.h"
#include "driver/threads.h"
#include "driver/tune_finals.h"
#include "driver/tuner_impl.h"
#include "ir/nests/suit_target.h"
#include "ir/oracles/bound_program.h"
#include "ir/oracles/deciding_comparison.h"
#include "ir/oracles/evaluator.h"
#include "schedules/steps.h"
#include "support/helper_path.h"

namespace polyweft {

// A kernel that somebody asks for by name: what a search would refuse is built, and said.
Result<LoadableKernel> Tuner::Impl::asked_for(const LoopNest& nest, const std::string& name,
                                              std::vector<std::string>& warnings) const {
  auto kernel = compiler.for_runner(nest, CompileService::Spills::allow);
  if (kernel && compiler.is_too_many(kernel->spills, nest))
    warnings.push_back(name + " does not fit the registers: " + spill_text(kernel->spills) +
                       "; a search refuses it (polyweft explain PW0506)");
  return kernel;
}

// Interleaved with the runner's incumbent, the kernel: as many runs as that has, unless the rival is so slow that
// four times its time ends first.
Result<BenchRow> Tuner::Impl::race_rival(const Task& t, const BenchRival& rival, std::chrono::milliseconds budget,
                                         BenchReport& report) {
  auto rival_plan = rival.record > 0 ? planner.plan_of_record(t, rival.record) : planner.plan_by_trace(t, rival.trace);
  if (!rival_plan) return rival_plan.error();
  auto kernel = asked_for(on_threads(rival_plan->nest, t.key.threads), rival.name, report.warnings);
  if (!kernel) return kernel.error();
  RunRequest request;
  request.candidate = std::move(kernel).value();
  request.time_budget = 4 * budget;
  request.deadline = kBenchDeadline;
  request.pair_with_incumbent = request.pair_to_the_end = true;
  request.most_pairs = pairs_of_rival(report.kernel);
  auto outcome = runner->run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return did_not_run(rival.name, *outcome);
  return BenchRow{rival.name, outcome->timing};
}

namespace {

/// Where the sizes are those of the data: smaller sizes have seeded data.
void give(const std::map<std::string, TensorData>& given, RunnerTask& out) {
  for (size_t a = 0; a < out.arguments.size() && !given.empty(); ++a) {
    const ArgumentSpec& spec = out.arguments[a];
    const auto found = given.find(spec.name);
    out.given.emplace_back();
    if (found == given.end() || spec.is_output || found->second.extents != spec.extents) continue;
    out.given.back() = found->second.bytes;
  }
}

std::string list_of(const std::vector<int64_t>& extents) {
  std::string out;
  for (const int64_t extent : extents) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + out + "]";
}

}  // namespace

Status Tuner::Impl::take_inputs(const Task& t, const TaskOptions& task_options) {
  constexpr uint64_t kMostBytes = 48 << 20;  // of a message to the runner
  uint64_t bytes = 0;
  given.clear();
  for (const auto& [name, data] : task_options.inputs) {
    const auto inputs = t.program.inputs();
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](TensorId id) { return t.program.tensors[id].name == name; });
    if (found == inputs.end()) return fail("PW0005", name + " is no input of " + t.source.name);
    const Tensor& tensor = t.program.tensors[*found];
    std::vector<int64_t> extents;
    for (const Affine& extent : tensor.shape) extents.push_back(std::max<int64_t>(extent.constant, 0));
    if (data.type != tensor.type || data.extents != extents)
      return fail("PW0006",
                  name + ": the data is " + name_of(data.type) + list_of(data.extents) + ", the program wants " +
                      name_of(tensor.type) + list_of(extents),
                  {"bind the sizes with -p NAME=VALUE"});
    if (auto kept = ir::check_promise(tensor, data); !kept) return kept.error();
    bytes += data.bytes.size();
  }
  if (bytes > kMostBytes)
    return fail("PW0660",
                "the inputs that are given take " + std::to_string(bytes) + " bytes; the runner takes at most " +
                    std::to_string(kMostBytes),
                {"bind smaller sizes, or promise ranges of values in the program"});
  given = task_options.inputs;
  return Ok{};
}

Result<RunnerTask> Tuner::Impl::runner_task(const Task& t, const LoopNest& reference, bool has_bounds,
                                            const CompileService* references) {
  const CompileService& maker = references ? *references : compiler.of_references();
  if (auto ok = arguments_fit(t.program, 1); !ok) return ok.error();
  auto kernel = maker.for_runner(reference, CompileService::Spills::allow);
  if (!kernel) return kernel.error();
  RunnerTask out;
  out.arguments = argument_specs(reference, t.program);
  out.reference = std::move(kernel).value();
  out.id = out.reference.id;
  out.threads = t.key.threads;
  give(given, out);
  set_rule_of_thumb(t, out);
  if (auto nest = has_bounds ? bound_nest(t, out.bit_exact) : std::nullopt)
    if (auto bounds = maker.for_runner(*nest, CompileService::Spills::allow)) out.bound = std::move(bounds).value();
  return out;
}

// The running error bound of every output element (language page, numerics), as a nest of its own; where there is
// none, the rule of thumb counts.
std::optional<LoopNest> Tuner::Impl::bound_nest(const Task& t, bool bit_exact) {
  // Naive loops in double precision: above this the bounds would take longer than the search. A recurrence may
  // amplify what it rounds (64 steps of an LSTM by 10^4), which no rule of thumb knows: there they are worth some
  // seconds.
  constexpr double kMostBoundFlops = 1e9, kMostInRecurrences = 4e9;
  if (bit_exact ||
      count_flops(t.program) > (schedules::has_recurrence(t.program) ? kMostInRecurrences : kMostBoundFlops))
    return std::nullopt;
  auto nest = ir::for_target(compiler.target(), isl.bound_nest(t));
  return nest ? std::optional(std::move(nest).value()) : std::nullopt;
}

RunnerOptions Tuner::Impl::runner_options() const {
  constexpr std::chrono::milliseconds kFarAway{60'000};
  RunnerOptions out;
  out.command = options.runner.empty()
                    ? std::vector<std::string>{helper_program("polyweft-runner", options.helper_directory)}
                    : options.runner;
  if (!options.runner.empty()) out.start_deadline = kFarAway;
  out.is_stopped = [this] { return call.stop.is_due(); };
  return out;
}

Status Tuner::Impl::start_runner() {
  if (runner) return Ok{};
  RunnerOptions with_notes = runner_options();
  with_notes.on_note = [this](const SetNote& note) {
    if (options.notice && in_the_lab) options.notice(note_text({*in_the_lab, given}, note));
  };
  auto started = compiler.start_runner(with_notes);
  if (!started) return started.error();
  runner = std::move(started).value();
  return Ok{};
}

// What it computes was compared before, and nobody waits for a base nest again.
Result<std::unique_ptr<Runner>> Tuner::Impl::start_other_runner(RunnerTask task, const LoadableKernel& kernel) const {
  auto other = compiler.start_runner(runner_options());
  if (!other) return other.error();
  task.id = kernel.id;
  task.reference = kernel;
  task.bound = {};
  if (Status begun = (*other)->begin(task); !begun) return begun.error();
  return std::move(*other);
}

Result<RunnerTask> Tuner::Impl::begin_lab(const Task& t, const LoopNest& reference, std::optional<uint64_t> seed,
                                          bool has_bounds) {
  if (auto started = start_runner(); !started) return started.error();
  auto task = runner_task(t, reference, has_bounds);
  if (!task) return task;
  if (seed) task->seed = *seed;
  in_the_lab = t;
  if (auto begun = runner->begin(*task); !begun) return begun.error();
  return task;
}

Result<TuneReport> Tuner::Impl::in_lab(
    const Task& t, const TuneOptions& tune_options, const Reference& reference, std::optional<TuningRecord> served,
    std::chrono::steady_clock::time_point start,
    const std::function<Result<TuneReport>(const SessionTask&, const SessionServices&)>& work) {
  auto stores = writable_database();
  if (!stores) return stores.error();
  auto lab_task = begin_lab(t, reference.of_cpu ? *reference.of_cpu : reference.nest, tune_options.seed,
                            reference.is_base && !reference.of_cpu);
  if (!lab_task) return lab_task.error();
  std::optional<TuningRecord> seed;
  if (!served && !is_emulated(t.key)) {
    auto expected = stored.expected(t);
    if (!expected) return expected.error();
    seed = std::move(*expected);
  }
  SessionServices services{compiler, isl, *runner, trust, *stores, runs_elsewhere(), &call};
  if (compiler.target().is_host && !runs_elsewhere())
    services.elsewhere = [&](const LoadableKernel& kernel) { return start_other_runner(*lab_task, kernel); };
  return work({t, reference, *lab_task, tune_options, std::move(served), std::move(seed), start}, services);
}

// In the lab with itself as the reference: what it computes was compared when it was stored, and nobody waits for a
// base nest here.
Result<KernelTiming> Tuner::Impl::time_again(const Task& t, const LoopNest& nest, double expected_ns) {
  constexpr double kLongestNs = 250e6;
  constexpr std::chrono::milliseconds kBudget{100};
  if (!compiler.target().is_host || expected_ns <= 0 || expected_ns > kLongestNs) return KernelTiming{};
  if (auto ok = arguments_fit(t.program, 1); !ok) return ok.error();
  auto kernel = compiler.for_runner(on_threads(nest, t.key.threads), CompileService::Spills::allow);
  if (!kernel) return kernel.error();
  if (auto started = start_runner(); !started) return started.error();
  RunnerTask lab;
  lab.arguments = argument_specs(nest, t.program);
  auto reference = compiler.has_reference_of_its_kind() ? kernel : compiler.for_reference(nest);
  if (!reference) return reference.error();
  lab.reference = std::move(*reference);
  lab.id = kernel->id;
  lab.threads = t.key.threads;
  set_rule_of_thumb(t, lab);
  if (auto begun = runner->begin(lab); !begun) return begun.error();
  return time_kernel(*runner, compiler, {nest, *kernel, t.key.threads}, kBudget);
}

// Compared with the base nest first, as any candidate; then told beside what is served, whose time is of another hour.
Result<Measurement> Tuner::Impl::timed(const Task& t, const LoopNest& nest, const std::optional<TuningRecord>& served) {
  constexpr std::chrono::milliseconds kBudget{200};
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  if (auto lab_task = begin_lab(t, *base); !lab_task) return lab_task.error();
  auto kernel = compiler.for_runner(on_threads(nest, t.key.threads));
  if (!kernel) return kernel.error();
  RunRequest request;
  request.candidate = std::move(kernel).value();
  request.time_budget = kBudget;
  auto outcome = runner->run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok)
    return fail("PW0651",
                std::string("the kernel did not run correctly: ") + name_of(outcome->status) + ": " + outcome->detail);
  Measurement out;
  out.timing = outcome->timing;
  const auto rival = served ? nest_of(*served) : Result<LoopNest>(fail("PW0710", "no record"));
  if (!rival) return out;
  const auto pairs = pairs_of_nests(*runner, compiler, nest, *rival, t.key.threads);
  if (!pairs) return pairs.error();
  if (pairs->ratio <= 0) return out;
  out.timing = told_beside(served->measurement.timing, *pairs, pairs->ratio);
  out.beside = served->measurement.nest_hash;
  return out;
}

// Where no bounds can be computed, the rule of thumb counts, and the comparison says so.
Tolerance Tuner::Impl::tolerance(const Task& t, const std::vector<TensorData>& inputs) {
  RunnerTask rule;
  set_rule_of_thumb(t, rule);
  Tolerance out{rule.bit_exact, rule.relative_bound, {}, ir::deciding_comparison(t.source)};
  const auto nest = bound_nest(t, out.bit_exact);
  if (!nest) return out;
  auto kernel = load_kernel(compiler.of_references(), *nest, ir::bound_program(t.program, t.key.cls), "error bound");
  if (!kernel) return out;
  if (auto bounds = kernel->run(inputs)) out.bounds = std::move(bounds).value();
  return out;
}

namespace {

TaskOptions without_sizes(TaskOptions options) {
  options.parameters.clear();
  return options;
}

}  // namespace

Result<Comparison> Tuner::verify(const Program& program, const TaskOptions& options,
                                 const std::vector<TensorData>& inputs) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  if (auto runs = impl_->compiler.kernels_run_here(); !runs) return runs.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(*task, options.symbolic ? without_sizes(options) : options);
  if (!plan) return plan.error();
  auto base = impl_->planner.base_nest(*task);
  if (!base) return base.error();
  auto kernel = load_kernel(impl_->compiler, on_threads(plan->nest, options.threads), task->program, plan->origin);
  if (kernel && options.symbolic) kernel = kernel->at(task->binding);
  if (!kernel) return kernel.error();
  auto reference = load_kernel(impl_->compiler.of_references(), *base, task->program, "base order");
  if (!reference) return reference.error();
  auto got = kernel->run(inputs);
  if (!got) return got.error();
  auto expected = reference->run(inputs);
  if (!expected) return expected.error();
  return compare_outputs(kernel->arguments(), *got, *expected, impl_->tolerance(*task, inputs), plan->origin);
}

// In turns with the kernel, the runner's incumbent, as any rival.
Status Tuner::Impl::time_base(const LoopNest& base, std::chrono::milliseconds budget, BenchReport& report) {
  auto kernel = compiler.for_runner(base, CompileService::Spills::allow);
  if (!kernel) return kernel.error();
  RunRequest request;
  request.candidate = std::move(kernel).value();
  request.time_budget = budget;
  request.pair_with_incumbent = request.pair_to_the_end = true;
  request.most_pairs = pairs_of_rival(report.kernel);
  request.deadline = compiler.has_reference_of_its_kind() ? kBenchDeadline : kOneThreadDeadline;
  auto outcome = runner->run(request);
  if (!outcome) return outcome.error();
  if (outcome->status == RunStatus::ok)
    report.reference = outcome->timing;
  else if (compiler.has_reference_of_its_kind())
    return did_not_run("the base nest", *outcome);
  else  // on one thread of a device
    report.warnings.push_back(did_not_run("the base nest", *outcome).message);
  return Ok{};
}

Result<BenchReport> Tuner::bench(const Program& program, const TaskOptions& options, std::chrono::milliseconds budget,
                                 const std::vector<BenchRival>& against) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  if (auto runs = impl_->compiler.kernels_run_here(); !runs && !impl_->runs_elsewhere()) return runs.error();
  auto task = impl_->planner.sized_task(program, options);
  if (!task) return task.error();
  if (auto taken = impl_->take_inputs(*task, options); !taken) return taken.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  auto base = impl_->planner.base_nest(*task);
  if (!base) return base.error();
  const auto of_cpu = impl_->reference_of_cpu(*task, options, *base, kLongestBaseNs);
  auto lab_task = impl_->begin_lab(*task, of_cpu ? *of_cpu : *base, {}, !of_cpu);
  if (!lab_task) return lab_task.error();
  BenchReport report;
  report.origin = plan->origin;
  report.flops = count_flops(task->program);
  report.is_emulated = impl_->runner->is_emulated();
  if (report.is_emulated)
    report.warnings.push_back("an emulator runs the kernels: its times say nothing of the machine of target " +
                              target().name);
  auto kernel = impl_->asked_for(on_threads(plan->nest, options.threads), plan->origin, report.warnings);
  if (!kernel) return kernel.error();
  auto timed = time_kernel(*impl_->runner, impl_->compiler, {plan->nest, *kernel, options.threads}, budget / 2);
  if (!timed) return timed.error();
  report.kernel = timed->timing;
  report.peak_gflops = timed->peak_gflops;
  report.peak_of = timed->peak_of;
  if (auto set = impl_->runner->set_incumbent(*kernel); !set) return set.error();
  if (of_cpu)
    report.warnings.push_back("the base nest takes long: the CPU's first choice stands for it, and it is not timed");
  else if (auto ok = impl_->time_base(*base, budget / 2, report); !ok)
    return ok.error();
  for (auto& warning : slow_warnings(report.origin, report.kernel, report.reference))
    report.warnings.push_back(std::move(warning));
  for (const auto& rival : against) {
    auto row = impl_->race_rival(*task, rival, budget / 2, report);
    if (!row) return row.error();
    for (auto& warning : slow_warnings(row->name, row->timing, report.reference))
      report.warnings.push_back(std::move(warning));
    report.rivals.push_back(std::move(row).value());
  }
  return report;
}

}  // namespace polyweft
