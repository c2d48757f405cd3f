// Replays searches over recorded spaces (tests/replay) and prints for each space and strategy the median, the 90th
// percentile and the mean of the regret, in percent, after 8, 16, 32 and 64 trials, over 20 seeds; last over all
// spaces.
//
//   bench_replay [FOLDER] [--seeds N] [--show SPACE]
//
// --show prints the trials of evolve's first seed in this space: time over the best recorded one, family, whether a
// mutation made its structure, and its prediction over that of the best.
#include <algorithm>
#include <cstdio>
#include <string>

#include "replay/judge.h"

using namespace polyweft;
using namespace polyweft::replay;

namespace {

void print(const std::string& space, const std::string& strategy, const Regrets& regrets) {
  std::printf("%-16s %-10s", space.c_str(), strategy.c_str());
  for (const auto& values : regrets)
    std::printf("  %6.1f %6.1f %6.1f", 100 * quantile(values, 0.5), 100 * quantile(values, 0.9), 100 * mean(values));
  std::printf("\n");
}

void show(const RecordedSpace& space) {
  const auto& best = *std::min_element(space.candidates().begin(), space.candidates().end(), [](auto& a, auto& b) {
    return (a.ratio > 0 ? a.ratio : 1e9) < (b.ratio > 0 ? b.ratio : 1e9);
  });
  for (const auto& o : search(space, strategies().front().make, 1, kTrials.back())) {
    const auto& c = space.candidates()[number_of(o.candidate)];
    const auto& structure = space.structures()[c.structure];
    std::printf("%-6s %7.3f  family %2u %-7s predicted %7.3f\n", name_of(o.status), c.ratio / best.ratio,
                structure.family, structure.is_first ? "" : "derived", c.predicted_ns / best.predicted_ns);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = PW_SOURCE_DIR "/tests/replay/recorded";
  std::string shown;
  uint64_t seeds = kSeeds;
  for (int a = 1; a < argc; ++a)
    if (std::string(argv[a]) == "--seeds" && a + 1 < argc)
      seeds = std::stoull(argv[++a]);
    else if (std::string(argv[a]) == "--show" && a + 1 < argc)
      shown = argv[++a];
    else
      folder = argv[a];
  const auto spaces = recorded_spaces(folder);
  for (const RecordedSpace& space : spaces)
    if (space.name() == shown) return show(space), 0;
  std::printf("%-16s %-10s", "space", "strategy");
  for (const size_t trials : kTrials) std::printf("  %6zu    90%%   mean", trials);
  std::printf("\n");
  for (const NamedStrategy& strategy : strategies()) {
    Regrets all;
    for (const RecordedSpace& space : spaces) {
      const Regrets one = regrets(space, strategy.make, seeds);
      print(space.name(), strategy.name, one);
      for (size_t k = 0; k < all.size(); ++k) all[k].insert(all[k].end(), one[k].begin(), one[k].end());
    }
    if (!spaces.empty()) print("all", strategy.name, all);
  }
}
