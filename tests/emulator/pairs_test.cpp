// Random (program, trace) pairs with loops over blocks and threads on the emulator, threads in three orders in turn:
// PW_RANDOM_PAIRS=300 emulator_tests judges 300 of them, PW_RANDOM_SEED=17 one, with its code.
#include "random/pairs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "random/settings.h"

namespace polyweft::emulator_test {
namespace {

using namespace random_test;

/// A description of the machine whose threads run in this order, as a file.
std::string target_with(const char* order) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("polyweft-" + std::to_string(getpid()) + "-" + order + ".toml");
  std::ofstream(file) << "architecture = \"emulated-nvptx64\"\nfeatures = [\"sm_90a\", \"" << order << "\"]\n";
  return file.string();
}

TEST(EmulatorPairs, emulator_and_interpreter_agree) {
  const std::string targets[] = {"emulated:sm_90a", target_with("reverse"), target_with("random")};
  const int one = number_of("PW_RANDOM_SEED", 0), pairs = number_of("PW_RANDOM_PAIRS", 60);
  int agreed = 0, with_axes = 0, recurrences = 0;
  for (int seed = one ? one : 1; seed < (one ? one + 1 : 1 + pairs); ++seed) {
    Pair pair = random_grid_pair(static_cast<uint64_t>(seed), targets[seed % 3]);
    pair.show_code = one != 0;
    const Judgement judgement = judge(pair);
    agreed += judgement.outcome == Outcome::agreed;
    recurrences += judgement.outcome == Outcome::agreed && judgement.recurrence;
    for (const Step& step : pair.trace.steps)
      if (std::holds_alternative<BindStep>(step) && judgement.outcome == Outcome::agreed) {
        ++with_axes;
        break;
      }
    if (judgement.outcome != Outcome::disagreement) continue;
    ADD_FAILURE() << "seed " << seed << ": " << judgement.kind << ": " << judgement.message << "\n" << described(pair);
  }
  std::printf("pairs: %d, %d agreed, of these %d with loops over axes, %d recurrences\n", pairs, agreed, with_axes,
              recurrences);
  for (const std::string& target : targets) std::filesystem::remove(target);
  if (one) return;
  EXPECT_GT(agreed * 10, pairs * 6);
  EXPECT_GT(with_axes * 3, pairs);
}

}  // namespace
}  // namespace polyweft::emulator_test
