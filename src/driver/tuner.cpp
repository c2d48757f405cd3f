// Tuner: joins the layers. Hit: record -> nest -> code. Miss: helper process -> templates -> search -> lab -> proof ->
// record.
#include "polyweft/tuner.h"

#include <algorithm>

#include "driver/device_key.h"
#include "driver/flops.h"
#include "driver/library_seeds.h"
#include "driver/memory.h"
#include "driver/probed_machine.h"
#include "driver/recorded_task.h"
#include "driver/rule_of_thumb.h"
#include "driver/stop_reason.h"
#include "driver/threads.h"
#include "driver/tune_start.h"
#include "driver/tuner_impl.h"
#include "ir/nests/added_instructions.h"
#include "ir/values/seeded_data.h"
#include "support/abilities.h"
#include "support/build_identity.h"
#include "support/helper_path.h"
#include "support/host_secret.h"

namespace polyweft {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_something_left_out() {
  return std::any_of(abilities().begin(), abilities().end(), [](const Ability& each) { return !is_on(each.name); });
}

AnswerCache::Options cache_options(const TunerOptions& given) {
  if (given.cache.empty() || is_something_left_out()) return {};
  const auto secret = host_secret(given.secret);
  return {given.cache, secret ? *secret : "", build_identity() + ir::key_of_added_instructions()};
}

IslClient::Options isl_options(const TunerOptions& given, Call& call, KeptAnswers& kept) {
  IslClient::Options isl;
  isl.call = &call;
  isl.kept = &kept;
  isl.helper = helper_program("polyweft-isl", given.helper_directory);
  isl.deadline = given.isl_deadline;
  isl.workspace_limit_bytes = given.workspace_limit_bytes;
  return isl;
}

}  // namespace

Tuner::Impl::Impl(Target target, TunerOptions given)
    : options(std::move(given)),
      kept(AnswerCache(cache_options(options))),
      compiler(std::move(target), &call),
      isl(isl_options(options, call, kept)),
      stored(options.database, options.may_miss_database),
      trust({options.secret, options.notice}, isl, stored),
      planner(compiler, isl, stored, trust, &kept) {
  call.doing = options.doing;
  call.notice = options.notice;
}

Result<TuneReport> Tuner::Impl::tune(const Program& program, const TuneOptions& tune_options,
                                     std::optional<PlannedSearch>* planned) {
  const auto start = Clock::now();
  const auto doing = call.doing;
  call.last_said.clear();
  call.doing = [&](const std::string& what) {
    if (doing) doing(what);
    announce_doing(what, elapsed_s(start), tune_options);
  };
  auto report = timed_tune(program, tune_options, planned, start);
  call.doing = doing;
  return report;
}

Result<TuneReport> Tuner::Impl::timed_tune(const Program& program, const TuneOptions& tune_options,
                                           std::optional<PlannedSearch>* planned, Clock::time_point start) {
  auto t = planner.sized_task(program, tune_options);
  if (!t) return t.error();
  if (auto taken = take_inputs(*t, tune_options); !taken) return taken.error();
  if (runs_elsewhere() || compiler.is_emulated()) {
    if (auto started = start_runner(); !started) return started.error();
    if (runner->is_emulated()) t->key = emulated(t->key);
  } else {
    t->key = on_device(t->key, t->device);
  }
  auto report = answer(*t, tune_options, start, planned);
  if (!report) return report;
  if (report->flops == 0) report->flops = count_flops(t->program);
  report->wall_s = elapsed_s(start);
  announce_end(*report, tune_options);
  return report;
}

namespace {

/// When a search must be over, whatever it is doing.
Clock::time_point end_of(const TuneOptions& options, const SearchEffort& spent, Clock::time_point start) {
  constexpr double kLeastGraceS = 0.4, kShareOfBudget = 0.04;
  if (options.budget == TuneOptions::kNoLimit) return Clock::time_point::max();
  const double budget_s = std::chrono::duration<double>(options.budget).count();
  const double left_s = std::max(0.0, options.refresh ? budget_s : budget_s - spent.wall_s);
  const double most_s = left_s + std::max(kLeastGraceS, kShareOfBudget * left_s);
  return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(most_s));
}

/// A search that was stopped before it had anything.
Error nothing_measured(const Call& call, const Error& error) {
  Error out = error;
  out.message = std::string("nothing was measured: ") +
                (call.stop.was_asked() ? "the search was stopped" : "the time was over") +
                (call.last_said.empty() ? "" : " while " + call.last_said);
  out.diagnostics.clear();
  out.notes = {"give more time with --budget; without a search the first choice of the model is served: polyweft run"};
  return out;
}

}  // namespace

