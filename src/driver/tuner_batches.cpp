// Search and measurement apart: candidates go into a file, what somebody measured comes back.
#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

#include "driver/device_key.h"
#include "driver/propose_loop.h"
#include "driver/settle.h"
#include "driver/tune_finals.h"
#include "driver/tuner_impl.h"
#include "support/build_identity.h"
#include "targets/batches/batch_race.h"
#include "targets/registry.h"

namespace polyweft {
namespace {

using targets::Batch;
using targets::BatchCandidate;
using targets::BatchRace;
using targets::BatchResults;
using targets::BatchRow;

/// Nobody runs anything here.
class NoRunner final : public Runner {
 public:
  explicit NoRunner(bool is_emulated) : is_emulated_(is_emulated) {}
  Status begin(const RunnerTask&) override { return none(); }
  Result<RunOutcome> run(const RunRequest&) override { return none(); }
  Status set_incumbent(const LoadableKernel&) override { return none(); }
  bool is_emulated() const override { return is_emulated_; }

 private:
  static Error none() { return fail("PW0606", "internal: kernels of a proposal are not run here"); }
  bool is_emulated_;
};

targets::BatchOrigin origin_of(const Task& t, const TuneOptions& options, const Target& target) {
  targets::BatchOrigin out;
  out.program_name = t.source.name;
  out.program_text = t.source_text;
  for (size_t p = 0; p < t.source.parameters.size(); ++p)
    out.parameters.emplace_back(t.source.parameters[p].name, t.binding[p]);
  out.cls = options.cls;
  out.threads = t.key.threads;
  out.target = target.name;
  out.fingerprint = fingerprint(target);
  out.seed = options.seed;
  out.toolchain = toolchain();
  return out;
}

Result<Program> program_of(const targets::BatchOrigin& origin) {
  auto parsed = parse_programs(origin.program_text, origin.program_name);
  if (!parsed) return parsed.error();
  for (Program& program : parsed->programs)
    if (program.name == origin.program_name) return std::move(program);
  return fail("PW0616", "the work's text has no program " + origin.program_name);
}

Measurement measurement_of(const Batch& batch, const BatchRow& row) {
  const BatchCandidate& candidate = batch.candidates[row.candidate];
  Measurement out;
  out.nest_hash = candidate.nest_hash;
  out.status = row.outcome.status;
  out.detail = row.outcome.detail;
  out.timing = row.outcome.timing;
  out.predicted_ns = candidate.predicted_ns;
  if (row.beside != BatchRow::kAlone && row.outcome.timing.ratio > 0)
    out.beside = batch.candidates[row.beside].nest_hash;
  out.strategy = candidate.strategy;
  out.seed = batch.origin.seed;
  out.toolchain = batch.origin.toolchain;
  out.unix_time = row.unix_time;
  return out;
}

/// Rows that count, with those of the last races.
std::vector<BatchRow> told_rows_of(const Batch& batch, const BatchRace& race) {
  std::vector<BatchRow> out;
  for (uint32_t k = 0; k < batch.candidates.size(); ++k)
    if (race.told(k)) out.push_back(*race.told(k));
  out.insert(out.end(), race.finals().begin(), race.finals().end());
  return out;
}

bool is_right(const BatchRow& row) {
  return row.outcome.status == RunStatus::ok;
}

/// The winner, then what else was right, fastest first: one of them is proven.
std::vector<Winner> winners_of(const Batch& batch, const BatchRace& race) {
  std::vector<Winner> out;
  const auto best = race.best();
  if (!best) return out;
  std::vector<uint32_t> order;
  for (uint32_t k = 0; k < batch.candidates.size(); ++k)
    if (race.told(k) && is_right(*race.told(k))) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto ns = [&](uint32_t k) { return k == *best ? 0 : race.told(k)->outcome.timing.median_ns; };
    return ns(a) < ns(b);
  });
  for (uint32_t k : order) {
    auto nest = parse_loop_nest(batch.candidates[k].nest_text);
    if (!nest || hash(*nest) != batch.candidates[k].nest_hash) continue;
    Winner winner;
    winner.nest = std::move(*nest);
    winner.measurement = measurement_of(batch, *race.told(k));
    winner.trace = batch.candidates[k].trace;
    out.push_back(std::move(winner));
  }
  return out;
}

/// Its ratio to what was served when the work was made; 0: not raced.
double ratio_to_served(const Batch& batch, const BatchRace& race) {
  for (const BatchRow& row : race.finals())
    if (row.beside != BatchRow::kAlone && batch.candidates[row.beside].role == targets::BatchRole::served &&
        race.best() == row.candidate)
      return row.outcome.timing.ratio;
  return 0;
}

std::string slower_here(const Timing& pairs) {
  if (pairs.ratio <= 0) return "the winner of these results does not run here: it is not stored";
  char times[32];
  std::snprintf(times, sizeof times, "%.2f", pairs.ratio);
  return "the winner of these results takes " + std::string(times) +
         " of the time of what is served here: it is not stored";
}

}  // namespace

