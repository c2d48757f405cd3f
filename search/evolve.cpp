// Evolution: measured survivors of a sketch are the parents; a child differs in one decision (usually by one neighbour)
// or takes each decision from one of two parents. Children are scored by the corrected model; only the best are
// measured.
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

class Evolve final : public Strategy {
 public:
  Evolve(std::vector<SketchSpace> sketches, const SearchOptions& options)
      : options_(options), rng_(options.seed), pool_(std::move(sketches)), tries_(pool_.sketches().size(), 0) {
    if (pool_.size_of_space() <= options_.enumeration_limit)
      pool_.enumerate();
    else
      pool_.sample(options_.enumeration_limit / 4, rng_);
  }

  std::vector<Candidate> ask(size_t n) override {
    for (int64_t i = 0; i < options_.scores_per_ask && !pool_.sketches().empty(); ++i) breed();
    return pool_.propose(n, options_.epsilon, rng_);
  }
  void tell(const std::vector<Observation>& observations) override {
    for (const auto& o : observations) {
      pool_.observe(o);
      ++tries_[o.candidate.sketch];
      ++total_;
    }
  }
  int64_t scored() const override { return pool_.scored(); }
  std::string name() const override { return "evolve"; }

 private:
  void breed() {
    const uint32_t sketch = choose_sketch();
    const auto parents = pool_.survivors(sketch);
    if (parents.empty()) return pool_.sample(1, rng_);
    const size_t pool = std::min(kParents, parents.size());
    const Observation& parent = parents[rng_.below(pool)];
    std::vector<int64_t> child = parent.candidate.decisions;
    if (pool > 1 && rng_.chance(kCrossover)) cross(child, parents[rng_.below(pool)].candidate.decisions);
    mutate(child, pool_.sketches()[sketch].choices);
    pool_.add(sketch, child, parent.candidate.predicted_ns > 0 ? parent.ratio / parent.candidate.predicted_ns : 0);
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
  // UCB1 on relative speed: the fastest survivor of a sketch against the fastest of all.
  uint32_t choose_sketch() {
    double fastest = 0;
    for (uint32_t s = 0; s < tries_.size(); ++s)
      if (auto alive = pool_.survivors(s); !alive.empty() && (fastest == 0 || alive.front().ratio < fastest))
        fastest = alive.front().ratio;
    uint32_t best = 0;
    double best_value = -1;
    for (uint32_t s = 0; s < tries_.size(); ++s) {
      const auto alive = pool_.survivors(s);
      const double speed = alive.empty() ? 0.2 : fastest / alive.front().ratio;
      const double value =
          speed + kExploration * std::sqrt(std::log(1.0 + total_) / (1.0 + tries_[s])) + 1e-3 * rng_.uniform();
      if (value > best_value) best = s, best_value = value;
    }
    return best;
  }

  SearchOptions options_;
  Rng rng_;
  Pool pool_;
  std::vector<int> tries_;
  int total_ = 0;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> evolve(std::vector<SketchSpace> sketches, const SearchOptions& options) {
  return std::make_unique<search::Evolve>(std::move(sketches), options);
}

}  // namespace polyweft
