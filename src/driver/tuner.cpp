// Tuner: joins the layers. Hit: record -> nest -> code. Miss: helper process -> templates -> search -> lab -> proof -> record.
#include "polyweft/tuner.h"

#include <set>

#include "driver/bench_timing.h"
#include "driver/isl_client.h"
#include "driver/kernel_impl.h"
#include "driver/memory.h"
#include "driver/rule_of_thumb.h"
#include "driver/spaces.h"
#include "driver/storage.h"
#include "driver/task.h"
#include "driver/threads.h"
#include "driver/tune_session.h"
#include "driver/tune_start.h"
#include "driver/workshop.h"
#include "driver/workspace_limit.h"
#include "ir/bound_program.h"
#include "ir/instruction.h"
#include "ir/register_blocks.h"
#include "ir/seeded_data.h"
#include "ir/vectorize_rows.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "support/helper_path.h"

namespace polyweft {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string helper_in(const std::string& directory, const std::string& name) {
  return directory.empty() ? helper_program(name) : directory + "/" + name;
}

/// A nest and where it came from.
struct Plan {
  LoopNest nest;
  std::string trace;
  std::string origin;
};

}  // namespace

constexpr size_t kFirstChoices = 6;
constexpr size_t kBoundedChoices = 200;  // where many may take too much memory, which is quickly said

struct Tuner::Impl {
  Impl(Target t, TunerOptions o) : options(std::move(o)), workshop(std::move(t)), isl(isl_options(options)) {}

  static IslClient::Options isl_options(const TunerOptions& o) {
    IslClient::Options isl;
    isl.helper = helper_in(o.helper_directory, "polyweft-isl");
    isl.deadline = o.isl_deadline;
    isl.workspace_limit_bytes = o.workspace_limit_bytes;
    return isl;
  }

  Result<Task> task(const Program& program, const TaskOptions& task_options) { return make_task(program, task_options, workshop.target()); }

  // A program that fails a check has no meaning: nothing is scheduled for it.
  Status checked(const Program& program) {
    const CheckReport report = isl.check(program);
    if (report.errors.empty()) return Ok{};
    Error error = fail(report.errors.front().code, report.errors.front().text, report.errors.front().notes);
    error.diagnostics = report.errors;
    error.source_name = program.source_name;
    return error;
  }

  Result<Database*> open() {
    if (options.database.empty()) return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
    if (!database) {
      auto opened = open_database(options.database);
      if (!opened) return opened.error();
      database = std::move(opened).value();
    }
    return database.get();
  }

  Result<std::optional<TuningRecord>> stored(const Task& t) {
    if (options.database.empty()) return std::optional<TuningRecord>();
    auto db = open();
    if (!db) return db.error();
    return (*db)->best(t.key, t.canonical_text);
  }

  // To round a*b+c once is a licence of the classes contract and reassoc, and slow where no instruction does it.
  void suit_target(NestTemplate& nest_template) const {
    nest_template.fuses_products = workshop.target().fuses_products();
    nest_template.fuses_halves = workshop.target().computes_halves();
  }
  Result<LoopNest> for_target(Result<LoopNest> nest) const {
    if (!nest || workshop.target().fuses_products()) return nest;
    for (auto& node : nest->nodes)
      if (auto* compute = std::get_if<Compute>(&node)) compute->fused = false;
    return nest;
  }
  Result<LoopNest> base_nest(const Task& t) { return for_target(isl.base_nest(t)); }
  /// Where it takes too much, the leanest order that is known.
  Result<LoopNest> base_nest(const Task& t, WorkspaceLimit& limit) {
    auto base = base_nest(t);
    if (!limit.is_set() || (base && limit.admits(*base))) return base;
    auto leaner = for_target(isl.base_nest(t, true));
    if (leaner && limit.admits(*leaner)) return leaner;
    return base || leaner ? limit.refusal(t.source.name) : base.error();
  }

