// Features of this CPU against what the kernel of the system says, levels, and what a CPU that is held to one refuses.
#include "support/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support/cpu_levels.h"

namespace polyweft {
namespace {

class CpuFeatures : public testing::Test {
 protected:
  void SetUp() override { before_ = held_cpu_level(); }
  void TearDown() override { ASSERT_TRUE(hold_cpu(before_).ok()); }

 private:
  std::string before_;
};

bool is_part(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

// An oracle of its own: Linux lists a feature where CPUID has it and XCR0 lets programs use it.
TEST_F(CpuFeatures, are_those_that_linux_lists) {
  static const std::map<std::string, std::string> kOtherNames = {{"amx-bf16", "amx_bf16"},
                                                                 {"amx-int8", "amx_int8"},
                                                                 {"amx-tile", "amx_tile"},
                                                                 {"avx512bf16", "avx512_bf16"},
                                                                 {"avx512fp16", "avx512_fp16"},
                                                                 {"avx512vbmi2", "avx512_vbmi2"},
                                                                 {"avx512vnni", "avx512_vnni"},
                                                                 {"avxvnni", "avx_vnni"},
                                                                 {"bmi", "bmi1"},
                                                                 {"lzcnt", "abm"},
                                                                 {"sse3", "pni"},
                                                                 {"sse4.1", "sse4_1"},
                                                                 {"sse4.2", "sse4_2"}};
  std::set<std::string> listed;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) listed.insert(word);
    break;
  }
  if (listed.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  ASSERT_TRUE(hold_cpu("").ok());
  const auto found = cpu_features();
  EXPECT_TRUE(is_part(found, known_cpu_features(native_architecture())));
  for (const auto& name : known_cpu_features(native_architecture())) {
    const auto other = kOtherNames.find(name);
    EXPECT_EQ(std::binary_search(found.begin(), found.end(), name),
              listed.contains(other == kOtherNames.end() ? name : other->second))
        << name;
  }
}

TEST_F(CpuFeatures, levels_hold_all_of_the_levels_below) {
  for (const char* architecture : {"x86-64", "aarch64", "riscv64"}) {
    std::vector<std::string> below;
    const auto& known = known_cpu_features(architecture);
    EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));
    EXPECT_GE(cpu_levels(architecture).size(), 2u);
    for (const CpuLevel& level : cpu_levels(architecture)) {
      const auto features = features_of_level(architecture, level.name);
      ASSERT_TRUE(features.has_value()) << level.name;
      EXPECT_TRUE(is_part(below, *features) && below.size() < features->size()) << level.name;
      EXPECT_TRUE(is_part(*features, known)) << level.name;
      below = *features;
    }
    EXPECT_FALSE(features_of_level(architecture, "host").has_value());
  }
  EXPECT_FALSE(features_of_level("aarch64", "x86-64-v3").has_value());
  EXPECT_TRUE(cpu_levels("abacus").empty() && known_cpu_features("abacus").empty());
}

// The System V ABI's third level, written out.
TEST_F(CpuFeatures, third_level) {
  const std::vector<std::string> wanted = {"avx",    "avx2", "bmi",  "bmi2", "f16c",   "fma",    "lzcnt", "movbe",
                                           "popcnt", "sse",  "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"};
  EXPECT_EQ(features_of_level("x86-64", "x86-64-v3"), wanted);
}

TEST_F(CpuFeatures, a_held_cpu_has_nothing_beyond_its_level) {
  ASSERT_TRUE(hold_cpu("").ok());
  const auto all = cpu_features();
  for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"}) {
    ASSERT_TRUE(hold_cpu(level).ok());
    EXPECT_EQ(held_cpu_level(), level);
    EXPECT_TRUE(is_part(cpu_features(), *features_of_level(native_architecture(), level))) << level;
    EXPECT_TRUE(is_part(cpu_features(), all)) << level << ": it only lowers";
  }
  ASSERT_TRUE(hold_cpu("").ok());
  EXPECT_EQ(cpu_features(), all);
}

TEST_F(CpuFeatures, messages) {
  const Status held = hold_cpu("haswell");
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().code, "PW0510");
  EXPECT_EQ(held.error().message, "'haswell' is no level that the host can be held to");
  ASSERT_TRUE(hold_cpu("").ok());
  const Status lacking = cpu_can_run({"sse2", "tail-wag", "teleport"}, "a kernel for cats");
  ASSERT_FALSE(lacking.ok());
  EXPECT_EQ(lacking.error().code, "PW0517");
  EXPECT_EQ(lacking.error().message, "a kernel for cats needs tail-wag teleport, which this CPU has not");
  ASSERT_TRUE(hold_cpu("x86-64").ok());
  EXPECT_TRUE(cpu_can_run({"sse", "sse2"}, "a kernel").ok());
  EXPECT_EQ(cpu_can_run({"avx2", "sse2"}, "a kernel for x86-64-v3").error().message,
            "a kernel for x86-64-v3 needs avx2, which this CPU, held to x86-64, has not");
}

}  // namespace
}  // namespace polyweft
