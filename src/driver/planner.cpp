#include "driver/planner.h"

#include <algorithm>
#include <set>

#include "driver/first_choices.h"
#include "driver/idle_unit.h"
#include "driver/plan_text.h"
#include "driver/spaces.h"
#include "driver/threads.h"
#include "ir/nests/instruction.h"
#include "ir/nests/suit_target.h"
#include "ir/passes/left_to_compiler.h"
#include "ir/passes/register_blocks.h"
#include "ir/passes/vectorize_rows.h"
#include "schedules/sketches/sketches.h"

namespace polyweft {
namespace {

/// In parts of nests that are made or predicted: some tens of milliseconds.
constexpr int64_t kRankingWork = 12'000;
/// What the model of nests predicts to take so many times what its best takes, the model of code does not save.
constexpr double kFarByModel = 2.5;

constexpr size_t kBoundedChoices = 200;  // where many may take too much memory, which is quickly said

std::string name_of(const TuningRecord& record) {
  return "record #" + std::to_string(record.id) + (is_emulated(record.key) ? ", expected" : "");
}

}  // namespace

void Planner::say(const char* what) const {
  if (Call* call = compiler_.call()) call->say(what);
}

Result<Task> Planner::sized_task(const Program& program, const TaskOptions& options) const {
  if (options.symbolic)
    return fail("PW0521", program.name + ": a symbolic kernel is not measured, stored or looked up",
                {"leave out `symbolic`, and bind the sizes: -p NAME=VALUE"});
  return task(program, options);
}

namespace {

Status status_of(const CheckReport& report, const Program& program) {
  if (report.errors.empty()) return Ok{};
  Error error = fail(report.errors.front().code, report.errors.front().text, report.errors.front().notes);
  error.diagnostics = report.errors;
  error.source_name = program.source_name;
  return error;
}

}  // namespace

Status Planner::checked(const Program& program) {
  say("checking the program");
  return status_of(isl_.check(program), program);
}

Status Planner::checked(const Task& t) {
  say("checking the program");
  const CheckReport report = isl_.check(t.source);
  const auto is_undecided = [](const Diagnostic& d) { return d.code == "PW0830" || d.code == "PW0831"; };
  if (report.errors.empty() || !std::all_of(report.errors.begin(), report.errors.end(), is_undecided) ||
      t.source.parameters.empty())
    return status_of(report, t.source);
  say("checking the program at its sizes");
  return status_of(isl_.check_at(t), t.source);
}

Result<LoopNest> Planner::base_nest(const Task& t) {
  return ir::for_target(compiler_.target(), isl_.base_nest(t));
}
// Where it takes too much, the leanest order that is known.
Result<LoopNest> Planner::base_nest(const Task& t, WorkspaceLimit& limit) {
  auto base = base_nest(t);
  if (!limit.is_set() || (base && limit.admits(*base))) return base;
  auto leaner = ir::for_target(compiler_.target(), isl_.base_nest(t, true));
  if (leaner && limit.admits(*leaner)) return leaner;
  return base || leaner ? limit.refusal(t.source.name) : base.error();
}

// Programs with a recurrence are scanned in isl's order; their base nest is what schedules work around.
Result<std::shared_ptr<const LoopNest>> Planner::recurrence_nest(const Task& t) {
  if (!schedules::has_recurrence(t.program)) return std::shared_ptr<const LoopNest>();
  auto base = base_nest(t);
  if (!base) return base.error();
  return std::shared_ptr<const LoopNest>(std::make_shared<LoopNest>(std::move(base).value()));
}

schedules::Isl Planner::answers(const Task& t, std::optional<std::chrono::milliseconds> most) const {
  schedules::Isl out;
  out.propose_bands = [this, &t] { return isl_.propose_bands(t); };
  if (most) most = std::min(*most, isl_.deadline());
  out.band_facts = [this, &t, most](const poly::BandQuestion& question) { return isl_.band_facts(t, question, most); };
  return out;
}

// The base nest only where it is all that runs.
Result<schedules::Isl> Planner::isl_for(const Task& t, bool needs_nest) {
  schedules::Isl out = answers(t);
  if (needs_nest) {
    auto recurrence = recurrence_nest(t);
    if (!recurrence) return recurrence.error();
    out.recurrence_nest = std::move(*recurrence);
  }
  return out;
}

Result<NestTemplate> Planner::replay(const Task& t, const std::string& text) {
  auto trace = parse_trace(text);
  if (!trace) return trace.error();
  auto answers = isl_for(t, schedules::runs_base_order(*trace));
  if (!answers) return answers.error();
  auto nest_template = schedules::replay(t.program, t.key.cls, *trace, *answers);
  if (nest_template) ir::suit_target(*nest_template, compiler_.target());
  return nest_template;
}

Result<std::vector<NestTemplate>> Planner::sketches(const Task& t) {
  return sketches(t, compiler_.machine(t.key.threads));
}

Result<std::vector<NestTemplate>> Planner::sketches(const Task& t, Machine machine) {
  machine.units.instructions = ir::allowed_instructions(machine.units.instructions, t.key.cls);
  auto answers = isl_for(t, true);
  if (!answers) return answers.error();
  say("deriving schedules");
  const StageTimes::Running stage(times_of(compiler_.call()), "sketches");
  auto templates = schedules::sketch_templates(t.program, t.key.cls, machine, *answers);
  for (size_t i = 0; templates && i < templates->size(); ++i) ir::suit_target((*templates)[i], compiler_.target());
  return templates;
}

std::vector<NestTemplate> Planner::sketches_for_search(const Task& t, const std::vector<NestTemplate>& known) const {
  Machine machine = compiler_.machine(t.key.threads);
  machine.units.instructions = ir::allowed_instructions(machine.units.instructions, t.key.cls);
  auto templates = schedules::search_templates(t.program, t.key.cls, machine, known, answers(t));
  for (NestTemplate& made : templates) ir::suit_target(made, compiler_.target());
  return templates;
}

Result<Certificate> Planner::proven(const Task& t, const LoopNest& nest,
                                    std::optional<std::chrono::milliseconds> most) {
  std::string why;
  auto certificate = isl_.prove(t, print(nest), &why, most);
  if (!certificate) return certificate.error();
  if (certificate->verdict == Verdict::refuted) return fail("PW0400", "the checker refutes this nest: " + why);
  if (certificate->verdict != Verdict::proven) return fail("PW0409", "the nest could not be proven: " + why);
  return certificate;
}

Result<Plan> Planner::plan_by_trace(const Task& t, const std::string& trace, WorkspaceLimit limit) {
  auto nest_template = replay(t, trace);
  if (!nest_template) return nest_template.error();
  const auto decisions = values_of(nest_template->trace);
  auto nest = instantiate(*nest_template, decisions);
  if (!nest) return nest.error();
  if (!limit.admits(*nest)) return limit.refusal("this trace");
  if (auto certificate = proven(t, *nest); !certificate) return certificate.error();
  return Plan{std::move(nest).value(), trace_text(*nest_template, decisions), "trace"};
}

// The first that keeps its registers; else one that spills less, of those that are not predicted to be slower than the
// spills cost: some 6 % each.
std::optional<Plan> Planner::first_that_fits(const Task& t, const std::vector<NestTemplate>& templates,
                                             const std::vector<Candidate>& candidates, WorkspaceLimit& limit) {
  constexpr double kOfSpill = 1 / 16.0;
  std::optional<Plan> best;
  int fewest = 0;
  double most_ns = 0;
  constexpr int kMostCodes = 3;  // that are looked at for what they spill
  int codes = 0;
  std::set<uint32_t> given_up;  // bands that took too long to prove: their other sizes would too
  constexpr size_t kMostGivenUp = 2;
  constexpr std::chrono::milliseconds kMostForBand{5000};  // whoever has no record waits for this
  for (const auto& candidate : candidates) {
    const bool is_band = !templates[candidate.sketch].bands.empty();
    if (given_up.count(candidate.sketch) || (is_band && (best || given_up.size() == kMostGivenUp)) ||
        (best && candidate.predicted_ns > most_ns))
      continue;
    auto nest = instantiate(templates[candidate.sketch], candidate.decisions);
    if (!nest || !limit.admits(*nest) || (best && nest->auto_vectorized)) continue;
    if (best && codes == kMostCodes) break;
    ++codes;
    const auto known = spills_of(*nest, t.key.threads);
    const int spills = known && !nest->auto_vectorized ? *known : 0;  // the compiler's own are in its time
    if (!known || (best && spills >= fewest)) continue;
    if (!proven(t, *nest, is_band ? std::optional(std::min(kMostForBand, isl_.deadline())) : std::nullopt)) {
      if (is_band) given_up.insert(candidate.sketch);
      continue;
    }
    best =
        Plan{std::move(nest).value(), trace_text(templates[candidate.sketch], candidate.decisions), "analytic model"};
    fewest = spills;
    most_ns = candidate.predicted_ns * (1 + kOfSpill * fewest);
    if (fewest == 0 || is_band) break;
  }
  return best;
}

Result<targets::ExpectedCode> Planner::code_of(const LoopNest& nest, int threads) const {
  constexpr size_t kMost = 256;
  const std::string name = hash(nest) + " " + std::to_string(threads);
  if (const auto known = codes_.find(name); known != codes_.end()) return known->second;
  auto code = compiler_.expected_code(nest, threads);
  if (!code && is_stopped(code.error())) return code;
  if (codes_.size() >= kMost) codes_.clear();
  codes_.insert_or_assign(name, code);
  return code;
}

// Where the code was not ranked it is made for the answer, which whoever asked for a plan wants next.
Result<int> Planner::spills_of(const LoopNest& nest, int threads) const {
  const auto known = codes_.find(hash(nest) + " " + std::to_string(threads));
  const bool is_known = known != codes_.end() && known->second && known->second->cycles > 0;
  return is_known ? Result<int>(known->second->spills) : compiler_.spills_of_answer(on_threads(nest, threads));
}

std::vector<Candidate> Planner::choices(const Task& t, const std::vector<NestTemplate>& templates,
                                        size_t others) const {
  const std::string question =
      kept_ ? question_about("choices 1 " + std::to_string(others) + " " + key_of(templates), t, compiler_.target())
            : "";
  const auto known = kept_ ? kept_->find(question) : std::nullopt;
  if (auto candidates = known ? candidates_from(*known, templates) : std::nullopt) return std::move(*candidates);
  std::vector<Candidate> out = new_choices(t, templates, others);
  if (kept_ && !is_cut_off()) kept_->keep(question, text_of(out));
  return out;
}

std::vector<Candidate> Planner::new_choices(const Task& t, const std::vector<NestTemplate>& templates,
                                            size_t others) const {
  const auto model = analytic_model(compiler_.machine(t.key.threads));
  // Where blocks have memory of their own the model knows the machine. It does not know CPUs that run blocks so well:
  // the sizes that it likes best of all took 2.9 times as long there (attention) as the best of some random ones.
  const Machine& machine = compiler_.target().machine;
  const bool descends = machine.has_grid() && machine.grid.shared_bytes_per_cycle.value > 0;
  say("ranking schedules");
  const std::vector<Candidate> ranked = [&] {
    const StageTimes::Running stage(times_of(compiler_.call()), "ranking by the model");
    return first_choices(templates, *model, kAllRanked,
                         {descends, machine.has_grid() ? 0 : kRankingWork, [&] { return is_cut_off(); }});
  }();
  const auto cost_of = [&](const LoopNest& nest) -> Result<CodeCost> {
    const auto code = code_of(nest, t.key.threads);
    if (!code) return code.error();
    return CodeCost{code->cycles, code->has_gathers};
  };
  say("making code to rank");
  std::vector<Candidate> out = ordered_by_code(ranked, templates, *model, cost_of, kFarByModel);
  const size_t judged = out.size();
  for (size_t k = 0; k < std::min(ranked.size(), others); ++k) {
    const auto is_tried = [&](const Candidate& c) {
      return c.sketch == ranked[k].sketch && c.decisions == ranked[k].decisions;
    };
    if (std::none_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(judged), is_tried))
      out.push_back(ranked[k]);
  }
  return out;
}

