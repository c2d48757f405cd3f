// Evolution: measured survivors of a family are the parents. A child differs in one decision (usually by one neighbour)
// or takes each decision from one of two parents of the same sketch; with a derivation there are children that differ
// in structure, of the fastest of all families. Children are scored by the corrected model; only the best are measured.
#include <algorithm>
#include <cmath>

#include "search/pool.h"

namespace polyweft {
namespace search {
namespace {

constexpr size_t kParents = 8;
constexpr double kCrossover = 0.3;
constexpr double kJump = 0.2;  // mutations that go anywhere instead of to a neighbour
constexpr double kExploration = 0.3;
constexpr double kCrossedStructures = 0.2;
constexpr size_t kEnumerated = 4;  // one of so many is a point of the first sketches, where there are derived ones
constexpr int kMostRounds = 12;    // of derivations without anything new, before there is nothing left to try
constexpr size_t kMostOpenDerived = 2'000;
constexpr int64_t kWorkOfFirstAsk = 200'000, kWorkOfAsk = 50'000;  // in Score::work: some 400 and 100 ms

class Evolve final : public Strategy {
 public:
  Evolve(std::vector<SketchSpace> sketches, const SearchOptions& options, Derivation* derivation)
      : options_(options),
        derivation_(derivation),
        rng_(options.seed),
        pool_(std::move(sketches)),
        tries_(pool_.families(), 0) {}

  std::vector<Candidate> ask(size_t n) override {
    if (pool_.families() == 0) return {};
    look_around();
    parents_.clear();
    for (uint32_t f = 0; f < pool_.families(); ++f) parents_.push_back(pool_.parents(f));
    fastest_ = pool_.fastest();
    weigh_families();
    const int64_t end = pool_.work() + kWorkOfAsk;
    for (int64_t i = 0; i < options_.scores_per_ask && pool_.work() < end; ++i) breed();
    derive();
    for (int round = 0; derivation_ && !pool_.has_open() && round < kMostRounds; ++round) derive();
    return pool_.propose({n, derivation_ ? n - n / kEnumerated : 0, options_.epsilon}, rng_);
  }
  void tell(const std::vector<Observation>& observations) override {
    for (const auto& o : observations) {
      pool_.observe(o);
      ++tries_[pool_.family_of(o.candidate.sketch)];
      ++total_;
    }
  }
  int64_t scored() const override { return pool_.scored(); }
  std::string name() const override { return "evolve"; }

