// What both strategies share: scored points without duplicates, what was proposed, what was measured, and the
// correction a family: a sketch and those that are derived of it.
#pragma once

#include <map>
#include <optional>
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

  /// One more sketch, of the parent's family; its number.
  uint32_t add_derived(SketchSpace space, uint32_t parent);
  /// Scores a point unless it was scored before. True when it is new and admissible. `residual`: ratio / predicted_ns
  /// of a relative, which says more about this point than the family's median; 0 where there is none.
  bool add(uint32_t sketch, const std::vector<int64_t>& decisions, double residual = 0);
  /// Points of all sketches, saturating.
  int64_t size_of_space() const;
  /// Scores every point in lexicographic order.
  void enumerate();
  /// Scores points that lie apart from each other, sketches in turn, from where the last call ended, until that cost
  /// `work`: all of them in the end. False where none is left.
  bool enumerate_some(int64_t work);
  /// Scores random points, sketches in turn, until that cost `work` or `most` were scored in all. False where so many
  /// were.
  bool sample_some(int64_t work, int64_t most, Rng& rng);
  void add_starts();
  int64_t work() const { return work_; }  ///< of all scores so far, in Score::work
  /// Scores a random point of the sketch.
  void add_random(uint32_t sketch, Rng& rng);
  /// Scores the start and some random points of each sketch, then random points of those sketches whose best is near
  /// the best of all, until that cost `work` or there are `count`.
  void sample_within(int64_t work, int64_t count, Rng& rng);
  /// Scores each sketch's points where there are no more than `count` for all of them, else some: see
  /// SearchOptions::descends.
  void descend(int64_t count, Rng& rng);

  /// The best unproposed points by corrected prediction, `derived` of them of derived sketches where there are so many,
  /// and more where the others are expected to be dropped; a share epsilon of all at random. Marks them proposed. Fewer
  /// than n where the others are tried.
  struct Shares {
    size_t n = 0, derived = 0;
    double epsilon = 0;
  };
  std::vector<Candidate> propose(const Shares& shares, Rng& rng);
  bool has_open() const { return !open_.empty(); }
  void observe(const Observation& observation);
  /// Leaves out the worst open points of derived sketches beyond this number; the sketches that nothing is left of.
  std::vector<uint32_t> keep_best_derived(size_t most);

  const std::vector<SketchSpace>& sketches() const { return sketches_; }
  uint32_t families() const { return first_sketches_; }
  uint32_t family_of(uint32_t sketch) const { return family_[sketch]; }
  bool is_derived(uint32_t sketch) const { return sketch >= first_sketches_; }
  /// Measured and correct, fastest first, of one family; where all of them were dropped as too slow, those.
  std::vector<Observation> parents(uint32_t family) const;
  /// The same of all families.
  std::vector<Observation> fastest() const;
  int64_t scored() const { return scored_; }

 private:
  struct Open {
    Candidate candidate;
    double residual = 0;
  };
  /// Those that were correct, fastest first; where there are none those that were too slow.
  std::vector<Observation> able(std::optional<uint32_t> family) const;
  std::vector<Candidate> take_best(const Shares& shares);
  /// Ratio by the corrected prediction; before anything was measured a multiple of it.
  double expected(const Open& open, const std::vector<double>& by_family) const;
  void sort_open(const std::vector<double>& by_family);
  void enumerate(uint32_t sketch);
  void descend_in(uint32_t sketch, Rng& rng);
  std::vector<uint32_t> promising(double most) const;
  void walk_from_start(uint32_t sketch, double best_ns);
  std::optional<std::vector<int64_t>> random_point(uint32_t sketch, Rng& rng) const;
  /// By what each family's predictions are multiplied.
  std::vector<double> corrections() const;

  std::vector<SketchSpace> sketches_;
  uint32_t first_sketches_ = 0;                       // as many families
  std::vector<uint32_t> family_;                      // a sketch
  std::vector<std::set<std::vector<int64_t>>> seen_;  // a sketch: decision vectors that were scored
  std::set<std::string> hashes_;                      // nests that stand in the pool or were proposed
  std::vector<Open> open_;                            // scored, not proposed
  std::vector<Observation> observations_;
  std::vector<Residuals> residuals_;  // a family
  double best_ratio_ = 0;             // 0: nothing was right
  int64_t scored_ = 0, work_ = 0;
  int64_t enumerated_ = 0;  // rounds of enumerate_some
};

}  // namespace polyweft::search