std::string Planner::why_unit_is_idle(const Task& t, const std::vector<NestTemplate>& templates,
                                      const std::vector<Candidate>& candidates) {
  if (!compiler_.target().machine.has_unit()) return {};
  return why_unit_cannot({t, compiler_, templates, candidates}, [&](const Machine& machine) {
    auto others = sketches(t, on_cores(machine, t.key.threads));
    return others ? std::move(*others) : std::vector<NestTemplate>();
  });
}

void Planner::tell_of_unit(const Task& t, const std::vector<NestTemplate>& templates,
                           const std::vector<Candidate>& candidates) {
  if (const std::string why = why_unit_is_idle(t, templates, candidates); !why.empty()) notice_of_unit(t, why);
}

void Planner::notice_of_unit(const Task& t, const std::string& why) const {
  const Call* call = compiler_.call();
  if (call && call->notice) call->notice(idle_unit_notice(t, compiler_.target(), why));
}

Result<Plan> Planner::plan_by_model(const Task& t, WorkspaceLimit& limit) {
  const std::string what = "plan 1 " + std::to_string(isl_.workspace_limit_bytes());
  const std::string question = limit.is_set() || !kept_ ? "" : question_about(what, t, compiler_.target());
  const size_t cut_offs = isl_.cut_offs();
  const auto known = question.empty() ? std::nullopt : kept_->find(question);
  if (auto plan = known ? plan_from(*known) : std::nullopt) return std::move(*plan);
  auto plan = new_plan_by_model(t, limit);
  const bool is_idle = compiler_.target().machine.has_unit() && plan && !uses_unit(plan->nest);  // said each time
  if (plan && !is_idle && !question.empty() && !is_cut_off() && isl_.cut_offs() == cut_offs)
    kept_->keep(question, text_of(*plan));
  return plan;
}

