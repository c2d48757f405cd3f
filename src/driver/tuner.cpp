// Tuner: joins the layers. Hit: record -> nest -> code. Miss: helper process -> templates -> search -> lab -> proof ->
// record.
#include "polyweft/tuner.h"

#include <ctime>

#include "driver/bench_timing.h"
#include "driver/flops.h"
#include "driver/kernel_impl.h"
#include "driver/memory.h"
#include "driver/planner.h"
#include "driver/probed_machine.h"
#include "driver/register_tile.h"
#include "driver/rule_of_thumb.h"
#include "driver/storage.h"
#include "driver/threads.h"
#include "driver/tune_session.h"
#include "driver/tune_start.h"
#include "ir/nests/suit_target.h"
#include "ir/oracles/bound_program.h"
#include "ir/passes/passes.h"
#include "ir/values/seeded_data.h"
#include "schedules/steps.h"
#include "support/helper_path.h"

namespace polyweft {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Error no_database(const std::string& path) {
  return fail("PW0724", "database " + path + ": there is no such file",
              {"polyweft tune makes one; check the path of --database"});
}

std::string helper_in(const std::string& directory, const std::string& name) {
  return directory.empty() ? helper_program(name) : directory + "/" + name;
}

}  // namespace

struct Tuner::Impl {
  Impl(Target t, TunerOptions o)
      : options(std::move(o)),
        compiler(std::move(t)),
        isl(isl_options(options)),
        stored(options.database),
        trust({options.secret, options.notice}, isl, stored),
        planner(compiler, isl, stored, trust) {}

  static IslClient::Options isl_options(const TunerOptions& o) {
    IslClient::Options isl;
    isl.helper = helper_in(o.helper_directory, "polyweft-isl");
    isl.deadline = o.isl_deadline;
    isl.workspace_limit_bytes = o.workspace_limit_bytes;
    return isl;
  }

  Result<std::string> code_text(const LoopNest& nest, ShowStage stage, const std::string& after) const;

  // A kernel that somebody asks for by name: what a search would refuse is built, and said.
  Result<LoadableKernel> asked_for(const LoopNest& nest, const std::string& name,
                                   std::vector<std::string>& warnings) const {
    auto kernel = compiler.for_runner(nest, CompileService::Spills::allow);
    if (kernel && compiler.is_too_many(kernel->spills, nest))
      warnings.push_back(name + " does not fit the registers: " + spill_text(kernel->spills) +
                         "; a search refuses it (polyweft explain PW0506)");
    return kernel;
  }

  // Interleaved with the runner's incumbent, the kernel: as many runs as that has, unless the rival is so slow that
  // four times its time ends first.
  Result<BenchRow> race_rival(const Task& t, const BenchRival& rival, std::chrono::milliseconds budget,
                              BenchReport& report) {
    auto rival_plan =
        rival.record > 0 ? planner.plan_of_record(t, rival.record) : planner.plan_by_trace(t, rival.trace);
    if (!rival_plan) return rival_plan.error();
    auto kernel = asked_for(on_threads(rival_plan->nest, t.key.threads), rival.name, report.warnings);
    if (!kernel) return kernel.error();
    RunRequest request;
    request.candidate = std::move(kernel).value();
    request.time_budget = 4 * budget;
    request.deadline = kBenchDeadline;
    request.pair_with_incumbent = request.pair_to_the_end = true;
    request.most_pairs = report.kernel.samples;
    auto outcome = runner->run(request);
    if (!outcome) return outcome.error();
    if (outcome->status != RunStatus::ok) return did_not_run(rival.name, *outcome);
    return BenchRow{rival.name, outcome->timing};
  }

