#include "driver/propose_loop.h"

#include "driver/expected_time.h"
#include "driver/ratio_chain.h"
#include "driver/threads.h"

namespace polyweft {
namespace {

using targets::BatchCandidate;
using targets::BatchRole;

constexpr size_t kAsked = 4;
/// Of candidates without code, for each one that has some.
constexpr int kMostFailures = 4;

}  // namespace

ProposeLoop::ProposeLoop(const SessionTask& session, const SessionServices& services, const SearchSpaceOfTask& space,
                         SearchParts& parts)
    : session_(session), services_(services), space_(space), parts_(parts), limit_(session.options.max_workspace) {}

Status ProposeLoop::learn() {
  if (!services_.database) return Ok{};
  auto rows = services_.database->measurements(session_.task.key);
  if (!rows) return rows.error();
  rows_ = std::move(*rows);
  for (const auto& [trace, measurement] : rows_) {
    const Measurement*& known = known_[measurement.nest_hash];
    if (!known || measurement.status == RunStatus::ok) known = &measurement;
    is_measured_ |= measurement.status == RunStatus::ok;
  }
  tell_known();
  return Ok{};
}

// Ratios of pairs, as a search tells them that measures by itself.
void ProposeLoop::tell_known() {
  RatioChain chain = ratios_of(rows_);
  chain.begin_with(chain.fastest());
  std::vector<Observation> observations;
  std::set<std::string> told;
  for (const auto& [trace, measurement] : rows_) {
    const Measurement& of_nest = *known_.at(measurement.nest_hash);
    if (!told.insert(measurement.nest_hash).second) continue;
    auto candidate = parts_.candidate_of(trace);
    if (!candidate || candidate->nest_hash != measurement.nest_hash) continue;
    const double ratio = measurement.nest_hash == chain.sentinel() ? 1 : chain.ratio_of(measurement.nest_hash);
    observations.push_back({std::move(*candidate), of_nest.status, ratio});
  }
  parts_.strategy().tell(observations);
}

double ProposeLoop::expected(const LoopNest& nest, double predicted_ns) const {
  if (!services_.compiler.is_emulated()) return predicted_ns;
  const auto ns = expected_ns(services_.compiler, parts_.model(), nest, session_.task.key.threads);
  return ns ? *ns : predicted_ns;
}

void ProposeLoop::add(const LoopNest& nest, BatchCandidate candidate) {
  const bool is_asked_for = candidate.role == BatchRole::served || candidate.role == BatchRole::base;
  auto kernel =
      services_.compiler.for_runner(on_threads(nest, session_.task.key.threads),
                                    is_asked_for ? CompileService::Spills::allow : CompileService::Spills::refuse);
  if (kernel)
    candidate.kernel = std::move(*kernel);
  else
    candidate.problem = kernel.error().message;
  candidate.predicted_ns = expected(nest, candidate.predicted_ns);
  candidate.nest_text = print(nest);
  taken_.insert(candidate.nest_hash);
  out_.push_back(std::move(candidate));
}

// What is served now is the first to beat; its time of another hour does not count.
void ProposeLoop::take_served() {
  if (!session_.served) return;
  auto nest = parse_loop_nest(session_.served->nest_text);
  if (!nest) return;
  BatchCandidate candidate;
  candidate.nest_hash = hash(*nest);
  candidate.trace = session_.served->trace_text;
  candidate.strategy = "served";
  candidate.predicted_ns = session_.served->measurement.predicted_ns;
  candidate.role = BatchRole::served;
  add(*nest, std::move(candidate));
}

void ProposeLoop::take(const Candidate& candidate, BatchRole role) {
  if (taken_.contains(candidate.nest_hash)) return;
  if (role == BatchRole::candidate && known_.contains(candidate.nest_hash)) return;
  const NestTemplate& sketch = parts_.sketches()[candidate.sketch];
  const auto nest = instantiate(sketch, candidate.decisions);
  if (!nest || !limit_.admits(*nest)) return;
  BatchCandidate made;
  made.nest_hash = candidate.nest_hash;
  made.trace = trace_text(sketch, candidate.decisions);
  made.strategy = role == BatchRole::first_choice ? "first choice" : parts_.strategy().name();
  made.predicted_ns = candidate.predicted_ns;
  made.role = role;
  add(*nest, std::move(made));
  made_ += !out_.back().kernel.bytes.empty();
}

// Where nothing was measured yet the model's word is all that children can be made of.
void ProposeLoop::take_batch(const std::vector<Candidate>& batch) {
  std::vector<Observation> observations;
  for (const Candidate& candidate : batch) {
    if (made_ >= wanted_) break;
    const size_t before = out_.size();
    take(candidate, BatchRole::candidate);
    if (out_.size() == before) continue;
    const bool is_built = !out_.back().kernel.bytes.empty();
    if (first_predicted_ns_ <= 0) first_predicted_ns_ = candidate.predicted_ns;
    if (!is_built)
      observations.push_back({candidate, RunStatus::build_failed, 0});
    else if (!is_measured_ && first_predicted_ns_ > 0)
      observations.push_back({candidate, RunStatus::ok, candidate.predicted_ns / first_predicted_ns_});
  }
  parts_.strategy().tell(observations);
}

Result<std::vector<BatchCandidate>> ProposeLoop::run(int count) {
  if (auto learned = learn(); !learned) return learned.error();
  TuneWorld world;
  parts_.put_seeds(world);
  take_served();
  for (const Candidate& choice : space_.choices) {
    const size_t before = out_.size();
    take(choice, BatchRole::first_choice);
    if (out_.size() > before && !out_.back().kernel.bytes.empty()) break;
  }
  wanted_ = made_ + count;
  take_batch(world.seeds);
  while (made_ < wanted_ && static_cast<int>(out_.size()) < kMostFailures * wanted_ + kMostFailures) {
    const auto batch = parts_.strategy().ask(kAsked);
    if (batch.empty()) {
      is_exhausted_ = true;
      break;
    }
    take_batch(batch);
  }
  if (!services_.compiler.has_reference_of_its_kind() || taken_.contains(hash(session_.reference.nest))) return out_;
  BatchCandidate base;
  base.nest_hash = hash(session_.reference.nest);
  base.trace = session_.reference.trace;
  base.strategy = "base";
  base.role = BatchRole::base;
  add(session_.reference.nest, std::move(base));
  return out_;
}

}  // namespace polyweft