  // Programs with a recurrence are scanned in isl's order; their base nest is what schedules work around.
  Result<std::shared_ptr<const LoopNest>> recurrence_nest(const Task& t) {
    if (!schedules::has_recurrence(t.program)) return std::shared_ptr<const LoopNest>();
    auto base = base_nest(t);
    if (!base) return base.error();
    return std::shared_ptr<const LoopNest>(std::make_shared<LoopNest>(std::move(base).value()));
  }
  // What steps ask of isl; the base nest only where it is all that runs.
  Result<schedules::Isl> isl_for(const Task& t, bool needs_nest) {
    schedules::Isl out;
    if (needs_nest) {
      auto recurrence = recurrence_nest(t);
      if (!recurrence) return recurrence.error();
      out.recurrence_nest = std::move(*recurrence);
    }
    out.propose_bands = [this, &t] { return isl.propose_bands(t); };
    out.band_facts = [this, &t](const poly::BandQuestion& question) { return isl.band_facts(t, question); };
    return out;
  }
  Result<NestTemplate> replay(const Task& t, const std::string& text) {
    auto trace = parse_trace(text);
    if (!trace) return trace.error();
    auto answers = isl_for(t, trace->steps.empty());
    if (!answers) return answers.error();
    auto nest_template = schedules::replay(t.program, t.key.cls, *trace, *answers);
    if (nest_template) suit_target(*nest_template);
    return nest_template;
  }
  Result<std::vector<NestTemplate>> sketches(const Task& t) {
    const MachineModel machine = workshop.machine_model(t.key.threads);
    schedules::TargetFacts facts;
    facts.vector_bytes = machine.vector_bytes;
    facts.vector_registers = machine.vector_registers;
    facts.cache_bytes = machine.cache_bytes;
    facts.threads = t.key.threads;
    for (const ir::Instruction& instruction : ir::known_instructions())
      if (instruction.runs_on(workshop.target()) && instruction.allows(t.key.cls)) facts.instructions.push_back(instruction.name);
    auto answers = isl_for(t, true);
    if (!answers) return answers.error();
    auto templates = schedules::sketch_templates(t.program, t.key.cls, facts, *answers);
    for (size_t i = 0; templates && i < templates->size(); ++i) suit_target((*templates)[i]);
    return templates;
  }

  Result<Certificate> proven(const Task& t, const LoopNest& nest, std::optional<std::chrono::milliseconds> most = {}) {
    std::string why;
    auto certificate = isl.prove(t, print(nest), &why, most);
    if (!certificate) return certificate.error();
    if (certificate->verdict == Verdict::refuted) return fail("PW0400", "the checker refutes this nest: " + why);
    if (certificate->verdict != Verdict::proven) return fail("PW0409", "the nest could not be proven: " + why);
    return certificate;
  }

  Result<Plan> plan_by_trace(const Task& t, const std::string& trace, WorkspaceLimit limit = WorkspaceLimit(std::nullopt)) {
    auto nest_template = replay(t, trace);
    if (!nest_template) return nest_template.error();
    const auto decisions = values_of(nest_template->trace);
    auto nest = instantiate(*nest_template, decisions);
    if (!nest) return nest.error();
    if (!limit.admits(*nest)) return limit.refusal("this trace");
    if (auto certificate = proven(t, *nest); !certificate) return certificate.error();
    return Plan{std::move(nest).value(), trace_text(*nest_template, decisions), "trace"};
  }

