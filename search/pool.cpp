#include "search/pool.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace polyweft::search {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr double kDropRatio = 1.25;  // as the runner drops candidates
constexpr size_t kManyChoices = 24;

int64_t points_of(const SketchSpace& sketch) {
  int64_t product = 1;
  for (const auto& choice : sketch.choices) {
    const auto count = static_cast<int64_t>(choice.values.size());
    if (count != 0 && product > kHuge / count) return kHuge;
    product *= count;
  }
  return product;
}

/// In lexicographic order.
std::vector<int64_t> point_at(const std::vector<Choice>& choices, int64_t number) {
  std::vector<int64_t> out(choices.size());
  for (size_t c = choices.size(); c-- > 0;) {
    const auto count = static_cast<int64_t>(choices[c].values.size());
    out[c] = choices[c].values[static_cast<size_t>(number % count)];
    number /= count;
  }
  return out;
}

/// Multiples of it modulo `points` are all points, and those that follow each other lie far apart.
int64_t spreading_step(int64_t points) {
  constexpr double kGoldenRatio = 0.6180339887498949;
  auto step = std::max<int64_t>(1, static_cast<int64_t>(kGoldenRatio * static_cast<double>(points)));
  while (std::gcd(step, points) > 1) ++step;
  return step;
}

}  // namespace

Pool::Pool(std::vector<SketchSpace> sketches)
    : sketches_(std::move(sketches)),
      first_sketches_(static_cast<uint32_t>(sketches_.size())),
      family_(sketches_.size()),
      seen_(sketches_.size()),
      residuals_(sketches_.size()) {
  std::iota(family_.begin(), family_.end(), 0);
}

uint32_t Pool::add_derived(SketchSpace space, uint32_t parent) {
  sketches_.push_back(std::move(space));
  family_.push_back(family_[parent]);
  seen_.emplace_back();
  return static_cast<uint32_t>(sketches_.size()) - 1;
}

bool Pool::add(uint32_t sketch, const std::vector<int64_t>& decisions, double residual) {
  if (!seen_[sketch].insert(decisions).second) return false;
  ++scored_;
  auto score = sketches_[sketch].score(decisions);
  work_ += score ? score->work : 1;
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
  for (uint32_t s = 0; s < sketches_.size(); ++s) enumerate(s);
}

void Pool::enumerate(uint32_t sketch) {
  const int64_t points = points_of(sketches_[sketch]);
  for (int64_t number = 0; number < points; ++number) add(sketch, point_at(sketches_[sketch].choices, number));
}

bool Pool::enumerate_some(int64_t work) {
  std::vector<int64_t> points, step;
  for (uint32_t s = 0; s < first_sketches_; ++s) {
    points.push_back(points_of(sketches_[s]));
    step.push_back(spreading_step(points.back()));
  }
  const int64_t rounds = points.empty() ? 0 : *std::max_element(points.begin(), points.end());
  for (const int64_t begin = work_; enumerated_ < rounds && work_ - begin < work; ++enumerated_)
    for (uint32_t s = 0; s < first_sketches_; ++s)
      if (enumerated_ < points[s]) add(s, point_at(sketches_[s].choices, enumerated_ * step[s] % points[s]));
  return enumerated_ < rounds;
}

bool Pool::sample_some(int64_t work, int64_t most, Rng& rng) {
  if (first_sketches_ == 0) return false;
  int64_t tries = 0;
  for (const int64_t begin = work_; tries < most && scored_ < most && work_ - begin < work; ++tries)
    add_random(static_cast<uint32_t>(tries % first_sketches_), rng);
  return scored_ < most;
}

void Pool::add_starts() {
  for (uint32_t s = 0; s < first_sketches_; ++s)
    if (!sketches_[s].start.empty()) add(s, sketches_[s].start);
}

std::optional<std::vector<int64_t>> Pool::random_point(uint32_t sketch, Rng& rng) const {
  std::vector<int64_t> out;
  for (const auto& choice : sketches_[sketch].choices) {
    if (choice.values.empty()) return std::nullopt;
    out.push_back(choice.values[rng.below(choice.values.size())]);
  }
  return out;
}

void Pool::add_random(uint32_t sketch, Rng& rng) {
  if (const auto point = random_point(sketch, rng)) add(sketch, *point);
}

// A sketch of many statements takes long to score: of several the one that begins best alone.
void Pool::descend(int64_t count, Rng& rng) {
  std::optional<uint32_t> best_of_many;
  double best_ns = std::numeric_limits<double>::infinity();
  for (uint32_t s = 0; s < first_sketches_; ++s) {
    if (points_of(sketches_[s]) <= count / first_sketches_) {
      enumerate(s);
    } else if (sketches_[s].choices.size() <= kManyChoices || sketches_[s].start.empty()) {
      descend_in(s, rng);
    } else if (add(s, sketches_[s].start) && open_.back().candidate.predicted_ns < best_ns) {
      best_of_many = s, best_ns = open_.back().candidate.predicted_ns;
    }
  }
  if (best_of_many) walk_from_start(*best_of_many, best_ns);
}

