// A search over a recorded space: predictions, changes of structure and measurements are answered from the record, so
// that a search of some dozen trials takes milliseconds and is the same on every machine.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "polyweft/search.h"
#include "replay/recorded_space.h"

namespace polyweft::replay {

/// Of a candidate of a replay.
uint32_t number_of(const Candidate& candidate);

/// Answers what one search asks; the space must outlive it. A candidate's nest hash is its number.
class Replay final : public Derivation {
 public:
  explicit Replay(const RecordedSpace& space);
  /// The first sketches. Decisions that were not recorded are taken as the nearest ones that were (RecordedSpace).
  std::vector<SketchSpace> first_sketches();
  std::vector<Candidate> first_choices();
  /// A recorded relative that was not scored before; nothing where the one that is drawn was, or there is none.
  std::optional<Derived> mutated(const Candidate& parent, uint64_t seed) override;
  std::optional<Derived> crossed(const Candidate& parent, const Candidate& other, uint64_t seed) override;
  void forget(uint32_t) override {}

  const RecordedSpace& space() const { return space_; }
  Candidate candidate(uint32_t number) const;

 private:
  SketchSpace sketch(uint32_t structure);
  std::optional<Derived> derived(const Candidate& parent, EdgeKind kind, uint64_t seed);

  const RecordedSpace& space_;
  std::shared_ptr<std::set<uint32_t>> scored_;
};

using MakeStrategy = std::function<std::unique_ptr<Strategy>(Replay& replay, uint64_t seed)>;
/// What the search of src/driver/tune_loop does, without a clock: first choices, then batches; who takes more than 1.25
/// times what the best so far takes is dropped, `slower`. The told ratios are the recorded ones with noise of the
/// recorded spread. Ends early where nothing is left to try.
std::vector<Observation> search(const RecordedSpace& space, const MakeStrategy& make, uint64_t seed, size_t trials);
/// After each trial the recorded ratio of the candidate that was told to be the fastest.
std::vector<double> best_ratios(const RecordedSpace& space, const std::vector<Observation>& told);

/// Half are points of the first sketches, half are derived of what was tried, all drawn at random: no prediction and no
/// time counts.
std::unique_ptr<Strategy> random_order(Replay& replay, uint64_t seed);

}  // namespace polyweft::replay