 private:
  /// The whole space where it is small, else some of it: a share with each batch, for a score of a large nest takes
  /// milliseconds, and while thousands are made nothing is measured.
  void look_around() {
    int64_t work = kWorkOfAsk;
    if (looking_ == Looking::not_begun) {
      work = kWorkOfFirstAsk;
      pool_.add_starts();
      looking_ = pool_.size_of_space() <= options_.enumeration_limit ? Looking::everywhere : Looking::here_and_there;
    }
    while (looking_ != Looking::done) {
      const bool goes_on = looking_ == Looking::everywhere
                               ? pool_.enumerate_some(work)
                               : pool_.sample_some(work, options_.enumeration_limit / 4, rng_);
      if (!goes_on) looking_ = Looking::done;
      if (pool_.has_open()) return;
    }
  }
  void breed() {
    const uint32_t family = choose_family();
    const auto& parents = parents_[family];
    if (parents.empty()) return pool_.add_random(family, rng_);
    const Observation& parent = one_of_best(parents);
    const Candidate& other = one_of_best(parents).candidate;
    const uint32_t sketch = parent.candidate.sketch;
    std::vector<int64_t> child = parent.candidate.decisions;
    if (other.sketch == sketch && rng_.chance(kCrossover)) cross(child, other.decisions);
    mutate(child, pool_.sketches()[sketch].choices);
    pool_.add(sketch, child, residual_of(parent));
  }
  // Structures near those of the fastest: what a mutation gains adds up over generations, which few trials reach only
  // in one place. Enumerated points try the other families.
  void derive() {
    if (!derivation_ || fastest_.empty()) return;
    for (int64_t i = 0; i < options_.derivations_per_ask; ++i) {
      const auto& others = parents_[rng_.below(parents_.size())];
      const Observation& parent = one_of_best(fastest_);
      const uint64_t seed = rng_();
      auto derived = !others.empty() && rng_.chance(kCrossedStructures)
                         ? derivation_->crossed(parent.candidate, one_of_best(others).candidate, seed)
                         : derivation_->mutated(parent.candidate, seed);
      if (!derived) continue;
      const uint32_t sketch = pool_.add_derived(std::move(derived->space), parent.candidate.sketch);
      pool_.add(sketch, derived->decisions, residual_of(parent));
    }
    for (const uint32_t sketch : pool_.keep_best_derived(kMostOpenDerived)) derivation_->forget(sketch);
  }
  const Observation& one_of_best(const std::vector<Observation>& parents) {
    return parents[rng_.below(std::min(kParents, parents.size()))];
  }
  static double residual_of(const Observation& parent) {
    return parent.candidate.predicted_ns > 0 ? parent.ratio / parent.candidate.predicted_ns : 0;
  }
  void cross(std::vector<int64_t>& child, const std::vector<int64_t>& other) {
    for (size_t c = 0; c < child.size(); ++c)
      if (rng_.chance(0.5)) child[c] = other[c];
  }
  void mutate(std::vector<int64_t>& child, const std::vector<Choice>& choices) {
    if (choices.empty()) return;
    const size_t c = rng_.below(choices.size());
    const auto& values = choices[c].values;
    const auto at = std::find(values.begin(), values.end(), child[c]);
    if (at == values.end() || rng_.chance(kJump)) {
      child[c] = values[rng_.below(values.size())];
      return;
    }
    const auto index = at - values.begin();
    const auto next = index + (rng_.chance(0.5) ? 1 : -1);
    child[c] = values[static_cast<size_t>(
        std::clamp<std::ptrdiff_t>(next, 0, static_cast<std::ptrdiff_t>(values.size()) - 1))];
  }
  // In proportion to a power of UCB1's value on relative speed: the fastest of a family against the fastest of all.
  void weigh_families() {
    constexpr double kPower = 4;
    double fastest = 0;
    std::vector<double> ratios(tries_.size(), 0);
    for (uint32_t f = 0; f < tries_.size(); ++f) {
      if (!parents_[f].empty()) ratios[f] = parents_[f].front().ratio;
      if (ratios[f] > 0 && (fastest == 0 || ratios[f] < fastest)) fastest = ratios[f];
    }
    sums_.clear();
    double total = 0;
    for (uint32_t f = 0; f < tries_.size(); ++f) {
      const double speed = ratios[f] > 0 ? fastest / ratios[f] : 0.2;
      const double value = speed + kExploration * std::sqrt(std::log(1.0 + total_) / (1.0 + tries_[f]));
      sums_.push_back(total += std::pow(value, kPower));
    }
  }
  uint32_t choose_family() {
    const double at = rng_.uniform() * sums_.back();
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin();
    return static_cast<uint32_t>(std::min<std::ptrdiff_t>(found, std::ssize(sums_) - 1));
  }

  SearchOptions options_;
  Derivation* derivation_;
  Rng rng_;
  Pool pool_;
  std::vector<int> tries_;                         // a family
  std::vector<double> sums_;                       // of the families' weights, as of the last batch
  std::vector<std::vector<Observation>> parents_;  // a family, as of the last batch
  std::vector<Observation> fastest_;               // of all families
  int total_ = 0;
  enum class Looking : uint8_t { not_begun, everywhere, here_and_there, done } looking_ = Looking::not_begun;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> evolve(std::vector<SketchSpace> sketches, const SearchOptions& options,
                                 Derivation* derivation) {
  return std::make_unique<search::Evolve>(std::move(sketches), options, derivation);
}

}  // namespace polyweft
