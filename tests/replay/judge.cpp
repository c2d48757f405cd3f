#include "replay/judge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace polyweft::replay {

const std::vector<NamedStrategy>& strategies() {
  static const std::vector<NamedStrategy> all = {
      {"evolve",
       [](Replay& replay, uint64_t seed) { return evolve(replay.first_sketches(), {.seed = seed}, &replay); }},
      {"enumerate",
       [](Replay& replay, uint64_t seed) { return enumerate_by_model(replay.first_sketches(), {.seed = seed}); }},
      {"random", random_order}};
  return all;
}

Regrets regrets(const RecordedSpace& space, const MakeStrategy& make, uint64_t seeds) {
  Regrets out;
  const double best = space.best_ratio();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::vector<double> ratios = best_ratios(space, search(space, make, seed, kTrials.back()));
    for (size_t k = 0; k < kTrials.size(); ++k)
      out[k].push_back(ratios[std::min(kTrials[k], ratios.size()) - 1] / best - 1);
  }
  return out;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<size_t>(std::clamp<double>(at, 0, static_cast<double>(values.size() - 1)))];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace polyweft::replay