// Who asks for another search is not stopped by a record that is none.
Result<std::optional<Served>> Tuner::Impl::served(const Task& t, const TuneOptions& tune_options) {
  auto found = trust.best(t);
  const bool may_go_on = tune_options.refresh || !tune_options.trace.empty();
  if (found || found.error().code != "PW0720" || !may_go_on) return found;
  if (options.notice) options.notice(found.error().message);
  return std::optional<Served>();
}

Result<TuneReport> Tuner::Impl::answer(const Task& t, const TuneOptions& tune_options, Clock::time_point start,
                                       std::optional<PlannedSearch>* planned) {
  auto record = served(t, tune_options);
  if (!record) return record.error();
  auto spent = stored.effort(t);
  if (!spent) return spent.error();
  const bool is_search = tune_options.trace.empty();
  const bool may_answer = is_search && !tune_options.refresh && *record &&
                          WorkspaceLimit(tune_options.max_workspace).admits((*record)->nest);
  if (may_answer && is_answered(*spent, tune_options)) return hit(std::move((*record)->record), *spent);
  if (tune_options.budget.count() == 0) return unmeasured(t, tune_options);
  const StopScope ends(call, end_of(tune_options, *spent, start), tune_options.cancelled);
  const std::optional<TuningRecord> known = *record ? std::optional((*record)->record) : std::nullopt;
  auto report = measured(t, tune_options, std::move(*record), start, planned);
  if (report || !is_stopped(report.error())) return report;
  if (!known) return nothing_measured(call, report.error());
  TuneReport out = hit(*known, *spent);  // it stays the best
  out.hit = false;
  out.interrupted = call.stop.was_asked();
  out.reason = out.interrupted ? stop_reason::kInterrupted : stop_reason::kBudget;
  return out;
}

