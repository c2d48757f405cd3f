#include "driver/search_parts.h"

#include <algorithm>

#include "driver/first_choices.h"
#include "driver/probed_machine.h"
#include "driver/ratio_chain.h"
#include "driver/seeds.h"
#include "support/stage_times.h"

namespace polyweft {
namespace {

/// Candidates as the search's own model predicts them, which learns from what was measured.
std::vector<Candidate> predicted_by(const CostModel& model, const std::vector<NestTemplate>& templates,
                                    std::vector<Candidate> out) {
  for (Candidate& candidate : out)
    if (auto nest = instantiate(templates[candidate.sketch], candidate.decisions))
      candidate.predicted_ns = model.predict_ns(*nest);
  return out;
}

/// Of schedules that are known: the one that is served, the nearest record's, and the best of a search that was killed.
struct KnownTraces {
  std::string nearest;
  std::vector<std::string> all;
};
Result<KnownTraces> known_traces(const SessionTask& session, const SearchSpaceOfTask& space, const TuneStart& plan,
                                 Database* database) {
  KnownTraces out;
  if (session.served) out.all.push_back(session.served->trace_text);
  if (!space.rehearsed.empty()) out.all.push_back(space.rehearsed);
  if (!database) return out;
  if (plan.nearest && !plan.nearest->differs_in.empty()) {
    auto record = database->record(plan.nearest->id);
    if (!record) return record.error();
    if (*record) out.all.push_back(out.nearest = (*record)->trace_text);
  }
  auto rows = database->measurements(session.task.key);
  if (!rows) return rows.error();
  const std::string fastest = ratios_of(*rows).fastest();
  for (const auto& [trace, measurement] : *rows)
    if (!fastest.empty() && measurement.nest_hash == fastest) {
      out.all.push_back(trace);
      break;
    }
  return out;
}

/// After the best of each way to make code, or before them where the model is sure.
void add_library_seeds(const CostModel& model, const SearchSpaceOfTask& space, TuneWorld& world) {
  constexpr double kSure = 0.7;
  const std::vector<Candidate> seeds = predicted_by(model, space.templates, space.seeds);
  if (seeds.empty()) return;
  const bool is_sure = !world.seeds.empty() && seeds.front().predicted_ns < kSure * world.seeds.front().predicted_ns;
  const auto place = is_sure ? 0 : static_cast<std::ptrdiff_t>(finalists(world.seeds, space.templates).size());
  world.seeds.insert(world.seeds.begin() + place, seeds.begin(), seeds.end());
}

/// At this place or before it.
void add_seed(Candidate seed, size_t place, TuneWorld& world) {
  const auto is_same = [&](const Candidate& c) { return c.nest_hash == seed.nest_hash; };
  const auto found = std::find_if(world.seeds.begin(), world.seeds.end(), is_same);
  const auto at = static_cast<size_t>(found - world.seeds.begin());
  if (at <= place && found != world.seeds.end()) return;
  if (found != world.seeds.end()) world.seeds.erase(found);
  const size_t first = std::min(place, world.seeds.size());
  world.seeds.insert(world.seeds.begin() + static_cast<std::ptrdiff_t>(first), std::move(seed));
}

constexpr double kLongCallNs = 1e9;
constexpr const char* kScoring = "search: scoring candidates";

/// Says what its processor time goes for.
class CountedStrategy : public Strategy {
 public:
  explicit CountedStrategy(std::unique_ptr<Strategy> strategy) : strategy_(std::move(strategy)) {}
  std::vector<Candidate> ask(size_t n) override {
    const StageTimes::Running part(kScoring);
    return strategy_->ask(n);
  }
  void tell(const std::vector<Observation>& observations) override {
    const StageTimes::Running part("search: learning from times");
    strategy_->tell(observations);
  }
  int64_t scored() const override { return strategy_->scored(); }
  std::string name() const override { return strategy_->name(); }

 private:
  std::unique_ptr<Strategy> strategy_;
};

Machine calibrated_machine(const SessionTask& session, const SessionServices& services, const TuneStart& plan,
                           const Machine& machine) {
  const double f32_peak = plan.peak_gflops / peak_factor(session.task.program, services.compiler.target());
  return calibrated(machine, f32_peak, plan.memory_gb_s);
}

}  // namespace

SearchParts::SearchParts(const SessionTask& session, const SessionServices& services, const SearchSpaceOfTask& space,
                         Rates rates)
    : session_(session),
      services_(services),
      space_(space),
      plan_(tune_start(session.task, session.lab.arguments, space.templates, services.compiler, services.database,
                       rates)),
      machine_(on_cores(machine_for_search(services.compiler.target(), services.database, session.options,
                                           services.compiler.call() ? services.compiler.call()->stop : Stop()),
                        session.task.key.threads)),
      model_(analytic_model(calibrated_machine(session, services, plan_, machine_))),
      scorer_(std::make_shared<Scorer>(*model_)),
      sketches_(space.templates) {}

Status SearchParts::begin() {
  auto traces = known_traces(session_, space_, plan_, services_.database);
  if (!traces) return traces.error();
  nearest_ = traces->nearest;
  for (const std::string& trace : traces->all) {
    if (!space_.replay || candidate_of(trace)) continue;
    if (auto replayed = space_.replay(trace)) sketches_.add(std::move(*replayed));
  }
  std::vector<SketchSpace> spaces;
  for (uint32_t k = 0; k < sketches_.size(); ++k) spaces.push_back(search_space(sketches_[k], scorer_));
  const schedules::Mutator mutator{session_.task.program, session_.task.key.cls, machine_, space_.answers};
  derivation_ = std::make_unique<MutatedSketches>(sketches_, mutator, services_.compiler.target(), scorer_);
  const StageTimes::Running part(kScoring);
  strategy_ =
      std::make_unique<CountedStrategy>(evolve(std::move(spaces), {.seed = session_.options.seed}, derivation_.get()));
  return Ok{};
}

std::optional<Candidate> SearchParts::candidate_of(const std::string& trace) {
  if (auto seed = seed_of(trace, space_.templates, *model_)) return seed;
  const auto sketch = sketches_.added(trace);
  if (!sketch) return std::nullopt;
  std::vector<int64_t> decisions = values_of(sketches_[*sketch].trace);
  const auto score = scorer_->score(sketches_[*sketch], decisions);
  return score ? std::optional<Candidate>({*sketch, decisions, score->predicted_ns, score->nest_hash}) : std::nullopt;
}

void SearchParts::put_seeds(TuneWorld& world) {
  world.candidate_of = [this](const std::string& trace) { return candidate_of(trace); };
  world.seeds = predicted_by(*model_, space_.templates, space_.choices);
  add_library_seeds(*model_, space_, world);
  if (auto seed = candidate_of(nearest_)) add_seed(std::move(*seed), 1, world);
  if (auto seed = candidate_of(space_.rehearsed)) {
    add_seed(std::move(*seed), 0, world);
    world.calls_are_long = world.seeds.front().predicted_ns > kLongCallNs;
  }
}

}  // namespace polyweft