// A file of others says which machine it is for, never which file of ours is to be read.
Result<std::string> target_of_work(const std::string& path) {
  auto batch = targets::read_batch(path);
  if (!batch) return batch.error();
  std::string& target = batch->origin.target;
  if (targets::is_target_name(target)) return std::move(target);
  return fail("PW0616", "work file " + path + " is for target " + target + ", which has no name here",
              {"give the description that it was proposed with by --target"});
}

std::string usual_references() {
  for (const targets::Backend* backend : targets::backends())
    if (const std::string name = backend->host() ? backend->usual_target() : ""; !name.empty()) {
      const auto target = find_target(name);
      if (target && target->is_host) return name;
    }
  return {};
}

Result<ProposeReport> Tuner::Impl::propose(const Program& program, const TuneOptions& tune_options,
                                           const ProposeOptions& proposal) {
  const auto start = std::chrono::steady_clock::now();
  TuneOptions unlimited = tune_options;
  unlimited.budget = TuneOptions::kNoLimit;
  auto t = planner.sized_task(program, unlimited);
  if (!t) return t.error();
  if (auto taken = take_inputs(*t, unlimited); !taken) return taken.error();
  if (auto ok = planner.checked(*t); !ok) return ok.error();
  if (compiler.is_emulated()) t->key = emulated(t->key);
  // A search goes on from what its device has shown, wherever that is.
  if (auto known = stored.best_of_devices(*t); known && *known) t->key = (*known)->key;
  auto record = served(*t, unlimited);
  if (!record) return record.error();
  auto planned = plan_search(*t, unlimited, start);
  if (!planned) return planned.error();
  planned->space.answers = planner.answers(*t);
  planned->space.replay = [&](const std::string& trace) { return planner.replay(*t, trace); };
  std::optional<CompileService> references;
  if (!proposal.references.empty() && !compiler.has_reference_of_its_kind()) {
    auto target = find_target(proposal.references);
    if (!target) return target.error();
    references.emplace(std::move(*target));
  }
  auto lab = runner_task(*t, planned->reference.nest, true, references ? &*references : nullptr);
  if (!lab) return lab.error();
  lab->seed = unlimited.seed;
  auto database = stored.existing();
  if (!database) return database.error();
  NoRunner nobody(compiler.is_emulated());
  std::optional<TuningRecord> old;
  if (*record) old = std::move((*record)->record);
  const SessionTask session{*t, planned->reference, *lab, unlimited, std::move(old), std::nullopt, start};
  const SessionServices services{compiler, isl, nobody, trust, *database, true};
  SearchParts parts(session, services, planned->space, Rates::unknown);
  if (auto begun = parts.begin(); !begun) return begun.error();
  ProposeLoop loop(session, services, planned->space, parts);
  auto candidates = loop.run(proposal.candidates);
  if (!candidates) return candidates.error();
  const targets::RunnerDevice device = compiler.runner_device();
  const Batch batch{origin_of(*t, unlimited, compiler.target()),
                    build_identity(),
                    device.kind,
                    device.machine,
                    compiler.is_emulated(),
                    std::move(*lab),
                    std::move(*candidates)};
  if (auto written = targets::write_batch(proposal.path, batch); !written) return written.error();
  ProposeReport report;
  report.candidates = static_cast<int>(batch.candidates.size());
  report.without_code = static_cast<int>(std::count_if(batch.candidates.begin(), batch.candidates.end(),
                                                       [](const auto& c) { return c.kernel.bytes.empty(); }));
  report.is_exhausted = loop.is_exhausted();
  report.warnings = std::move(planned->warnings);
  return report;
}

namespace {

/// What the database does not have yet. `trials` and `seconds` of the results are told once: with their first row.
Status keep_rows(Database& database, const Task& t, const Batch& batch, const std::vector<BatchRow>& rows,
                 ObserveReport& report) {
  auto known = database.measurements(t.key);
  if (!known) return known.error();
  const auto key_of = [](const Measurement& m) {
    return std::tuple(m.nest_hash, m.unix_time, m.beside, m.status, m.timing.median_ns);
  };
  std::set<decltype(key_of(Measurement{}))> there;
  for (const auto& [trace, measurement] : *known) there.insert(key_of(measurement));
  std::vector<std::pair<std::string, Measurement>> fresh;
  SearchEffort spent;
  for (const BatchRow& row : rows) {
    Measurement measurement = measurement_of(batch, row);
    if (!there.insert(key_of(measurement)).second) continue;
    spent.wall_s += row.seconds;
    spent.trials += row.event == targets::BatchEvent::race ? 0 : 1;
    fresh.emplace_back(batch.candidates[row.candidate].trace, std::move(measurement));
  }
  report.rows = static_cast<int>(fresh.size());
  if (fresh.empty()) return Ok{};
  return database.add_measurements(t.key, t.canonical_text, t.source_text, fresh, spent);
}

}  // namespace

