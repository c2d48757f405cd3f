// How far a strategy is from the best that was recorded, after so many trials.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "replay/replay.h"

namespace polyweft::replay {

inline constexpr std::array<size_t, 4> kTrials = {8, 16, 32, 64};
inline constexpr uint64_t kSeeds = 20;

struct NamedStrategy {
  std::string name;
  MakeStrategy make;
};
/// evolve, enumerate_by_model and the control, random order.
const std::vector<NamedStrategy>& strategies();

/// Regrets: the best candidate's ratio over the best recorded one, minus 1. One a seed, for each of kTrials.
using Regrets = std::array<std::vector<double>, kTrials.size()>;
Regrets regrets(const RecordedSpace& space, const MakeStrategy& make, uint64_t seeds = kSeeds);

/// The value that this share of them does not exceed; `values` not empty.
double quantile(std::vector<double> values, double share);
double mean(const std::vector<double>& values);

}  // namespace polyweft::replay
