// What measurements say about the model's error in one sketch: exact residuals, lower bounds of those that were dropped
// as too slow, and failures.
#pragma once

#include <cstddef>
#include <vector>

namespace polyweft::search {

/// A residual is measured / predicted, in any unit that all sketches share.
class Residuals {
 public:
  void add(double residual) { exact_.push_back(residual); }
  /// Of a candidate that was dropped as too slow: its residual is this or more.
  void add_bound(double residual) { bounds_.push_back(residual); }
  void add_failure() { ++failures_; }

  size_t tries() const { return exact_.size() + bounds_.size() + failures_; }
  const std::vector<double>& exact() const { return exact_; }
  /// The median where bounds count as bounds (Kaplan and Meier, JASA 1958: a dropped candidate says that it lies above
  /// its bound, not where); the greatest value where more than half lies above it. `otherwise` where nothing was timed.
  double median(double otherwise) const;
  /// How often a candidate is expected to run at all, by Laplace's rule: 1 before the first failure.
  double success() const;

 private:
  std::vector<double> exact_, bounds_;
  size_t failures_ = 0;
};

}  // namespace polyweft::search
