#include "replay/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "support/rng.h"

namespace polyweft::replay {
namespace {

constexpr size_t kBatch = 4;         // of src/driver/tune_loop.cpp
constexpr double kDropRatio = 1.25;  // of src/tools/runner_trial.cpp

/// Standard normal (Box and Muller 1958).
double normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
  return radius * std::cos(2 * std::numbers::pi * rng.uniform());
}

/// A search takes some ten times as many pairs as a recording.
double with_noise(const RecordedCandidate& recorded, Rng& rng) {
  constexpr double kHalfWidth = 1.96;  // standard deviations in half of a 95 % interval
  constexpr double kMorePairs = 10;
  return recorded.ratio * std::exp(normal(rng) * recorded.spread / kHalfWidth / std::sqrt(kMorePairs));
}

class RandomOrder final : public Strategy {
 public:
  RandomOrder(Replay& replay, uint64_t seed) : replay_(replay), rng_(seed) {
    const RecordedSpace& space = replay.space();
    for (uint32_t k = 0; k < space.candidates().size(); ++k)
      if (space.structures()[space.candidates()[k].structure].is_first) points_.push_back(k);
  }
  std::vector<Candidate> ask(size_t n) override {
    std::vector<Candidate> out;
    while (out.size() < n)
      if (auto child = rng_.chance(0.5) || points_.empty() ? derived() : std::nullopt)
        out.push_back(std::move(*child));
      else if (points_.empty())
        break;
      else
        out.push_back(point());
    return out;
  }
  void tell(const std::vector<Observation>& observations) override {
    for (const Observation& o : observations) {
      std::erase(points_, number_of(o.candidate));
      tried_.insert(number_of(o.candidate));
      parents_.push_back(o.candidate);
    }
  }
  int64_t scored() const override { return 0; }
  std::string name() const override { return "random"; }

 private:
  Candidate point() {
    std::swap(points_[rng_.below(points_.size())], points_.back());
    const uint32_t number = points_.back();
    points_.pop_back();
    return replay_.candidate(number);
  }
  std::optional<Candidate> derived() {
    constexpr int kTries = 50;
    for (int t = 0; t < kTries && !parents_.empty(); ++t) {
      const Candidate& parent = parents_[rng_.below(parents_.size())];
      const auto child = rng_.chance(0.2) ? replay_.crossed(parent, parent, rng_()) : replay_.mutated(parent, rng_());
      const auto score = child ? child->space.score(child->decisions) : std::nullopt;
      if (!score) continue;
      const auto number = static_cast<uint32_t>(std::stoul(score->nest_hash));
      if (std::erase(points_, number) == 0 && !tried_.insert(number).second) continue;
      return replay_.candidate(number);
    }
    return std::nullopt;
  }

  Replay& replay_;
  Rng rng_;
  std::vector<uint32_t> points_;  ///< of the first sketches, not tried
  std::set<uint32_t> tried_;
  std::vector<Candidate> parents_;
};

}  // namespace

uint32_t number_of(const Candidate& candidate) {
  return static_cast<uint32_t>(std::stoul(candidate.nest_hash));
}

Replay::Replay(const RecordedSpace& space) : space_(space), scored_(std::make_shared<std::set<uint32_t>>()) {}

SketchSpace Replay::sketch(uint32_t structure) {
  return {space_.structures()[structure].choices,
          [this, structure, scored = scored_](const std::vector<int64_t>& decisions) -> std::optional<Score> {
            const auto number = space_.nearest(structure, decisions);
            if (!number) return std::nullopt;
            scored->insert(*number);
            return Score{space_.candidates()[*number].predicted_ns, std::to_string(*number)};
          }};
}

std::vector<SketchSpace> Replay::first_sketches() {
  std::vector<SketchSpace> out;
  for (uint32_t k = 0; k < space_.structures().size(); ++k)
    if (space_.structures()[k].is_first) out.push_back(sketch(k));
  return out;
}

Candidate Replay::candidate(uint32_t number) const {
  const RecordedCandidate& c = space_.candidates()[number];
  return {space_.structures()[c.structure].family, c.decisions, c.predicted_ns, std::to_string(number)};
}

std::vector<Candidate> Replay::first_choices() {
  std::vector<Candidate> out;
  for (const uint32_t number : space_.first_choices()) {
    scored_->insert(number);
    out.push_back(candidate(number));
  }
  return out;
}

std::optional<Derivation::Derived> Replay::derived(const Candidate& parent, EdgeKind kind, uint64_t seed) {
  const auto& relatives = space_.derived_of(number_of(parent), kind);
  if (relatives.empty()) return std::nullopt;
  const uint32_t child = relatives[Rng(seed).below(relatives.size())];
  if (!scored_->insert(child).second) return std::nullopt;
  const RecordedCandidate& recorded = space_.candidates()[child];
  return Derived{sketch(recorded.structure), recorded.decisions};
}

std::optional<Derivation::Derived> Replay::mutated(const Candidate& parent, uint64_t seed) {
  return derived(parent, EdgeKind::mutated, seed);
}

std::optional<Derivation::Derived> Replay::crossed(const Candidate& parent, const Candidate&, uint64_t seed) {
  return derived(parent, EdgeKind::crossed, seed);
}

std::vector<Observation> search(const RecordedSpace& space, const MakeStrategy& make, uint64_t seed, size_t trials) {
  Replay replay(space);
  const auto strategy = make(replay, seed);
  Rng noise = Rng(seed).fork("noise");
  double best = std::numeric_limits<double>::infinity();
  std::vector<Observation> out;
  const auto run = [&](const std::vector<Candidate>& batch) {
    std::vector<Observation> told;
    for (const Candidate& candidate : batch) {
      if (out.size() == trials) break;
      const RecordedCandidate& recorded = space.candidates()[number_of(candidate)];
      Observation o{candidate, recorded.status, 0};
      if (recorded.status == RunStatus::ok || recorded.status == RunStatus::slower) {
        o.ratio = with_noise(recorded, noise);
        if (o.ratio > kDropRatio * best) o.status = RunStatus::slower;
        if (o.ratio < best) o.ratio = with_noise(recorded, noise);  // who wins races again, and that counts
        if (o.status == RunStatus::ok) best = std::min(best, o.ratio);
      }
      told.push_back(o);
      out.push_back(std::move(o));
    }
    strategy->tell(told);
  };
  run(replay.first_choices());
  while (out.size() < trials) {
    const auto batch = strategy->ask(kBatch);
    if (batch.empty()) break;
    run(batch);
  }
  return out;
}

std::vector<double> best_ratios(const RecordedSpace& space, const std::vector<Observation>& told) {
  double best_told = std::numeric_limits<double>::infinity(), best = best_told;
  std::vector<double> out;
  for (const Observation& o : told) {
    if (o.status == RunStatus::ok && o.ratio < best_told)
      best_told = o.ratio, best = space.candidates()[number_of(o.candidate)].ratio;
    out.push_back(best);
  }
  return out;
}

std::unique_ptr<Strategy> random_order(Replay& replay, uint64_t seed) {
  return std::make_unique<RandomOrder>(replay, seed);
}

}  // namespace polyweft::replay