  // The first that keeps its registers; else one that spills less, of those that are not predicted to be slower than the spills cost: some 6 % each.
  std::optional<Plan> first_that_fits(const Task& t, const std::vector<NestTemplate>& templates, const std::vector<Candidate>& candidates, WorkspaceLimit& limit) {
    constexpr double kOfSpill = 1 / 16.0;
    std::optional<Plan> best;
    int fewest = 0;
    double most_ns = 0;
    std::set<uint32_t> given_up;  // bands that took too long to prove: their other sizes would too
    constexpr size_t kMostGivenUp = 2;
    constexpr std::chrono::milliseconds kMostForBand{5000};  // whoever has no record waits for this
    for (const auto& candidate : candidates) {
      const bool is_band = !templates[candidate.sketch].bands.empty();
      if (given_up.count(candidate.sketch) || (is_band && (best || given_up.size() == kMostGivenUp)) || (best && candidate.predicted_ns > most_ns)) continue;
      auto nest = instantiate(templates[candidate.sketch], candidate.decisions);
      if (!nest || !limit.admits(*nest)) continue;
      const auto kernel = workshop.for_runner(*nest);
      if (!kernel || (best && kernel->spills >= fewest)) continue;
      if (!proven(t, *nest, is_band ? std::optional(kMostForBand) : std::nullopt)) {
        if (is_band) given_up.insert(candidate.sketch);
        continue;
      }
      best = Plan{std::move(nest).value(), trace_text(templates[candidate.sketch], candidate.decisions), "analytic model"};
      fewest = kernel->spills;
      most_ns = candidate.predicted_ns * (1 + kOfSpill * fewest);
      if (fewest == 0 || is_band) break;
    }
    return best;
  }

  // The model's first choice that the checker proves; the base nest where there is no sketch.
  Result<Plan> plan_by_model(const Task& t, WorkspaceLimit& limit) {
    auto templates = sketches(t);
    if (templates && !templates->empty()) {
      const auto model = analytic_model(workshop.machine_model(t.key.threads));
      auto strategy = enumerate_by_model(search_spaces(*templates, *model), {.enumeration_limit = 4000, .epsilon = 0});
      const size_t choices = limit.is_set() ? kBoundedChoices : kFirstChoices;
      if (auto plan = first_that_fits(t, *templates, strategy->ask(choices), limit)) return std::move(*plan);
    }
    auto base = base_nest(t, limit);
    if (!base) return base.error();
    return Plan{std::move(base).value(), "trace 1\n", "base order"};
  }

  Result<Plan> plan(const Program& program, const TaskOptions& task_options) {
    auto t = task(program, task_options);
    if (!t) return t.error();
    WorkspaceLimit limit(task_options.max_workspace);
    if (!task_options.trace.empty()) {
      if (auto ok = checked(program); !ok) return ok.error();
      return plan_by_trace(*t, task_options.trace, limit);
    }
    auto record = stored(*t);
    if (!record) return record.error();
    if (*record) {
      auto nest = parse_loop_nest((*record)->nest_text);
      if (nest && limit.admits(*nest)) return Plan{std::move(nest).value(), (*record)->trace_text, "record #" + std::to_string((*record)->id)};
    }
    if (auto ok = checked(program); !ok) return ok.error();
    return plan_by_model(*t, limit);
  }

  /// The base nest with its sizes left open.
  Result<Plan> symbolic_plan(const Program& program, const TaskOptions& task_options) {
    if (!task_options.parameters.empty())
      return fail("PW0521", program.name + ": a symbolic kernel has no sizes to bind", {"leave out the parameters: the kernel takes them"});
    if (task_options.max_workspace) return fail("PW0521", program.name + ": the workspace of a symbolic kernel depends on its sizes", {"bind them, or give no bound"});
    if (!task_options.trace.empty()) return fail("PW0521", program.name + ": a symbolic kernel takes no trace", {"traces hold decisions for bound sizes"});
    auto t = task(program, task_options);
    if (!t) return t.error();
    if (auto ok = checked(program); !ok) return ok.error();
    auto nest = isl.symbolic_nest(*t);
    if (!nest) return nest.error();
    if (auto ok = polyweft::verify(*nest); !ok) return ok.error();
    const ir::BlockShape shape = ir::block_shape(workshop.target());
    LoopNest vectors = ir::vectorize_rows(ir::block_rows(std::move(nest).value(), shape), shape.vector_bytes);
    return Plan{std::move(vectors), "trace 1\n", "symbolic base order"};
  }

