// What both strategies share: scored points without duplicates, what was proposed, what was measured, and the
// correction a sketch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "polyweft/search.h"
#include "search/residuals.h"
#include "support/rng.h"

namespace polyweft::search {

class Pool {
 public:
  explicit Pool(std::vector<SketchSpace> sketches);

  /// Scores a point unless it was scored before. True when it is new and admissible. `residual`: ratio / predicted_ns
  /// of a relative, which says more about this point than the sketch's median; 0 where there is none.
  bool add(uint32_t sketch, const std::vector<int64_t>& decisions, double residual = 0);
  /// Points of all sketches, saturating.
  int64_t size_of_space() const;
  /// Scores every point in lexicographic order.
  void enumerate();
  /// Scores up to `count` random points, sketches in turn.
  void sample(int64_t count, Rng& rng);

  /// The n best unproposed points by corrected prediction, of which a share epsilon at random; marks them proposed.
  std::vector<Candidate> propose(size_t n, double epsilon, Rng& rng);
  void observe(const Observation& observation);

  const std::vector<SketchSpace>& sketches() const { return sketches_; }
  /// Measured and correct, fastest first, of one sketch.
  std::vector<Observation> survivors(uint32_t sketch) const;
  int64_t scored() const { return scored_; }

 private:
  struct Open {
    Candidate candidate;
    double residual = 0;
  };
  std::vector<Candidate> take_best(size_t n);
  /// By what each sketch's predictions are multiplied.
  std::vector<double> corrections() const;

  std::vector<SketchSpace> sketches_;
  std::vector<std::set<std::vector<int64_t>>> seen_;  // a sketch: decision vectors that were scored
  std::set<std::string> hashes_;                      // nests that stand in the pool or were proposed
  std::vector<Open> open_;                            // scored, not proposed
  std::vector<Observation> observations_;
  std::vector<Residuals> residuals_;  // a sketch
  int64_t scored_ = 0;
};

}  // namespace polyweft::search
