// Private: maps of statements that need each other to the members of a band.
#pragma once

#include "poly/band_points.h"

namespace polyweft::poly {

struct BandPlan {
  std::vector<std::vector<Affine>> members;  ///< one a statement
  std::vector<std::string> names;
};
/// What a plan must do, from the most wanted on.
enum class BandStyle : uint8_t {
  folds,       ///< the folds of reductions move with the first member; all distances are >= 0 along all members
  permutable,  ///< all distances are >= 0 along all members
  serial       ///< each member keeps what the members before it left in doubt
};

/// Plans member by member: each statement gives one of its indices, forwards or backwards, moved by a small constant,
/// or the same place for all of its points. `band`: its statements are whole equations; their members are not looked
/// at. `pairs`: its flow_and_order_pairs. Nothing where the style has no plan; the answer is still to be tested.
std::optional<BandPlan> plan_band(const BandModel& band, const std::vector<Pairs>& pairs, BandStyle style);

}  // namespace polyweft::poly