// The model's first choice that the checker proves; the base order through the compiler's vectorizers where none is.
Result<Plan> Planner::new_plan_by_model(const Task& t, WorkspaceLimit& limit) {
  auto templates = sketches(t);
  if (templates && !templates->empty()) {
    const auto candidates = choices(t, *templates, limit.is_set() ? kBoundedChoices : kFirstChoices);
    auto plan = first_that_fits(t, *templates, candidates, limit);
    if (compiler_.target().machine.has_unit() && !(plan && uses_unit(plan->nest))) {
      const std::string why = why_unit_is_idle(t, *templates, candidates);
      notice_of_unit(t, why.empty() ? "the model expects other code to be faster" : why);
    }
    if (plan) return std::move(*plan);
  }
  auto base = base_nest(t, limit);
  if (!base) return base.error();
  return Plan{ir::left_to_compiler(
                  ir::with_fused_products(std::move(base).value(), compiler_.target().can.fused_products), false),
              "trace 1\n  autovectorize\n", "base order"};
}

Result<Plan> Planner::plan(const Task& t, const TaskOptions& task_options) {
  WorkspaceLimit limit(task_options.max_workspace);
  if (!task_options.trace.empty()) {
    if (auto ok = checked(t); !ok) return ok.error();
    return plan_by_trace(t, task_options.trace, limit);
  }
  auto served = trust_.best_or_expected(t);
  if (!served) return served.error();
  if (*served && limit.admits((*served)->nest))
    return Plan{std::move((*served)->nest), (*served)->record.trace_text, name_of((*served)->record)};
  if (auto ok = checked(t); !ok) return ok.error();
  return plan_by_model(t, limit);
}