  Result<Plan> plan_of_record(const Task& t, int64_t id) {
    auto db = open();
    if (!db) return db.error();
    auto record = (*db)->record(id);
    if (!record) return record.error();
    const std::string name = "record #" + std::to_string(id);
    if (!*record) return fail("PW0710", name + " is not in the database", {"list them with: polyweft db list"});
    const TaskKey& key = (*record)->key;
    if (key.program != t.key.program || key.binding != t.key.binding || key.cls != t.key.cls)
      return fail("PW0712", name + " is of another program, binding or class: " + (*record)->program_name, {"give the same -p and --numerics, or another record"});
    auto nest = parse_loop_nest((*record)->nest_text);
    if (!nest) return nest.error();
    return Plan{std::move(nest).value(), (*record)->trace_text, name};
  }
  // Interleaved with the runner's incumbent.
  Result<BenchRow> race_rival(const Task& t, const BenchRival& rival, std::chrono::milliseconds budget) {
    auto rival_plan = rival.record > 0 ? plan_of_record(t, rival.record) : plan_by_trace(t, rival.trace);
    if (!rival_plan) return rival_plan.error();
    auto kernel = workshop.for_runner(rival_plan->nest);
    if (!kernel) return kernel.error();
    RunRequest request;
    request.candidate = std::move(kernel).value();
    request.time_budget = budget;
    request.pair_with_incumbent = true;
    auto outcome = runner->run(request);
    if (!outcome) return outcome.error();
    if (outcome->status != RunStatus::ok && outcome->status != RunStatus::slower)
      return fail("PW0651", rival.name + " did not run correctly: " + name_of(outcome->status) + ": " + outcome->detail);
    return BenchRow{rival.name, outcome->timing};
  }

  Result<RunnerTask> runner_task(const Task& t, const LoopNest& base) {
    if (auto ok = arguments_fit(t.program, 1); !ok) return ok.error();
    auto reference = workshop.for_runner(base);
    if (!reference) return reference.error();
    RunnerTask out;
    out.arguments = argument_specs(base, t.program);
    out.reference = std::move(reference).value();
    out.id = out.reference.id;
    out.threads = t.key.threads;
    set_rule_of_thumb(t, out);
    if (auto nest = bound_nest(t, base, out.bit_exact))
      if (auto kernel = workshop.for_runner(*nest)) out.bound = std::move(kernel).value();
    return out;
  }
  // The running error bound of every output element (language page, numerics), as a nest of its own; where there is none, the rule of thumb counts.
  std::optional<LoopNest> bound_nest(const Task& t, const LoopNest& base, bool bit_exact) {
    // Naive loops in double precision: above this the bounds would take longer than the search. A recurrence may amplify what it rounds (64 steps of an LSTM by
    // 10^4), which no rule of thumb knows: there they are worth some seconds.
    constexpr double kMostBoundFlops = 1e9, kMostInRecurrences = 4e9;
    if (bit_exact || count_flops(base) > (schedules::has_recurrence(t.program) ? kMostInRecurrences : kMostBoundFlops)) return std::nullopt;
    auto nest = for_target(isl.bound_nest(t));
    return nest ? std::optional(std::move(nest).value()) : std::nullopt;
  }
  Tolerance tolerance(const Task& t, const LoopNest& base, const std::vector<TensorData>& inputs);

  static bool keeps(std::optional<int64_t> max_workspace, const TuningRecord& record) {
    if (!max_workspace) return true;
    const auto nest = parse_loop_nest(record.nest_text);
    return nest && WorkspaceLimit(max_workspace).admits(*nest);
  }

  Status start_runner() {
    if (runner) return Ok{};
    RunnerOptions runner_options;
    runner_options.command = {helper_in(options.helper_directory, "polyweft-runner")};
    auto started = start_local_runner(runner_options);
    if (!started) return started.error();
    runner = std::move(started).value();
    return Ok{};
  }

