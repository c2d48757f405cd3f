#include "search/pool.h"

#include <algorithm>
#include <limits>

namespace polyweft::search {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

int64_t points_of(const SketchSpace& sketch) {
  int64_t product = 1;
  for (const auto& choice : sketch.choices) {
    const auto count = static_cast<int64_t>(choice.values.size());
    if (count != 0 && product > kHuge / count) return kHuge;
    product *= count;
  }
  return product;
}

}  // namespace

Pool::Pool(std::vector<SketchSpace> sketches)
    : sketches_(std::move(sketches)), seen_(sketches_.size()), residuals_(sketches_.size()) {}

bool Pool::add(uint32_t sketch, const std::vector<int64_t>& decisions, double residual) {
  if (!seen_[sketch].insert(decisions).second) return false;
  ++scored_;
  auto score = sketches_[sketch].score(decisions);
  if (!score || !hashes_.insert(score->nest_hash).second) return false;
  open_.push_back({{sketch, decisions, score->predicted_ns, score->nest_hash}, residual});
  return true;
}

int64_t Pool::size_of_space() const {
  int64_t total = 0;
  for (const auto& sketch : sketches_) {
    const int64_t points = points_of(sketch);
    total = total > kHuge - points ? kHuge : total + points;
  }
  return total;
}

void Pool::enumerate() {
  for (uint32_t s = 0; s < sketches_.size(); ++s) {
    const auto& choices = sketches_[s].choices;
    const int64_t points = points_of(sketches_[s]);
    for (int64_t number = 0; number < points; ++number) {
      std::vector<int64_t> decisions(choices.size());
      int64_t rest = number;
      for (size_t c = choices.size(); c-- > 0;) {
        const auto count = static_cast<int64_t>(choices[c].values.size());
        decisions[c] = choices[c].values[static_cast<size_t>(rest % count)];
        rest /= count;
      }
      add(s, decisions);
    }
  }
}

void Pool::sample(int64_t count, Rng& rng) {
  for (int64_t n = 0; n < count; ++n) {
    const auto s = static_cast<uint32_t>(n % static_cast<int64_t>(sketches_.size()));
    std::vector<int64_t> decisions;
    bool empty = false;
    for (const auto& choice : sketches_[s].choices) {
      empty |= choice.values.empty();
      if (!empty) decisions.push_back(choice.values[rng.below(choice.values.size())]);
    }
    if (!empty) add(s, decisions);
  }
}

// A sketch that nobody timed yet is expected to be as the others are; candidates of one that fails often are worth
// less.
std::vector<double> Pool::corrections() const {
  Residuals all;
  for (const Residuals& sketch : residuals_)
    for (const double residual : sketch.exact()) all.add(residual);
  const double typical = all.median(1);
  std::vector<double> out;
  for (const Residuals& sketch : residuals_) out.push_back(sketch.median(typical) / sketch.success());
  return out;
}

// Each sketch not measured yet shows its best point first: a model that is wrong about a whole sketch is found out
// early.
std::vector<Candidate> Pool::take_best(size_t n) {
  const std::vector<double> by_sketch = corrections();
  const auto expected = [&](const Open& open) {
    return open.candidate.predicted_ns * (open.residual > 0 ? open.residual : by_sketch[open.candidate.sketch]);
  };
  std::stable_sort(open_.begin(), open_.end(), [&](const Open& a, const Open& b) { return expected(a) < expected(b); });
  std::vector<Candidate> out;
  std::vector<Open> rest, left;
  std::set<uint32_t> shown;
  for (auto& open : open_) {
    const uint32_t sketch = open.candidate.sketch;
    const bool first_of_new_sketch = residuals_[sketch].tries() == 0 && shown.insert(sketch).second;
    if (first_of_new_sketch && out.size() < n)
      out.push_back(std::move(open.candidate));
    else
      rest.push_back(std::move(open));
  }
  for (auto& open : rest) {
    if (out.size() < n)
      out.push_back(std::move(open.candidate));
    else
      left.push_back(std::move(open));
  }
  open_ = std::move(left);
  return out;
}

std::vector<Candidate> Pool::propose(size_t n, double epsilon, Rng& rng) {
  size_t random = 0;
  for (size_t i = 1; i < n; ++i) random += rng.chance(epsilon);
  std::vector<Candidate> out = take_best(n - random);
  for (size_t i = 0; i < random && !open_.empty(); ++i) {
    const size_t at = rng.below(open_.size());
    out.push_back(std::move(open_[at].candidate));
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

void Pool::observe(const Observation& observation) {
  observations_.push_back(observation);
  Residuals& residuals = residuals_[observation.candidate.sketch];
  const bool is_known = observation.candidate.predicted_ns > 0 && observation.ratio > 0;
  const double residual = is_known ? observation.ratio / observation.candidate.predicted_ns : 0;
  if (observation.status == RunStatus::slower && is_known)
    residuals.add_bound(residual);
  else if (observation.status == RunStatus::ok && is_known)
    residuals.add(residual);
  else if (observation.status != RunStatus::ok && observation.status != RunStatus::slower)
    residuals.add_failure();
  hashes_.insert(observation.candidate.nest_hash);
  seen_[observation.candidate.sketch].insert(observation.candidate.decisions);
  std::erase_if(open_, [&](const Open& open) { return open.candidate.nest_hash == observation.candidate.nest_hash; });
}

std::vector<Observation> Pool::survivors(uint32_t sketch) const {
  std::vector<Observation> out;
  for (const auto& o : observations_)
    if (o.candidate.sketch == sketch && o.status == RunStatus::ok && o.ratio > 0) out.push_back(o);
  std::stable_sort(out.begin(), out.end(),
                   [](const Observation& a, const Observation& b) { return a.ratio < b.ratio; });
  return out;
}

}  // namespace polyweft::search