Result<Plan> Planner::symbolic_plan(const Task& t, const TaskOptions& task_options) {
  const Program& program = t.source;
  if (!task_options.parameters.empty())
    return fail("PW0521", program.name + ": a symbolic kernel has no sizes to bind",
                {"leave out the parameters: the kernel takes them"});
  if (task_options.max_workspace)
    return fail("PW0521", program.name + ": the workspace of a symbolic kernel depends on its sizes",
                {"bind them, or give no bound"});
  if (!task_options.trace.empty())
    return fail("PW0521", program.name + ": a symbolic kernel takes no trace",
                {"traces hold decisions for bound sizes"});
  if (auto ok = checked(program); !ok) return ok.error();
  auto nest = isl_.symbolic_nest(t);
  if (!nest) return nest.error();
  if (auto ok = polyweft::verify(*nest); !ok) return ok.error();
  const ir::BlockShape shape = ir::block_shape(compiler_.target());
  LoopNest vectors = ir::vectorize_rows(ir::block_rows(std::move(nest).value(), shape), shape.vector_bytes);
  return Plan{std::move(vectors), "trace 1\n", "symbolic base order"};
}

Result<Plan> Planner::plan_of_record(const Task& t, int64_t id) {
  auto db = stored_.existing();
  if (!db) return db.error();
  Result<std::optional<TuningRecord>> record = std::optional<TuningRecord>();
  if (*db) record = (*db)->record(id);
  if (!record) return record.error();
  const std::string name = "record #" + std::to_string(id);
  if (!*record) return fail("PW0710", name + " is not in the database", {"list them with: polyweft db list"});
  const TaskKey& key = (*record)->key;
  if (key.program != t.key.program || key.binding != t.key.binding || key.cls != t.key.cls)
    return fail("PW0712", name + " is of another program, binding or class: " + (*record)->program_name,
                {"give the same -p and --numerics, or another record"});
  auto nest = trust_.nest_of(t, **record);
  if (!nest) return nest.error();
  return Plan{std::move(nest).value(), (*record)->trace_text, name};
}

}  // namespace polyweft