Result<TuneReport> Tuner::Impl::measured(const Task& t, const TuneOptions& tune_options, std::optional<Served> record,
                                         Clock::time_point start, std::optional<PlannedSearch>* planned) {
  const bool is_search = tune_options.trace.empty();
  if (auto runs = compiler.kernels_run_here(); !runs && !runs_elsewhere()) return runs.error();
  if (auto stores = writable_database(); !stores) return stores.error();
  if (auto ok = planner.checked(t); !ok) return ok.error();
  std::optional<TuningRecord> old;
  if (record) old = std::move(record->record);
  if (is_search) return search(t, tune_options, std::move(old), start, planned);
  auto plan = planner.plan_by_trace(t, tune_options.trace, WorkspaceLimit(tune_options.max_workspace));
  if (!plan) return plan.error();
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  return in_lab(t, tune_options, {std::move(*base)}, std::move(old), start,
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
  report.reason = stop_reason::kHit;
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
  report.reason = stop_reason::kNothingMeasured;
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

Result<PlannedSearch> Tuner::Impl::plan_search(const Task& t, const TuneOptions& tune_options,
                                               Clock::time_point start) {
  const auto is_late = [&] { return is_due(&call); };
  auto templates = planner.sketches(t);
  if (!templates) return templates.error();
  PlannedSearch out;
  out.space.choices = planner.choices(t, *templates);
  if (is_late()) return stopped("planning");
  planner.tell_of_unit(t, *templates, out.space.choices);
  call.say("deriving more schedules");
  auto searched = planner.sketches_for_search(t, *templates);
  std::move(searched.begin(), searched.end(), std::back_inserter(*templates));
  out.space.templates = std::move(*templates);
  auto warnings = add_library(t, tune_options, out.space);
  if (!warnings) return warnings.error();
  out.warnings = std::move(*warnings);
  const double call_ns = out.space.choices.empty() ? 0 : out.space.choices.front().predicted_ns;
  auto trace = rehearsed(t, tune_options, call_ns, start);
  if (!trace) return trace.error();
  out.space.rehearsed = std::move(*trace);
  if (is_late()) return stopped("planning");
  call.say("making the reference");
  auto reference = reference_of(t, tune_options, out.space);
  if (!reference) return reference.error();
  out.reference = std::move(*reference);
  return out;
}

Result<TuneReport> Tuner::Impl::search(const Task& t, const TuneOptions& tune_options,
                                       std::optional<TuningRecord> served, Clock::time_point start,
                                       std::optional<PlannedSearch>* planned) {
  if (auto stores = writable_database(); !stores) return stores.error();
  std::optional<PlannedSearch> own;
  if (!planned) planned = &own;
  if (!*planned) {
    auto made = plan_search(t, tune_options, start);
    if (!made) return made.error();
    *planned = std::move(*made);
  }
  constexpr std::chrono::milliseconds kMostOfMutation{500};
  SearchSpaceOfTask& space = (*planned)->space;
  space.answers = planner.answers(t, kMostOfMutation);
  space.replay = [&](const std::string& trace) { return planner.replay(t, trace); };
  auto report = in_lab(t, tune_options, (*planned)->reference, std::move(served), start,
                       [&](const SessionTask& session, const SessionServices& services) {
                         return tune_session(session, services, space);
                       });
  if (report) report->warnings.insert(report->warnings.end(), (*planned)->warnings.begin(), (*planned)->warnings.end());
  return report;
}

// The nearest one, whose program has its sizes as defaults.
Result<std::vector<LibraryTrace>> Tuner::Impl::records_of_other_sizes(const Task& t) {
  std::vector<LibraryTrace> out;
  auto database = stored.existing();
  if (!database) return database.error();
  if (!*database) return out;
  const auto nearest = (*database)->nearest(t.key);
  if (!nearest) return nearest.error();
  if (!*nearest || (*nearest)->binding == t.key.binding) return out;
  const auto record = (*database)->record((*nearest)->id);
  if (!record) return record.error();
  auto trace = *record ? parse_trace((*record)->trace_text) : Result<Trace>(fail("PW0710", "no record"));
  LibraryTrace made{"record #" + std::to_string((*nearest)->id), t.source, {}};
  if (!trace || (*nearest)->binding.size() != made.program.parameters.size()) return out;
  for (size_t k = 0; k < made.program.parameters.size(); ++k) made.program.parameters[k].value = (*nearest)->binding[k];
  made.trace = std::move(*trace);
  out.push_back(std::move(made));
  return out;
}

Result<std::vector<std::string>> Tuner::Impl::add_library(const Task& t, const TuneOptions& tune_options,
                                                          SearchSpaceOfTask& space) {
  constexpr std::chrono::milliseconds kMostOfReplay{2000};
  const schedules::Isl answers = planner.answers(t, kMostOfReplay);
  auto records = records_of_other_sizes(t);
  if (!records) return records.error();
  auto seeds = library_seeds(t, {compiler.target(), answers, tune_options, std::move(*records)});
  if (!seeds) return seeds.error();
  for (Candidate& seed : seeds->seeds) seed.sketch += static_cast<uint32_t>(space.templates.size());
  space.library_templates = seeds->templates.size();
  std::move(seeds->templates.begin(), seeds->templates.end(), std::back_inserter(space.templates));
  space.seeds = std::move(seeds->seeds);
  return std::move(seeds->warnings);
}

Tuner::Tuner(Target target, TunerOptions options)
    : impl_(std::make_unique<Impl>(std::move(target), std::move(options))) {}
Tuner::~Tuner() = default;
Tuner::Tuner(Tuner&&) noexcept = default;
Tuner& Tuner::operator=(Tuner&&) noexcept = default;

const Target& Tuner::target() const {
  return impl_->compiler.target();
}

std::vector<StageTime> Tuner::timings() const {
  std::vector<StageTime> out;
  for (const StageTimes::Row& row : impl_->call.times->rows())
    out.push_back({row.stage, std::chrono::duration<double, std::milli>(row.processor).count(), row.entered});
  return out;
}

CheckReport Tuner::check(const Program& program, const std::map<std::string, int64_t>& sizes) {
  const Turn turn(impl_->calls);
  return impl_->isl.check(program, sizes);
}

Result<TuneReport> Tuner::tune(const Program& program, const TuneOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  const Stored::Making making(impl_->stored);
  return impl_->tune(program, options);
}

Result<ProposeReport> Tuner::propose(const Program& program, const TuneOptions& options,
                                     const ProposeOptions& proposal) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  const Stored::Making making(impl_->stored);
  return impl_->propose(program, options, proposal);
}

Result<ObserveReport> Tuner::observe(const std::string& path, const TuneOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  const Stored::Making making(impl_->stored);
  return impl_->observe(path, options);
}

std::vector<Result<TuneReport>> Tuner::tune(const std::vector<SharedProgram>& programs,
                                            std::chrono::milliseconds budget) {
  const Turn turn(impl_->calls, impl_->call);
  const Stored::Making making(impl_->stored);
  return impl_->tune(programs, budget);
}

Result<ProbedHost> Tuner::probe() {
  const Turn turn(impl_->calls);
  const Stored::Making making(impl_->stored);
  auto stores = impl_->writable_database();
  if (!stores) return stores.error();
  if (!*stores) return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
  auto host = probed_now(target());
  if (!host) return host;
  if (auto stored = (*stores)->set_probed(*host); !stored) return stored.error();
  return host;
}

Result<Database*> Tuner::database() {
  const Turn turn(impl_->calls);
  return impl_->stored.opened();
}

Standing Tuner::standing(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  return impl_->trust.standing(record);
}

Result<std::optional<TuningRecord>> Tuner::best(const Program& program, const TaskOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  auto task = impl_->planner.sized_task(program, options);
  if (!task) return task.error();
  auto served = impl_->trust.best_or_expected(*task);
  if (!served) return served.error();
  return *served ? std::optional(std::move((*served)->record)) : std::nullopt;
}

Result<std::optional<NearestRecord>> Tuner::nearest(const Program& program, const TaskOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  auto task = impl_->planner.sized_task(program, options);
  if (!task) return task.error();
  auto database = impl_->stored.existing();
  if (!database) return database.error();
  return *database ? (*database)->nearest(task->key) : std::optional<NearestRecord>();
}

Result<Kernel> Tuner::compile(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = impl_->nest_of(record, *task);
  if (!nest) return nest.error();
  return load_kernel(impl_->compiler, on_threads(std::move(*nest), record.key.threads), task->program,
                     "record #" + std::to_string(record.id));
}

Result<Kernel> Tuner::compile(const Program& program, const TaskOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  if (auto runs = impl_->compiler.kernels_run_here(); !runs) return runs.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(*task, options);
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
  if (auto ok = planner.checked(t); !ok) return ok.error();
  WorkspaceLimit limit(task_options.max_workspace);
  auto base = planner.base_nest(t, limit);
  if (!base) return base.error();
  return Plan{std::move(base).value(), "trace 1\n", "base order"};
}

Result<BuildResult> Tuner::build(const Program& program, const TaskOptions& options, Emit emit,
                                 const std::string& symbol) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  if (auto free = impl_->compiler.may_be_named(symbol.empty() ? program.name : symbol); !free) return free.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  const bool is_base = emit == Emit::c && options.trace.empty();
  auto plan = is_base ? impl_->base_plan(*task, options) : impl_->plan(*task, options);
  if (!plan) return plan.error();
  impl_->call.say("making code");
  auto bytes = impl_->compiler.product(on_threads(plan->nest, options.threads), emit, symbol, options.abi);
  if (!bytes) return bytes.error();
  return BuildResult{std::move(bytes).value(), plan->origin, impl_->compiler.to_link(plan->nest, emit, options.abi)};
}