  Result<RunnerTask> runner_task(const Task& t, const LoopNest& base) {
    if (auto ok = arguments_fit(t.program, 1); !ok) return ok.error();
    auto reference = compiler.for_runner(base);
    if (!reference) return reference.error();
    RunnerTask out;
    out.arguments = argument_specs(base, t.program);
    out.reference = std::move(reference).value();
    out.id = out.reference.id;
    out.threads = t.key.threads;
    set_rule_of_thumb(t, out);
    if (auto nest = bound_nest(t, out.bit_exact))
      if (auto kernel = compiler.for_runner(*nest)) out.bound = std::move(kernel).value();
    return out;
  }
  // The running error bound of every output element (language page, numerics), as a nest of its own; where there is
  // none, the rule of thumb counts.
  std::optional<LoopNest> bound_nest(const Task& t, bool bit_exact) {
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
  Tolerance tolerance(const Task& t, const std::vector<TensorData>& inputs);

  // Whose runner somebody else's command starts: its machine may be far away.
  bool runs_elsewhere() const { return !options.runner.empty(); }

  Status start_runner() {
    constexpr std::chrono::milliseconds kFarAway{60'000};
    if (runner) return Ok{};
    RunnerOptions runner_options;
    runner_options.command = options.runner.empty()
                                 ? std::vector<std::string>{helper_in(options.helper_directory, "polyweft-runner")}
                                 : options.runner;
    if (!options.runner.empty()) runner_options.start_deadline = kFarAway;
    auto started = compiler.start_runner(runner_options);
    if (!started) return started.error();
    runner = std::move(started).value();
    return Ok{};
  }

  Result<KernelTiming> time_again(const Task& t, const LoopNest& nest, double expected_ns);
  Result<Database*> writable_database();
  Result<Timing> timed(const Task& t, const LoopNest& nest);
  Result<LoopNest> nest_of(const TuningRecord& record, const Task& task);
  Result<LoopNest> nest_of(const TuningRecord& record);
  Result<TuneReport> tune(const Program& program, const TuneOptions& tune_options);
  Result<TuneReport> answer(const Task& t, const TuneOptions& tune_options, Clock::time_point start);
  Result<std::optional<Served>> served(const Task& t, const TuneOptions& tune_options);
  static TuneReport hit(TuningRecord record, const SearchEffort& spent);
  Result<TuneReport> unmeasured(const Task& t, const TuneOptions& tune_options);
  Result<TuneReport> in_lab(const Task& t, const TuneOptions& tune_options, std::optional<TuningRecord> served,
                            Clock::time_point start,
                            const std::function<Result<TuneReport>(const SessionTask&, const SessionServices&)>& work);
  Result<TuneReport> search(const Task& t, const TuneOptions& tune_options, std::optional<TuningRecord> served,
                            Clock::time_point start);
  Result<Plan> base_plan(const Task& t, const TaskOptions& task_options);
  Result<Plan> plan(const Task& t, const TaskOptions& task_options) {
    return task_options.symbolic ? planner.symbolic_plan(t, task_options) : planner.plan(t, task_options);
  }

  TunerOptions options;
  CompileService compiler;
  IslClient isl;
  Stored stored;
  Trust trust;
  Planner planner;
  std::unique_ptr<Runner> runner;
};

Result<TuneReport> Tuner::Impl::tune(const Program& program, const TuneOptions& tune_options) {
  const auto start = Clock::now();
  auto t = planner.task(program, tune_options);
  if (!t) return t.error();
  if (runs_elsewhere()) {
    if (auto started = start_runner(); !started) return started.error();
    if (runner->is_emulated()) t->key = emulated(t->key);
  }
  auto report = answer(*t, tune_options, start);
  if (!report) return report;
  if (report->flops == 0) report->flops = count_flops(t->program);
  report->wall_s = elapsed_s(start);
  announce_end(*report, tune_options);
  return report;
}

// Who asks for another search is not stopped by a record that is none.
Result<std::optional<Served>> Tuner::Impl::served(const Task& t, const TuneOptions& tune_options) {
  auto found = trust.best(t);
  const bool may_go_on = tune_options.refresh || !tune_options.trace.empty();
  if (found || found.error().code != "PW0720" || !may_go_on) return found;
  if (options.notice) options.notice(found.error().message);
  return std::optional<Served>();
}

Result<TuneReport> Tuner::Impl::answer(const Task& t, const TuneOptions& tune_options, Clock::time_point start) {
  auto record = served(t, tune_options);
  if (!record) return record.error();
  auto spent = stored.effort(t);
  if (!spent) return spent.error();
  const bool is_search = tune_options.trace.empty();
  const bool may_answer = is_search && !tune_options.refresh && *record &&
                          WorkspaceLimit(tune_options.max_workspace).admits((*record)->nest);
  if (may_answer && is_answered(*spent, tune_options)) return hit(std::move((*record)->record), *spent);
  if (tune_options.budget.count() == 0) return unmeasured(t, tune_options);
  if (auto runs = compiler.kernels_run_here(); !runs && !runs_elsewhere()) return runs.error();
  if (auto ok = planner.checked(t.source); !ok) return ok.error();
  std::optional<TuningRecord> old;
  if (*record) old = std::move((*record)->record);
  if (is_search) return search(t, tune_options, std::move(old), start);
  auto plan = planner.plan_by_trace(t, tune_options.trace, WorkspaceLimit(tune_options.max_workspace));
  if (!plan) return plan.error();
  return in_lab(t, tune_options, std::move(old), start,
                [&](const SessionTask& session, const SessionServices& services) {
                  return schedule_session(session, services, {plan->nest, plan->trace});
                });
}

TuneReport Tuner::Impl::hit(TuningRecord record, const SearchEffort& spent) {
  TuneReport report;
  report.served = record.id;
  report.record = std::move(record);
  report.hit = true;
  report.effort = spent;
  report.reason = "hit";
  return report;
}

// The answer of who may not measure: a proven nest without a time. It is not stored: a look-up serves what was measured
// here.
Result<TuneReport> Tuner::Impl::unmeasured(const Task& t, const TuneOptions& tune_options) {
  auto plan = planner.plan(t, tune_options);
  if (!plan) return plan.error();
  auto certificate = isl.prove(t, print(plan->nest));
  TuneReport report;
  report.record.key = t.key;
  report.record.canonical_text = t.canonical_text;
  report.record.program_text = t.source_text;
  report.record.program_name = t.source.name;
  report.record.trace_text = plan->trace;
  report.record.nest_text = print(plan->nest);
  if (certificate) report.record.certificate = *certificate;
  report.record.measurement.nest_hash = hash(plan->nest);
  report.record.measurement.toolchain = toolchain();
  report.reason = "nothing measured";
  if (report.record.certificate.verdict == Verdict::proven) trust.vouch(report.record);
  return report;
}

// Refused at once: rows that cannot be stored are found at the end of a search otherwise.
Result<Database*> Tuner::Impl::writable_database() {
  if (!stored.is_given()) return static_cast<Database*>(nullptr);
  auto db = stored.open();
  if (!db) return db;
  if (auto writable = (*db)->is_writable(); !writable) return writable.error();
  return db;
}

Result<TuneReport> Tuner::Impl::in_lab(
    const Task& t, const TuneOptions& tune_options, std::optional<TuningRecord> served, Clock::time_point start,
    const std::function<Result<TuneReport>(const SessionTask&, const SessionServices&)>& work) {
  auto stores = writable_database();
  if (!stores) return stores.error();
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  if (auto started = start_runner(); !started) return started.error();
  auto lab_task = runner_task(t, *base);
  if (!lab_task) return lab_task.error();
  lab_task->seed = tune_options.seed;
  if (auto begun = runner->begin(*lab_task); !begun) return begun.error();
  std::optional<TuningRecord> seed;
  if (!served && !is_emulated(t.key)) {
    auto expected = stored.expected(t);
    if (!expected) return expected.error();
    seed = std::move(*expected);
  }
  return work({t, *base, *lab_task, tune_options, std::move(served), std::move(seed), start},
              {compiler, isl, *runner, trust, *stores, runs_elsewhere()});
}

Result<TuneReport> Tuner::Impl::search(const Task& t, const TuneOptions& tune_options,
                                       std::optional<TuningRecord> served, Clock::time_point start) {
  if (auto stores = writable_database(); !stores) return stores.error();
  auto templates = planner.sketches(t);
  if (!templates) return templates.error();
  std::vector<Candidate> choices = planner.choices(t, *templates);
  const SearchSpaceOfTask space{std::move(*templates), std::move(choices)};
  return in_lab(t, tune_options, std::move(served), start,
                [&](const SessionTask& session, const SessionServices& services) {
                  return tune_session(session, services, space);
                });
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
  lab.reference = *kernel;
  lab.id = kernel->id;
  lab.threads = t.key.threads;
  set_rule_of_thumb(t, lab);
  if (auto begun = runner->begin(lab); !begun) return begun.error();
  return time_kernel(*runner, compiler, {nest, *kernel, t.key.threads}, kBudget);
}

Tuner::Tuner(Target target, TunerOptions options)
    : impl_(std::make_unique<Impl>(std::move(target), std::move(options))) {}
Tuner::~Tuner() = default;
Tuner::Tuner(Tuner&&) noexcept = default;
Tuner& Tuner::operator=(Tuner&&) noexcept = default;

const Target& Tuner::target() const {
  return impl_->compiler.target();
}
CheckReport Tuner::check(const Program& program, const std::map<std::string, int64_t>& sizes) {
  return impl_->isl.check(program, sizes);
}
Result<TuneReport> Tuner::tune(const Program& program, const TuneOptions& options) {
  return impl_->tune(program, options);
}
Result<ProbedHost> Tuner::probe() {
  auto stores = impl_->writable_database();
  if (!stores) return stores.error();
  if (!*stores) return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
  auto host = probed_now(target());
  if (!host) return host;
  if (auto stored = (*stores)->set_probed(*host); !stored) return stored.error();
  return host;
}
Result<Database*> Tuner::database() {
  auto found = impl_->stored.existing();
  if (!found || *found) return found;
  return impl_->stored.is_given() ? Result<Database*>(no_database(impl_->options.database)) : impl_->stored.open();
}
Standing Tuner::standing(const TuningRecord& record) {
  return impl_->trust.standing(record);
}

Result<std::optional<TuningRecord>> Tuner::best(const Program& program, const TaskOptions& options) {
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto served = impl_->trust.best_or_expected(*task);
  if (!served) return served.error();
  return *served ? std::optional(std::move((*served)->record)) : std::nullopt;
}

Result<std::optional<NearestRecord>> Tuner::nearest(const Program& program, const TaskOptions& options) {
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto database = impl_->stored.existing();
  if (!database) return database.error();
  return *database ? (*database)->nearest(task->key) : std::optional<NearestRecord>();
}

namespace {

Error mixed_up(const TuningRecord& record, const std::string& what) {
  return fail("PW0711", "record #" + std::to_string(record.id) + ": " + what, {"run: polyweft db verify"});
}

// Its texts and its key must belong together: they come from a row.
Result<Task> task_of_text(const TuningRecord& record, const Target& target) {
  constexpr int kMostThreads = 1024;
  if (record.key.threads < 1 || record.key.threads > kMostThreads)
    return mixed_up(record, "its number of threads is not in 1 .. " + std::to_string(kMostThreads));
  auto parsed = parse_programs(record.program_text, "");
  if (!parsed) return mixed_up(record, "its program is none: " + parsed.error().message);
  for (const auto& program : parsed->programs) {
    if (program_key(program) != record.key.program) continue;
    if (program.parameters.size() != record.key.binding.size())
      return mixed_up(record, "its sizes are not those of its program");
    TaskOptions options;
    options.cls = record.key.cls;
    options.threads = record.key.threads;
    for (size_t p = 0; p < program.parameters.size(); ++p)
      options.parameters[program.parameters[p].name] = record.key.binding[p];
    return make_task(program, options, target);
  }
  return mixed_up(record, "its program text does not have its key");
}

Result<Task> task_of(const TuningRecord& record, const Target& target) {
  auto task = task_of_text(record, target);
  if (task && task->canonical_text != record.canonical_text)
    return mixed_up(record, "its canonical text is not its program's");
  return task;
}

Result<Kernel> load_kernel(const CompileService& compiler, const LoopNest& nest, const Program& program,
                           const std::string& origin) {
  auto loaded = compiler.load(nest);
  if (!loaded) return loaded.error();
  auto impl = std::make_shared<Kernel::Impl>();
  impl->loaded = std::move(loaded).value();
  impl->arguments = argument_specs(nest, program);
  impl->origin = origin;
  return Kernel(std::move(impl));
}

}  // namespace

// A search may end with the base nest where nothing can be proven of it: it runs for everybody who has no record, so it
// may for this one.
Result<LoopNest> Tuner::Impl::nest_of(const TuningRecord& record, const Task& task) {
  auto nest = trust.nest_of(task, record);
  if (nest || nest.error().code != "PW0721") return nest;
  auto base = planner.base_nest(task);
  auto parsed = parse_loop_nest(record.nest_text);
  return base && parsed && print(*base) == print(*parsed) ? std::move(base) : std::move(nest);
}

Result<LoopNest> Tuner::Impl::nest_of(const TuningRecord& record) {
  auto task = task_of(record, compiler.target());
  return task ? nest_of(record, *task) : task.error();
}

Result<Kernel> Tuner::compile(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = impl_->nest_of(record, *task);
  if (!nest) return nest.error();
  return load_kernel(impl_->compiler, on_threads(std::move(*nest), record.key.threads), task->program,
                     "record #" + std::to_string(record.id));
}

Result<Kernel> Tuner::compile(const Program& program, const TaskOptions& options) {
  if (auto runs = impl_->compiler.kernels_run_here(); !runs) return runs.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  return load_kernel(impl_->compiler, on_threads(plan->nest, options.threads), task->program, plan->origin);
}

// The plain loops that a person would write: no record and no rule has a say.
Result<Plan> Tuner::Impl::base_plan(const Task& t, const TaskOptions& task_options) {
  if (task_options.symbolic) {
    auto plan = planner.symbolic_plan(t, task_options);  // refuses what it must
    auto plain = plan ? isl.symbolic_nest(t) : Result<LoopNest>(plan.error());
    return plain ? Result<Plan>(Plan{std::move(plain).value(), plan->trace, plan->origin}) : plain.error();
  }
  if (auto ok = planner.checked(t.source); !ok) return ok.error();
  WorkspaceLimit limit(task_options.max_workspace);
  auto base = planner.base_nest(t, limit);
  if (!base) return base.error();
  return Plan{std::move(base).value(), "trace 1\n", "base order"};
}

Result<BuildResult> Tuner::build(const Program& program, const TaskOptions& options, Emit emit,
                                 const std::string& symbol) {
  if (auto free = impl_->compiler.may_be_named(symbol.empty() ? program.name : symbol); !free) return free.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  const bool is_base = emit == Emit::c && options.trace.empty();
  auto plan = is_base ? impl_->base_plan(*task, options) : impl_->plan(*task, options);
  if (!plan) return plan.error();
  auto bytes = impl_->compiler.product(on_threads(plan->nest, options.threads), emit, symbol, options.abi);
  if (!bytes) return bytes.error();
  return BuildResult{std::move(bytes).value(), plan->origin};
}

std::vector<std::string> code_passes() {
  std::vector<std::string> out;
  for (const ir::NestPass& pass : ir::nest_passes()) out.emplace_back(pass.name);
  return out;
}

static Status is_pass(const std::string& name) {
  std::string known;
  for (const std::string& pass : code_passes()) {
    if (name.empty() || name == pass) return Ok{};
    known += (known.empty() ? "" : ", ") + pass;
  }
  return fail("PW0524", "code generation has no pass '" + name + "'", {"its passes, in their order: " + known});
}

/// What the stages of code generation make of a nest.
Result<std::string> Tuner::Impl::code_text(const LoopNest& nest, ShowStage stage, const std::string& after) const {
  if (stage == ShowStage::vectors) {
    auto made = compiler.behind_passes(nest, after);
    return made ? Result<std::string>(print(*made)) : made.error();
  }
  auto bytes = compiler.product(nest, stage == ShowStage::llvm ? Emit::llvm : Emit::assembly, "");
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<std::string> Tuner::show(const Program& program, const TaskOptions& options, ShowStage stage,
                                const std::string& after) {
  if (auto known = is_pass(after); !known) return known.error();
  if (stage == ShowStage::program) return print(program);
  if (stage == ShowStage::storage) {
    auto found = storage(program, options);
    return found ? Result<std::string>(found->text) : found.error();
  }
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  if (stage == ShowStage::scop || stage == ShowStage::dependences || stage == ShowStage::schedule) {
    if (auto ok = impl_->planner.checked(program); !ok) return ok.error();
    return impl_->isl.show(*task, stage == ShowStage::scop          ? "scop"
                                  : stage == ShowStage::dependences ? "dependences"
                                                                    : "schedule");
  }
  auto plan = impl_->plan(*task, options);
  if (!plan) return plan.error();
  if (stage == ShowStage::trace) return plan->trace;
  if (stage == ShowStage::loops) return print(plan->nest);
  return impl_->code_text(on_threads(plan->nest, options.threads), stage, after);
}

Result<std::string> Tuner::show(const TuningRecord& record, ShowStage stage, const std::string& after) {
  if (auto known = is_pass(after); !known) return known.error();
  if (stage == ShowStage::storage) {
    auto found = storage(record);
    return found ? Result<std::string>(found->text) : found.error();
  }
  if (stage == ShowStage::program) return record.program_text;
  if (stage == ShowStage::trace) return record.trace_text;
  auto task = task_of(record, target());
  if (!task) return task.error();
  const bool is_of_code = stage == ShowStage::vectors || stage == ShowStage::llvm || stage == ShowStage::assembly;
  if (stage == ShowStage::loops || is_of_code) {
    auto nest = impl_->nest_of(record, *task);
    if (!nest) return nest.error();
    if (stage == ShowStage::loops) return print(*nest);
    return impl_->code_text(on_threads(*nest, record.key.threads), stage, after);
  }
  return impl_->isl.show(*task, stage == ShowStage::scop          ? "scop"
                                : stage == ShowStage::dependences ? "dependences"
                                                                  : "schedule");
}

Result<Assembly> Tuner::assembly(const Program& program, const TaskOptions& options) {
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  return impl_->compiler.marked_assembly(on_threads(plan->nest, options.threads));
}

Result<Assembly> Tuner::assembly(const TuningRecord& record) {
  auto nest = impl_->nest_of(record);
  if (!nest) return nest.error();
  return impl_->compiler.marked_assembly(on_threads(std::move(*nest), record.key.threads));
}

Result<std::vector<Dependence>> Tuner::dependences(const Program& program, const TaskOptions& options) {
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  if (auto ok = impl_->planner.checked(program); !ok) return ok.error();
  return impl_->isl.dependences(*task);
}

Result<std::vector<Dependence>> Tuner::dependences(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  return impl_->isl.dependences(*task);
}

Result<Roofline> Tuner::roofline(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return nest.error();
  const TuneStart start = tune_start(*task, argument_specs(*nest, task->program), {}, impl_->compiler, nullptr);
  Roofline out{start.flops, start.bytes, start.peak_gflops, start.memory_gb_s, 0, start.bound_ns, start.memory_ns};
  auto timed = impl_->time_again(*task, *nest, record.measurement.timing.median_ns);
  if (!timed) return timed.error();
  out.kernel_ns = timed->timing.median_ns;
  if (timed->peak_gflops <= 0) return out;
  out.peak_gflops = timed->peak_gflops;
  out.bound_ns = roofline_ns(start, timed->peak_gflops);
  return out;
}

Result<Storage> Tuner::storage(const Program& program, const TaskOptions& options) {
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  return storage_of(plan->nest, task->program);
}

Result<Storage> Tuner::storage(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = impl_->nest_of(record, *task);
  if (!nest) return nest.error();
  return storage_of(*nest, task->program);
}

Result<Certificate> Tuner::prove(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto certificate = impl_->trust.prove(*task, record);
  if (certificate && standing(record) == Standing::unknown) impl_->trust.vouch(record);
  return certificate;
}

double Tuner::flops(const TuningRecord& record) {
  if (standing(record) != Standing::attested) return 0;
  const auto task = task_of(record, target());
  return task ? count_flops(task->program) : 0;
}

namespace {

Status is_new(Database& database, const TuningRecord& record) {
  for (RecordFilter filter{.program = record.key.program};; filter.offset += filter.limit) {
    auto rows = database.list(filter);
    if (!rows) return rows.error();
    for (const auto& row : *rows)
      if (row.key == record.key && row.nest_text == record.nest_text)
        return fail("PW0725", "record #" + std::to_string(row.id) + " is this record already", {"nothing was stored"});
    if (static_cast<int64_t>(rows->size()) < filter.limit) return Ok{};
  }
}

}  // namespace

// Compared with the base nest first, as any candidate.
Result<Timing> Tuner::Impl::timed(const Task& t, const LoopNest& nest) {
  constexpr std::chrono::milliseconds kBudget{200};
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  if (auto started = start_runner(); !started) return started.error();
  auto lab_task = runner_task(t, *base);
  if (!lab_task) return lab_task.error();
  if (auto begun = runner->begin(*lab_task); !begun) return begun.error();
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
  return outcome->timing;
}

Result<TuningRecord> Tuner::adopt(const TuningRecord& foreign) {
  TuningRecord record = foreign;
  record.id = 0;
  auto task = task_of_text(record, target());
  if (!task) return task.error();
  record.canonical_text = task->canonical_text;
  record.program_name = task->source.name;
  if (record.key.abi != task->key.abi) return mixed_up(record, "it is of another version of the kernels' ABI");
  auto trace = parse_trace(record.trace_text);
  if (!trace) return trace.error();
  auto stores = impl_->writable_database();
  if (!stores) return stores.error();
  if (!*stores) return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
  if (auto isnew = is_new(**stores, record); !isnew) return isnew.error();
  auto certificate = impl_->trust.prove(*task, record);
  if (!certificate) return certificate.error();
  const LoopNest nest = *parse_loop_nest(record.nest_text);
  record.certificate = *certificate;
  record.measurement.nest_hash = hash(nest);
  record.measurement.status = RunStatus::ok;
  record.measurement.strategy = "import";
  record.origin = "imported";
  if (record.key.target == task->key.target && impl_->compiler.kernels_run_here()) {
    auto timing = impl_->timed(*task, nest);
    if (!timing) return timing.error();
    record.measurement.timing = *timing;
    record.measurement.toolchain = toolchain();
    record.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
    record.origin = "adopted";
  }
  auto id = (*stores)->insert(record);
  if (!id) return id.error();
  record.id = *id;
  impl_->trust.vouch(record);
  return record;
}

Result<std::vector<TensorData>> Tuner::make_inputs(const Program& program, const TaskOptions& options, InputSet set,
                                                   uint64_t seed) {
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  if (auto ok = arguments_fit(task->program, 2); !ok) return ok.error();  // a kernel's own copies beside these
  return ir::seeded_inputs(task->program, seed,
                           set == InputSet::integer_valued ? ir::DataKind::integers : ir::DataKind::random);
}

// Where no bounds can be computed, the rule of thumb counts, and the comparison says so.
Tolerance Tuner::Impl::tolerance(const Task& t, const std::vector<TensorData>& inputs) {
  RunnerTask rule;
  set_rule_of_thumb(t, rule);
  Tolerance out{rule.bit_exact, rule.relative_bound, {}};
  const auto nest = bound_nest(t, out.bit_exact);
  if (!nest) return out;
  auto kernel = load_kernel(compiler, *nest, ir::bound_program(t.program), "error bound");
  if (!kernel) return out;
  if (auto bounds = kernel->run(inputs)) out.bounds = std::move(bounds).value();
  return out;
}

Result<Comparison> Tuner::verify(const Program& program, const TaskOptions& options,
                                 const std::vector<TensorData>& inputs) {
  if (auto runs = impl_->compiler.kernels_run_here(); !runs) return runs.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  auto base = impl_->planner.base_nest(*task);
  if (!base) return base.error();
  auto kernel = load_kernel(impl_->compiler, on_threads(plan->nest, options.threads), task->program, plan->origin);
  if (!kernel) return kernel.error();
  auto reference = load_kernel(impl_->compiler, *base, task->program, "base order");
  if (!reference) return reference.error();
  auto got = kernel->run(inputs);
  if (!got) return got.error();
  auto expected = reference->run(inputs);
  if (!expected) return expected.error();
  return compare_outputs(kernel->arguments(), *got, *expected, impl_->tolerance(*task, inputs), plan->origin);
}

Result<BenchReport> Tuner::bench(const Program& program, const TaskOptions& options, std::chrono::milliseconds budget,
                                 const std::vector<BenchRival>& against) {
  if (auto runs = impl_->compiler.kernels_run_here(); !runs && !impl_->runs_elsewhere()) return runs.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  auto base = impl_->planner.base_nest(*task);
  if (!base) return base.error();
  if (auto started = impl_->start_runner(); !started) return started.error();
  auto lab_task = impl_->runner_task(*task, *base);
  if (!lab_task) return lab_task.error();
  if (auto begun = impl_->runner->begin(*lab_task); !begun) return begun.error();
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
  RunRequest request;
  request.candidate = lab_task->reference;
  request.time_budget = budget / 2;
  request.deadline = kBenchDeadline;
  auto outcome = impl_->runner->run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return did_not_run("the base nest", *outcome);
  report.reference = outcome->timing;
  for (auto& warning : slow_warnings(report.origin, report.kernel, report.reference))
    report.warnings.push_back(std::move(warning));
  if (against.empty()) return report;
  if (auto set = impl_->runner->set_incumbent(*kernel); !set) return set.error();
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
