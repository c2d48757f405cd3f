// Random (program, trace) pairs with loops over blocks and threads on the emulator, threads in three orders in turn:
// PW_RANDOM_PAIRS=300 emulator_tests judges 300 of them, PW_RANDOM_SEED=17 one, with its code.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "random/grid_pairs.h"

namespace polyweft::emulator_test {
namespace {

/// A description of the machine whose threads run in this order, as a file.
std::string target_with(const char* order) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("polyweft-" + std::to_string(getpid()) + "-" + order + ".toml");
  std::ofstream(file) << "architecture = \"emulated-nvptx64\"\nfeatures = [\"sm_90a\", \"" << order << "\"]\n";
  return file.string();
}

TEST(EmulatorPairs, emulator_and_interpreter_agree) {
  const std::vector<std::string> targets = {"emulated:sm_90a", target_with("reverse"), target_with("random")};
  random_test::expect_grid_pairs_agree(targets, 60);
  for (const std::string& target : targets) std::filesystem::remove(target);
}

}  // namespace
}  // namespace polyweft::emulator_test