// One decision alone, or two that stand side by side, as the sizes of one statement do: a constraint bounds their
// product.
void Pool::descend_in(uint32_t sketch, Rng& rng) {
  constexpr int kRandom = 64, kMostRandom = 2'000, kRounds = 3;
  constexpr size_t kFewChoices = 12;  // pairs of so many are tried, too
  const std::vector<Choice>& choices = sketches_[sketch].choices;
  std::vector<int64_t> best;
  double best_ns = std::numeric_limits<double>::infinity();
  const auto is_better = [&](const std::vector<int64_t>& point) {
    if (!add(sketch, point) || open_.back().candidate.predicted_ns >= best_ns) return false;
    best = point, best_ns = open_.back().candidate.predicted_ns;
    return true;
  };
  if (!sketches_[sketch].start.empty()) is_better(sketches_[sketch].start);
  const size_t known = open_.size();
  for (int tries = 0; tries < kMostRandom && open_.size() - known < kRandom; ++tries)
    if (const auto point = random_point(sketch, rng)) is_better(*point);
  if (best.empty()) return;
  bool changes = true;
  for (int round = 0; round < kRounds && changes; ++round) {
    changes = false;
    for (size_t c = 0; c < choices.size(); ++c) {
      const size_t last = choices.size() <= kFewChoices && c + 1 < choices.size() ? c + 1 : c;
      const std::vector<int64_t> at = best;
      for (const int64_t one : choices[c].values)
        for (const int64_t other : last == c ? std::vector<int64_t>{one} : choices[last].values) {
          std::vector<int64_t> point = at;
          point[last] = other, point[c] = one;
          changes |= is_better(point);
        }
    }
  }
}

/// Each decision once, a step up or down.
void Pool::walk_from_start(uint32_t sketch, double best_ns) {
  std::vector<int64_t> best = sketches_[sketch].start;
  for (size_t c = 0; c < best.size(); ++c) {
    const std::vector<int64_t>& values = sketches_[sketch].choices[c].values;
    const auto at = static_cast<size_t>(std::find(values.begin(), values.end(), best[c]) - values.begin());
    for (const size_t next : {at + 1, at - 1}) {
      if (next >= values.size()) continue;
      std::vector<int64_t> point = best;
      point[c] = values[next];
      if (!add(sketch, point) || open_.back().candidate.predicted_ns >= best_ns) continue;
      best = point, best_ns = open_.back().candidate.predicted_ns;
      break;
    }
  }
}

/// Sketches whose best point is predicted to take no more than `most` times what the best of all takes.
std::vector<uint32_t> Pool::promising(double most) const {
  std::vector<double> best(first_sketches_, std::numeric_limits<double>::infinity());
  for (const Open& open : open_)
    best[open.candidate.sketch] = std::min(best[open.candidate.sketch], open.candidate.predicted_ns);
  const double limit = most * *std::min_element(best.begin(), best.end());
  std::vector<uint32_t> out;
  for (uint32_t s = 0; s < first_sketches_; ++s)
    if (best[s] <= limit) out.push_back(s);
  return out;
}

// Rules guess sizes well, and the model knows after some points which sketches are far behind.
void Pool::sample_within(int64_t work, int64_t count, Rng& rng) {
  constexpr int64_t kFirst = 12;
  constexpr double kNear = 2;
  if (first_sketches_ == 0) return;
  add_starts();
  for (int64_t n = 0; n < kFirst && work_ < work; ++n)
    for (uint32_t s = 0; s < first_sketches_ && work_ < work; ++s) add_random(s, rng);
  if (open_.empty()) return;
  const std::vector<uint32_t> near = promising(kNear);
  for (int64_t tries = 0; tries < count && work_ < work; ++tries)
    add_random(near[static_cast<size_t>(tries) % near.size()], rng);
}

// A family that nobody timed yet is expected to be as the others are; candidates of one that fails often are worth
// less.
std::vector<double> Pool::corrections() const {
  Residuals all;
  for (const Residuals& family : residuals_)
    for (const double residual : family.exact()) all.add(residual);
  const double typical = all.median(1);
  std::vector<double> out;
  for (const Residuals& family : residuals_) out.push_back(family.median(typical) / family.success());
  return out;
}

double Pool::expected(const Open& open, const std::vector<double>& by_family) const {
  const double residual = open.residual > 0 ? open.residual : by_family[family_[open.candidate.sketch]];
  return open.candidate.predicted_ns * residual;
}

void Pool::sort_open(const std::vector<double>& by_family) {
  std::stable_sort(open_.begin(), open_.end(),
                   [&](const Open& a, const Open& b) { return expected(a, by_family) < expected(b, by_family); });
}