// Times of elsewhere are believed where nothing else is known. Where this machine runs the kernels, the winner meets
// here what it is to replace: results of a machine of the same kind say little of this one, and forged ones nothing.
Result<std::optional<Timing>> Tuner::Impl::beside_served_here(const Task& t, const LoopNest& nest,
                                                              const TuneOptions& tune_options) {
  if (!compiler.kernels_run_here() || is_emulated(t.key)) return std::optional<Timing>();
  auto rival = planner.plan(t, tune_options);
  if (!rival) return rival.error();
  if (hash(rival->nest) == hash(nest)) return std::optional<Timing>();
  auto base = planner.base_nest(t);
  if (!base) return base.error();
  if (auto begun = begin_lab(t, *base); !begun) return begun.error();
  auto pairs = pairs_of_nests(*runner, compiler, nest, rival->nest, t.key.threads);
  if (!pairs) return pairs.error();
  return std::optional(std::move(*pairs));
}

Result<ObserveReport> Tuner::Impl::observe(const std::string& path, const TuneOptions& tune_options) {
  const auto batch = targets::read_batch(path);
  if (!batch) return batch.error();
  if (batch->origin.fingerprint != fingerprint(compiler.target()))
    return fail("PW0616",
                "work file " + path + " is for target " + batch->origin.target + " (" + batch->origin.fingerprint +
                    "), and this is " + fingerprint(compiler.target()),
                {"without --target the file's counts; records of another machine are no answer for this one"});
  const auto results = targets::read_results(targets::results_path(path), *batch);
  if (!results) return results.error();
  if (!*results)
    return fail("PW0615", "results " + targets::results_path(path) + ": there are none",
                {"polyweft measure " + path + " makes them"});
  auto program = program_of(batch->origin);
  if (!program) return program.error();
  TuneOptions options = tune_options;
  options.parameters = {batch->origin.parameters.begin(), batch->origin.parameters.end()};
  options.cls = batch->origin.cls;
  options.threads = batch->origin.threads;
  auto t = planner.task(*program, options);
  if (!t) return t.error();
  if (auto ok = planner.checked(*t); !ok) return ok.error();
  if ((*results)->is_emulated)
    t->key = emulated(t->key);
  else if (compiler.runner_device().are_many)
    t->key = on_device(t->key, (*results)->device);
  auto database = stored.open();
  if (!database) return database.error();
  if (auto writable = (*database)->is_writable(); !writable) return writable.error();
  BatchRace race(*batch, (*results)->is_emulated);
  for (const BatchRow& row : (*results)->rows) race.tell(row);
  const std::vector<BatchRow> rows = told_rows_of(*batch, race);
  ObserveReport report;
  report.candidates = static_cast<int>(batch->candidates.size());
  report.measured = static_cast<int>(race.measured());
  for (uint32_t k = 0; k < batch->candidates.size(); ++k) {
    const auto& told = race.told(k);
    report.failed += told && !is_right(*told) && told->outcome.status != RunStatus::slower;
  }
  report.device = (*results)->device;
  report.host = (*results)->host;
  report.is_emulated = (*results)->is_emulated;
  if (auto kept = keep_rows(**database, *t, *batch, rows, report); !kept) return kept.error();
  if (race.next()) return report;  // not all was measured
  const std::vector<Winner> winners = winners_of(*batch, race);
  auto settled = settle(
      winners, report.failed, [&](const Winner& winner) { return isl.prove(*t, print(winner.nest)); }, NestsFrom::file);
  if (!settled) return settled.error();
  report.refuted = settled->refuted;
  const Winner& winner = winners[settled->winner];
  auto old = (*database)->best(t->key, t->canonical_text);
  if (!old) return old.error();
  if (*old && (*old)->measurement.nest_hash == winner.measurement.nest_hash) {
    report.record = std::move(**old);
    return report;
  }
  auto here = beside_served_here(*t, winner.nest, options);
  if (!here) return here.error();
  if (*here && ((*here)->ratio <= 0 || (*here)->ratio_lo > 1)) {
    if (this->options.notice) this->options.notice(slower_here(**here));
    report.record = std::move(*old);
    return report;
  }
  TuningRecord record;
  record.key = t->key;
  record.canonical_text = t->canonical_text;
  record.program_text = t->source_text;
  record.program_name = t->source.name;
  record.trace_text = winner.trace;
  record.nest_text = print(winner.nest);
  record.certificate = settled->certificate;
  record.measurement = winner.measurement;
  const double ratio = *here ? (*here)->ratio : settled->winner == 0 ? ratio_to_served(*batch, race) : 0;
  if (*old) record.measurement.timing = told_beside((*old)->measurement.timing, record.measurement.timing, ratio);
  auto id = (*database)->insert(record);
  if (!id) return id.error();
  record.id = *id;
  if (record.certificate.verdict == Verdict::proven) trust.vouch(record);
  report.record = std::move(record);
  report.is_new = true;
  return report;
}

}  // namespace polyweft