namespace {

/// Callers have one header: const inputs are packed by all levels or by none.
bool has_same_arguments(const LoopNest& a, const LoopNest& b) {
  const auto packed = [](const LoopNest& nest) {
    std::vector<std::pair<std::string, bool>> out;
    for (const BufferId id : nest.arguments) out.emplace_back(nest.buffers[id].name, nest.buffers[id].is_packed);
    for (const Pack& pack : nest.packs) out.emplace_back(nest.buffers[pack.source].name, true);
    return out;
  };
  return packed(a) == packed(b);
}

}  // namespace

// What the lowest level runs all of them can: its nest stands in where another one packs other inputs.
Result<BuildResult> Tuner::build_for_all(std::vector<Tuner>& tuners, const Program& program, const TaskOptions& options,
                                         Emit emit, const std::string& symbol) {
  std::vector<Tuner*> sorted;
  for (Tuner& tuner : tuners) sorted.push_back(&tuner);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Tuner* a, const Tuner* b) {
    return a->target().features.size() < b->target().features.size();
  });
  std::vector<targets::LevelCode> levels;
  BuildResult out;
  Impl& least = *sorted.front()->impl_;
  const Turn first(least.calls, least.call, options);
  if (auto came = first.came(); !came) return came.error();
  for (Tuner* tuner : sorted) {
    Impl& impl = *tuner->impl_;
    const Turn turn(impl.calls, impl.call, options);
    if (auto came = turn.came(); !came) return came.error();
    if (auto free = impl.compiler.may_be_named(symbol.empty() ? program.name : symbol); !free) return free.error();
    auto task = impl.planner.task(program, options);
    if (!task) return task.error();
    auto plan = impl.plan(*task, options);
    if (!plan) return plan.error();
    LoopNest nest = on_threads(std::move(plan->nest), options.threads);
    const bool fits = levels.empty() || has_same_arguments(levels.front().nest, nest);
    out.origin += (levels.empty() ? "" : "; ") + tuner->target().name + ": " +
                  (fits ? plan->origin : "as " + levels.front().target.name);
    const std::string to_link = impl.compiler.to_link(nest, emit, options.abi);
    if (to_link.size() > out.to_link.size()) out.to_link = to_link;
    levels.push_back({fits ? std::move(nest) : levels.front().nest, tuner->target()});
  }
  auto bytes = least.compiler.product(levels, emit, symbol, options.abi);
  if (!bytes) return bytes.error();
  out.bytes = std::move(bytes).value();
  return out;
}

Result<std::vector<TensorData>> Tuner::make_inputs(const Program& program, const TaskOptions& options, InputSet set,
                                                   uint64_t seed) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  if (auto ok = arguments_fit(task->program, 2); !ok) return ok.error();  // a kernel's own copies beside these
  return ir::seeded_inputs(task->program, seed,
                           set == InputSet::integer_valued ? ir::DataKind::integers : ir::DataKind::random);
}

}  // namespace polyweft