  Result<TuneReport> tune(const Program& program, const TuneOptions& tune_options);
  Result<TuneReport> search(const Task& t, const TuneOptions& tune_options, Clock::time_point start);

  TunerOptions options;
  Workshop workshop;
  IslClient isl;
  std::unique_ptr<Database> database;
  std::unique_ptr<Runner> runner;
};

Result<TuneReport> Tuner::Impl::tune(const Program& program, const TuneOptions& tune_options) {
  const auto start = Clock::now();
  auto t = task(program, tune_options);
  if (!t) return t.error();
  if (!tune_options.refresh) {
    auto record = stored(*t);
    if (!record) return record.error();
    if (*record && keeps(tune_options.max_workspace, **record)) {
      TuneReport report;
      report.record = std::move(**record);
      report.hit = true;
      report.reason = "hit";
      if (auto nest = parse_loop_nest(report.record.nest_text)) report.flops = count_flops(*nest);
      report.wall_s = seconds_since(start);
      return report;
    }
  }
  if (auto ok = checked(program); !ok) return ok.error();
  return search(*t, tune_options, start);
}

Result<TuneReport> Tuner::Impl::search(const Task& t, const TuneOptions& tune_options, Clock::time_point start) {
  auto base = base_nest(t);
  if (!base) return base.error();
  if (auto started = start_runner(); !started) return started.error();
  auto lab_task = runner_task(t, *base);
  if (!lab_task) return lab_task.error();
  lab_task->seed = tune_options.seed;
  if (auto begun = runner->begin(*lab_task); !begun) return begun.error();

  auto templates = sketches(t);
  if (!templates) return templates.error();
  Database* stores = nullptr;
  if (!options.database.empty()) {
    auto db = open();
    if (!db) return db.error();
    stores = *db;
  }
  return tune_session({t, *base, *lab_task, *templates, tune_options, start}, {workshop, isl, *runner, stores});
}

Tuner::Tuner(Target target, TunerOptions options) : impl_(std::make_unique<Impl>(std::move(target), std::move(options))) {}
Tuner::~Tuner() = default;
Tuner::Tuner(Tuner&&) noexcept = default;
Tuner& Tuner::operator=(Tuner&&) noexcept = default;

const Target& Tuner::target() const {
  return impl_->workshop.target();
}
CheckReport Tuner::check(const Program& program) {
  return impl_->isl.check(program);
}
Result<TuneReport> Tuner::tune(const Program& program, const TuneOptions& options) {
  return impl_->tune(program, options);
}
Result<Database*> Tuner::database() {
  return impl_->open();
}

Result<std::optional<TuningRecord>> Tuner::best(const Program& program, const TaskOptions& options) {
  auto task = impl_->task(program, options);
  if (!task) return task.error();
  return impl_->stored(*task);
}

namespace {

Result<Task> task_of(const TuningRecord& record, const Target& target) {
  auto parsed = parse_programs(record.program_text, "");
  if (!parsed) return parsed.error();
  for (const auto& program : parsed->programs) {
    if (program_key(program) != record.key.program) continue;
    TaskOptions options;
    options.cls = record.key.cls;
    options.threads = record.key.threads;
    for (size_t p = 0; p < program.parameters.size() && p < record.key.binding.size(); ++p) options.parameters[program.parameters[p].name] = record.key.binding[p];
    return make_task(program, options, target);
  }
  return fail("PW0711", "record #" + std::to_string(record.id) + ": its program text does not have its key", {"run: polyweft db verify"});
}

Result<Kernel> load_kernel(const Workshop& workshop, const LoopNest& nest, const Program& program, const std::string& origin) {
  auto loaded = workshop.load(nest);
  if (!loaded) return loaded.error();
  auto impl = std::make_shared<Kernel::Impl>();
  impl->loaded = std::move(loaded).value();
  impl->arguments = argument_specs(nest, program);
  impl->origin = origin;
  return Kernel(std::move(impl));
}

}  // namespace