// Each family not measured yet shows its best point first: a model that is wrong about all of it is found out early. Of
// the others those which are expected to be dropped as too slow wait until nothing else is left.
std::vector<Candidate> Pool::take_best(const Shares& shares) {
  const std::vector<double> by_family = corrections();
  sort_open(by_family);
  std::vector<char> is_taken(open_.size(), 0);
  size_t left = shares.n, derived = std::min(shares.derived, shares.n);
  std::vector<Candidate> out;
  const auto take = [&](size_t k) {
    is_taken[k] = 1;
    --left;
    out.push_back(open_[k].candidate);
  };
  std::set<uint32_t> shown;
  for (size_t k = 0; k < open_.size() && left > 0; ++k) {
    const uint32_t sketch = open_[k].candidate.sketch;
    if (!is_derived(sketch) && residuals_[sketch].tries() == 0 && shown.insert(sketch).second) take(k);
  }
  derived = std::min(derived, left);
  for (size_t k = 0; k < open_.size() && derived > 0; ++k)
    if (!is_taken[k] && is_derived(open_[k].candidate.sketch)) take(k), --derived;
  const auto is_hopeful = [&](const Open& open) {
    return best_ratio_ == 0 || expected(open, by_family) < kDropRatio * best_ratio_;
  };
  for (size_t k = 0; k < open_.size() && left > 0 && is_hopeful(open_[k]); ++k)
    if (!is_taken[k] && !is_derived(open_[k].candidate.sketch)) take(k);
  for (size_t k = 0; k < open_.size() && left > 0; ++k)
    if (!is_taken[k]) take(k);
  size_t at = 0;
  std::erase_if(open_, [&](const Open&) { return is_taken[at++] != 0; });
  return out;
}

std::vector<Candidate> Pool::propose(const Shares& shares, Rng& rng) {
  size_t random = 0;
  for (size_t i = 1; i < shares.n; ++i) random += rng.chance(shares.epsilon);
  std::vector<Candidate> out = take_best({shares.n - random, shares.derived, 0});
  for (size_t i = 0; i < random && !open_.empty(); ++i) {
    const size_t at = rng.below(open_.size());
    out.push_back(std::move(open_[at].candidate));
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

std::vector<uint32_t> Pool::keep_best_derived(size_t most) {
  if (open_.size() <= most) return {};
  sort_open(corrections());
  std::set<uint32_t> left_out, kept;
  size_t derived = 0;
  std::erase_if(open_, [&](const Open& open) {
    const uint32_t sketch = open.candidate.sketch;
    if (!is_derived(sketch)) return false;
    const bool is_kept = ++derived <= most;
    (is_kept ? kept : left_out).insert(sketch);
    return !is_kept;
  });
  for (const Observation& o : observations_) kept.insert(o.candidate.sketch);
  std::vector<uint32_t> out;
  for (const uint32_t sketch : left_out)
    if (!kept.contains(sketch)) {
      out.push_back(sketch);
      sketches_[sketch] = SketchSpace{};
    }
  return out;
}

void Pool::observe(const Observation& observation) {
  observations_.push_back(observation);
  if (observation.status == RunStatus::ok && observation.ratio > 0)
    best_ratio_ = best_ratio_ > 0 ? std::min(best_ratio_, observation.ratio) : observation.ratio;
  hashes_.insert(observation.candidate.nest_hash);
  seen_[observation.candidate.sketch].insert(observation.candidate.decisions);
  std::erase_if(open_, [&](const Open& open) { return open.candidate.nest_hash == observation.candidate.nest_hash; });
  // What is derived says of itself and, as a parent, of its children; the family's predictions are those of its first
  // sketch.
  if (is_derived(observation.candidate.sketch)) return;
  Residuals& residuals = residuals_[family_[observation.candidate.sketch]];
  const bool is_known = observation.candidate.predicted_ns > 0 && observation.ratio > 0;
  const double residual = is_known ? observation.ratio / observation.candidate.predicted_ns : 0;
  if (observation.status == RunStatus::slower && is_known)
    residuals.add_bound(residual);
  else if (observation.status == RunStatus::ok && is_known)
    residuals.add(residual);
  else if (observation.status != RunStatus::ok && observation.status != RunStatus::slower)
    residuals.add_failure();
}

std::vector<Observation> Pool::able(std::optional<uint32_t> family) const {
  const auto of = [&](RunStatus status) {
    std::vector<Observation> out;
    for (const auto& o : observations_)
      if ((!family || family_[o.candidate.sketch] == *family) && o.status == status && o.ratio > 0) out.push_back(o);
    std::stable_sort(out.begin(), out.end(),
                     [](const Observation& a, const Observation& b) { return a.ratio < b.ratio; });
    return out;
  };
  auto out = of(RunStatus::ok);
  return out.empty() ? of(RunStatus::slower) : out;
}

std::vector<Observation> Pool::parents(uint32_t family) const {
  return able(family);
}

std::vector<Observation> Pool::fastest() const {
  return able(std::nullopt);
}

}  // namespace polyweft::search
