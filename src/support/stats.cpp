#include "support/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "polyweft/result.h"

namespace polyweft {
namespace {

/// log of P(Binomial(n, 1/2) = k).
double log_half_binomial(size_t n, size_t k) {
  const auto N = static_cast<double>(n), K = static_cast<double>(k);
  return std::lgamma(N + 1) - std::lgamma(K + 1) - std::lgamma(N - K + 1) - N * std::log(2.0);
}

/// The largest r with P(Binomial(n, 1/2) < r) <= alpha / 2; 0 when even r = 1 is too much. The r-th smallest and r-th
/// largest of n samples then enclose the median with confidence 1 - alpha.
size_t enclosing_rank(size_t n, double alpha) {
  double below = 0;
  size_t r = 0;
  while (r < n / 2) {
    below += std::exp(log_half_binomial(n, r));
    if (below > alpha / 2) break;
    ++r;
  }
  return r;
}

}  // namespace

double median(std::vector<double> samples) {
  PW_CHECK(!samples.empty());
  const size_t middle = samples.size() / 2;
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(middle), samples.end());
  const double upper = samples[middle];
  if (samples.size() % 2 == 1) return upper;
  return (*std::max_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(middle)) + upper) / 2;
}

Interval median_interval(std::vector<double> samples, double confidence) {
  if (samples.empty()) return {0, 0, std::numeric_limits<double>::infinity()};
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  const double estimate = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
  const size_t rank = enclosing_rank(n, 1 - confidence);
  if (rank == 0) return {0, estimate, std::numeric_limits<double>::infinity()};
  return {samples[rank - 1], estimate, samples[n - rank]};
}

const char* name_of(RaceVerdict verdict) {
  switch (verdict) {
    case RaceVerdict::undecided:
      return "undecided";
    case RaceVerdict::faster:
      return "faster";
    case RaceVerdict::slower:
      return "slower";
    case RaceVerdict::tie:
      return "tie";
    case RaceVerdict::too_noisy:
      return "too noisy";
  }
  return "unknown";
}

void PairRace::add(double candidate, double incumbent) {
  candidate_.push_back(candidate);
  incumbent_.push_back(incumbent);
  ratios_.push_back(candidate / incumbent);
}

Interval PairRace::ratio() const {
  if (options_.is_exact && !ratios_.empty()) return {ratios_.front(), ratios_.front(), ratios_.front()};
  Interval out = median_interval(ratios_, options_.confidence);
  out.lo *= std::max(0.0, 1 - options_.step);
  out.hi *= 1 + options_.step;
  return out;
}

bool PairRace::is_clear() const {
  constexpr double kInEachOfThree = 1.05;
  if (!options_.is_steady || ratios_.empty()) return false;
  const double least = *std::min_element(ratios_.begin(), ratios_.end());
  if (ratios_.size() == 1) return least > 1 + 4 * (options_.drop_ratio - 1);
  return least > (ratios_.size() == 2 ? options_.drop_ratio : kInEachOfThree);
}

bool PairRace::hopeless() const {
  if (is_clear()) return true;
  if (ratios_.size() < 3) return false;
  const double candidate = *std::min_element(candidate_.begin(), candidate_.end());
  const double incumbent = *std::min_element(incumbent_.begin(), incumbent_.end());
  return candidate > options_.drop_ratio * incumbent && median(ratios_) > options_.drop_ratio;
}

double PairRace::least_when_slower() const {
  constexpr double kJustAbove = 1.001;
  if (ratios_.empty()) return kJustAbove;
  return std::max(kJustAbove, *std::min_element(ratios_.begin(), ratios_.end()));
}

bool PairRace::is_about_even() const {
  constexpr size_t kLeast = 4;
  constexpr double kWorthHaving = 0.985;
  return options_.is_steady && ratios_.size() >= kLeast && median(ratios_) > kWorthHaving;
}

RaceVerdict PairRace::judge() const {
  const Interval r = ratio();
  if (r.hi < 1) return RaceVerdict::faster;
  if (r.lo > 1) return RaceVerdict::slower;
  if (options_.is_exact) return RaceVerdict::tie;
  if (r.lo > 1 - options_.tie_width && r.hi < 1 + options_.tie_width) return RaceVerdict::tie;
  return RaceVerdict::undecided;
}

RaceVerdict PairRace::look() {
  if (verdict_ != RaceVerdict::undecided || ratios_.size() < next_look_) return verdict_;
  next_look_ += std::max<size_t>(next_look_ / 2, 1);
  verdict_ = judge();
  if (verdict_ == RaceVerdict::undecided && ratios_.size() >= options_.max_pairs) verdict_ = RaceVerdict::too_noisy;
  return verdict_;
}

RaceVerdict PairRace::close() {
  if (verdict_ == RaceVerdict::undecided) verdict_ = judge();
  if (verdict_ == RaceVerdict::undecided) verdict_ = RaceVerdict::too_noisy;
  return verdict_;
}

}  // namespace polyweft