Result<Kernel> Tuner::compile(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return nest.error();
  return load_kernel(impl_->workshop, on_threads(std::move(*nest), record.key.threads), task->program, "record #" + std::to_string(record.id));
}

Result<Kernel> Tuner::compile(const Program& program, const TaskOptions& options) {
  auto task = impl_->task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(program, options);
  if (!plan) return plan.error();
  return load_kernel(impl_->workshop, on_threads(plan->nest, options.threads), task->program, plan->origin);
}

Result<BuildResult> Tuner::build(const Program& program, const TaskOptions& options, Emit emit, const std::string& symbol) {
  auto plan = options.symbolic ? impl_->symbolic_plan(program, options) : impl_->plan(program, options);
  if (!plan) return plan.error();
  auto bytes = impl_->workshop.product(on_threads(plan->nest, options.threads), emit, symbol);
  if (!bytes) return bytes.error();
  return BuildResult{std::move(bytes).value(), plan->origin};
}

Result<std::string> Tuner::show(const Program& program, const TaskOptions& options, ShowStage stage) {
  if (stage == ShowStage::program) return print(program);
  if (stage == ShowStage::scop || stage == ShowStage::dependences || stage == ShowStage::schedule) {
    auto task = impl_->task(program, options);
    if (!task) return task.error();
    if (auto ok = impl_->checked(program); !ok) return ok.error();
    return impl_->isl.show(*task, stage == ShowStage::scop ? "scop" : stage == ShowStage::dependences ? "dependences" : "schedule");
  }
  if (stage == ShowStage::storage) {
    auto found = storage(program, options);
    return found ? Result<std::string>(found->text) : found.error();
  }
  auto plan = options.symbolic ? impl_->symbolic_plan(program, options) : impl_->plan(program, options);
  if (!plan) return plan.error();
  if (stage == ShowStage::trace) return plan->trace;
  if (stage == ShowStage::loops) return print(plan->nest);
  auto bytes = impl_->workshop.product(on_threads(plan->nest, options.threads), stage == ShowStage::llvm ? Emit::llvm : Emit::assembly, "");
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<std::string> Tuner::show(const TuningRecord& record, ShowStage stage) {
  if (stage == ShowStage::storage) {
    auto found = storage(record);
    return found ? Result<std::string>(found->text) : found.error();
  }
  if (stage == ShowStage::program) return record.program_text;
  if (stage == ShowStage::trace) return record.trace_text;
  if (stage == ShowStage::loops) return record.nest_text;
  auto task = task_of(record, target());
  if (!task) return task.error();
  if (stage == ShowStage::llvm || stage == ShowStage::assembly) {
    auto nest = parse_loop_nest(record.nest_text);
    if (!nest) return nest.error();
    auto bytes = impl_->workshop.product(on_threads(*nest, record.key.threads), stage == ShowStage::llvm ? Emit::llvm : Emit::assembly, "");
    if (!bytes) return bytes.error();
    return std::string(bytes->begin(), bytes->end());
  }
  return impl_->isl.show(*task, stage == ShowStage::scop ? "scop" : stage == ShowStage::dependences ? "dependences" : "schedule");
}

Result<Assembly> Tuner::assembly(const Program& program, const TaskOptions& options) {
  auto plan = impl_->plan(program, options);
  if (!plan) return plan.error();
  return impl_->workshop.marked_assembly(on_threads(plan->nest, options.threads));
}

Result<Assembly> Tuner::assembly(const TuningRecord& record) {
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return nest.error();
  return impl_->workshop.marked_assembly(on_threads(std::move(*nest), record.key.threads));
}

Result<Storage> Tuner::storage(const Program& program, const TaskOptions& options) {
  auto task = impl_->task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(program, options);
  if (!plan) return plan.error();
  return storage_of(plan->nest, task->program);
}

Result<Storage> Tuner::storage(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return nest.error();
  return storage_of(*nest, task->program);
}

Result<Certificate> Tuner::prove(const TuningRecord& record) {
  auto task = task_of(record, target());
  if (!task) return task.error();
  if (task->canonical_text != record.canonical_text) return fail("PW0711", "record #" + std::to_string(record.id) + ": its canonical text is not its program's");
  return impl_->isl.prove(*task, record.nest_text);
}

Result<std::vector<TensorData>> Tuner::make_inputs(const Program& program, const TaskOptions& options, InputSet set, uint64_t seed) {
  auto task = impl_->task(program, options);
  if (!task) return task.error();
  if (auto ok = arguments_fit(task->program, 2); !ok) return ok.error();  // a kernel's own copies beside these
  return ir::seeded_inputs(task->program, seed, set == InputSet::integer_valued ? ir::DataKind::integers : ir::DataKind::random);
}

// Where no bounds can be computed, the rule of thumb counts, and the comparison says so.
Tolerance Tuner::Impl::tolerance(const Task& t, const LoopNest& base, const std::vector<TensorData>& inputs) {
  RunnerTask rule;
  set_rule_of_thumb(t, rule);
  Tolerance out{rule.bit_exact, rule.relative_bound, {}};
  const auto nest = bound_nest(t, base, out.bit_exact);
  if (!nest) return out;
  auto kernel = load_kernel(workshop, *nest, ir::bound_program(t.program), "error bound");
  if (!kernel) return out;
  if (auto bounds = kernel->run(inputs)) out.bounds = std::move(bounds).value();
  return out;
}

Result<Comparison> Tuner::verify(const Program& program, const TaskOptions& options, const std::vector<TensorData>& inputs) {
  auto task = impl_->task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(program, options);
  if (!plan) return plan.error();
  auto base = impl_->base_nest(*task);
  if (!base) return base.error();
  auto kernel = load_kernel(impl_->workshop, on_threads(plan->nest, options.threads), task->program, plan->origin);
  if (!kernel) return kernel.error();
  auto reference = load_kernel(impl_->workshop, *base, task->program, "base order");
  if (!reference) return reference.error();
  auto got = kernel->run(inputs);
  if (!got) return got.error();
  auto expected = reference->run(inputs);
  if (!expected) return expected.error();
  return compare_outputs(kernel->arguments(), *got, *expected, impl_->tolerance(*task, *base, inputs), plan->origin);
}

Result<BenchReport> Tuner::bench(const Program& program, const TaskOptions& options, std::chrono::milliseconds budget, const std::vector<BenchRival>& against) {
  auto task = impl_->task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(program, options);
  if (!plan) return plan.error();
  auto base = impl_->base_nest(*task);
  if (!base) return base.error();
  if (auto started = impl_->start_runner(); !started) return started.error();
  auto lab_task = impl_->runner_task(*task, *base);
  if (!lab_task) return lab_task.error();
  if (auto begun = impl_->runner->begin(*lab_task); !begun) return begun.error();
  auto kernel = impl_->workshop.for_runner(on_threads(plan->nest, options.threads));
  if (!kernel) return kernel.error();
  BenchReport report;
  report.origin = plan->origin;
  report.flops = count_flops(*base);
  if (auto timed = time_kernel(*impl_->runner, impl_->workshop, plan->nest, *kernel, options.threads, budget / 2, report); !timed) return timed.error();
  RunRequest request;
  request.candidate = lab_task->reference;
  request.time_budget = budget / 2;
  auto outcome = impl_->runner->run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return fail("PW0651", std::string("the base nest did not run correctly: ") + name_of(outcome->status) + ": " + outcome->detail);
  report.reference = outcome->timing;
  if (against.empty()) return report;
  if (auto set = impl_->runner->set_incumbent(*kernel); !set) return set.error();
  for (const auto& rival : against) {
    auto row = impl_->race_rival(*task, rival, budget / 2);
    if (!row) return row.error();
    report.rivals.push_back(std::move(row).value());
  }
  return report;
}

}  // namespace polyweft
