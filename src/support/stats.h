// Statistics of timings on machines that drift, switch between speeds and are interrupted. Medians and order statistics
// only: no assumption about the distribution, no resampling, deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polyweft {

/// The middle value; the mean of the two middle ones for an even count. Samples must not be empty.
double median(std::vector<double> samples);

struct Interval {
  double lo = 0, estimate = 0, hi = 0;
  bool operator==(const Interval&) const = default;
};
/// The median with an interval that holds the true median with at least this confidence (order statistics and the
/// binomial distribution: the sign test inverted; Conover, "Practical Nonparametric Statistics", 3.2). With too few
/// samples for the confidence: [0, inf].
Interval median_interval(std::vector<double> samples, double confidence);

/// What a comparison of a candidate with an incumbent came to. Ratio = candidate time / incumbent time.
enum class RaceVerdict : uint8_t { undecided = 0, faster = 1, slower = 2, tie = 3, too_noisy = 4 };
const char* name_of(RaceVerdict verdict);

struct RaceOptions {
  double confidence =
      0.99;  ///< of each look; the looks are few (counts grow by half), so the whole race stays above 95 %
  double tie_width = 0.01;  ///< an interval inside 1 -+ this is a tie
  double drop_ratio =
      1.25;  ///< after the first look-in: fastest candidate run over this times the fastest incumbent run ends the race
  size_t first_look = 8;  ///< pairs
  size_t max_pairs = 200;
  bool is_steady = false;  ///< samples take so long that a pair alone says much: the race may end before three pairs
  double step = 0;         ///< of the clock, relative to both samples of a pair: no interval is narrower than that
  bool is_exact = false;   ///< the clock counts: one pair says all
};

/// A race of interleaved pairs. Samples are taken in pairs next to each other, so that drift and speed steps cancel in
/// each pair's ratio; the median of the ratios ignores the pairs that a step fell into.
class PairRace {
 public:
  explicit PairRace(RaceOptions options = {}) : options_(options), next_look_(options.first_look) {}

  void add(double candidate, double incumbent);
  /// The verdict so far; `undecided`: go on. Only decides at the planned counts.
  RaceVerdict look();
  /// The verdict when no more samples can be had: `undecided` becomes `too_noisy`.
  RaceVerdict close();
  /// How many pairs to take before the next look.
  size_t wanted() const { return next_look_ > ratios_.size() ? next_look_ - ratios_.size() : 0; }

  /// Widened by the clock's step; of an exact clock the ratio itself.
  Interval ratio() const;
  size_t pairs() const { return ratios_.size(); }
  const std::vector<double>& candidate_samples() const { return candidate_; }
  const std::vector<double>& incumbent_samples() const { return incumbent_; }
  /// Clearly slower already: the candidate's fastest run exceeds drop_ratio times the incumbent's fastest. Of steady
  /// samples four times drop_ratio's excess in one pair is enough, or that once in each of two, or a twentieth in each
  /// of three.
  bool hopeless() const;
  /// Of a race that ended as hopeless, whose pairs are too few for an interval: the least ratio of a pair, or what is
  /// just above 1.
  double least_when_slower() const;
  /// Of steady samples, four pairs in whose middle the candidate is not ahead by a hundredth and a half: no number of
  /// further pairs that a search can afford makes it a winner worth having.
  bool is_about_even() const;

 private:
  RaceVerdict judge() const;
  bool is_clear() const;
  RaceOptions options_;
  size_t next_look_;
  RaceVerdict verdict_ = RaceVerdict::undecided;
  std::vector<double> candidate_, incumbent_, ratios_;
};

}  // namespace polyweft
