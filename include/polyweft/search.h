// Search: strategies that propose candidates and learn from what was measured, behind one ask / tell interface.
//
// A strategy sees decision vectors and numbers only: no program, no isl, no target. Given equal seeds and equal
// observations it proposes equal candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/runner.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// An open choice of a sketch: a value out of `values`, which are sorted so that neighbours are alike.
struct Choice {
  std::string name;
  std::vector<int64_t> values;
};
struct Score {
  double predicted_ns = 0;
  std::string nest_hash;  ///< equal hashes are one candidate
  int64_t work = 1;       ///< what scoring cost, in parts of a nest that were looked at
};
/// One sketch. `score` instantiates and predicts; nothing for a decision vector that breaks a constraint. Called often.
struct SketchSpace {
  std::vector<Choice> choices;
  std::function<std::optional<Score>(const std::vector<int64_t>& decisions)> score;
  std::vector<int64_t> start = {};  ///< what the sketch itself says, a value a choice; empty: nothing
};
struct Candidate {
  uint32_t sketch = 0;
  std::vector<int64_t> decisions;  ///< one value a choice
  double predicted_ns = 0;
  std::string nest_hash;
};
/// What a run of a candidate says. Its time is told beside that of the sentinel, the first kernel that a search timed:
/// ratios of pairs chain from each best one to the next, so that no two times of different minutes are compared.
struct Observation {
  Candidate candidate;
  RunStatus status = RunStatus::not_run;
  double ratio = 0;  ///< of `ok` its time over the sentinel's, of `slower` a lower bound of that; 0: not known
};
/// Changes the structure of candidates: makes sketches that no rule proposed from those that there are.
class Derivation {
 public:
  virtual ~Derivation() = default;
  struct Derived {
    SketchSpace space;
    std::vector<int64_t> decisions;  ///< those of the parent, where it has them too
  };
  /// A sketch near the parent's; nothing where the drawn change is refused or gives a nest that was scored before. Its
  /// number is that of all sketches so far. Equal seeds and parents give equal sketches.
  virtual std::optional<Derived> mutated(const Candidate& parent, uint64_t seed) = 0;
  /// The parent's with a part of the other's.
  virtual std::optional<Derived> crossed(const Candidate& parent, const Candidate& other, uint64_t seed) = 0;
  /// A derived sketch that is asked for no more.
  virtual void forget(uint32_t sketch) = 0;
};
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// At most n candidates never proposed before, the most promising first; empty when nothing is left to try.
  virtual std::vector<Candidate> ask(size_t n) = 0;
  virtual void tell(const std::vector<Observation>& observations) = 0;
  virtual int64_t scored() const = 0;  ///< decision vectors that were scored so far
  virtual std::string name() const = 0;
};
struct SearchOptions {
  uint64_t seed = 1;
  int64_t enumeration_limit = 20'000;  ///< a space up to this many points is scored whole
  int64_t scores_per_ask = 400;        ///< new points scored between two batches
  double epsilon = 0.1;                ///< share of a batch chosen at random
  int64_t derivations_per_ask = 24;    ///< changes of structure tried between two batches
  /// Of a sketch with more points than its share of the limit: from its start, or the best of some random ones, one
  /// decision after the other, each at the value that the model likes best, until none changes. For machines whose
  /// statements are launches, each with decisions of its own.
  bool descends = false;
  /// Above 0: a space beyond the limits is sampled until scores have cost so much work, sketches that begin well more
  /// than others; counted, so that a busy machine chooses as an idle one does.
  int64_t work_limit = 0;
};
/// Scores all points (or a seeded sample of them) with the model and proposes them in that order, corrected a sketch by
/// what was measured.
std::unique_ptr<Strategy> enumerate_by_model(std::vector<SketchSpace> sketches, const SearchOptions& options);
/// A population a family (a sketch and what is derived of it), a bandit over families, mutation of one decision,
/// crossover within a sketch; starts from enumerated points. With a derivation, which must outlive it, three quarters
/// of each batch change structure, all of it once no enumerated point is expected to be near the best.
std::unique_ptr<Strategy> evolve(std::vector<SketchSpace> sketches, const SearchOptions& options,
                                 Derivation* derivation = nullptr);

}  // namespace polyweft
#pragma GCC visibility pop
