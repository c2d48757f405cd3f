// The model orders pairs of schedules as they were measured: on each machine of which there is a file, whichever runs
// this. No code is made, nothing is timed.
#include "cost_models/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "machines.h"
#include "polyweft/cost_model.h"

namespace polyweft {
namespace {

constexpr const char* kFolder = PW_SOURCE_DIR "/tests/cost_models/pairs";
constexpr int kKnownErrors = 0;       // pairs and machines; it only falls
constexpr double kMostApart = 3;      // predicted ratio of a pair over the measured one, or the other way round
constexpr double kMostWrong = 4;      // the same of one schedule's time, by the rates that were probed
constexpr double kShortestNs = 1000;  // of calls whose times are compared: shorter ones are half overhead

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".pairs") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Of one pair on one machine: 1 where a known error is still one.
int judge(const pairs::Pair& pair, const std::string& machine, const Target& target) {
  const auto one = pairs::nest_of(pair, pair.one, target), other = pairs::nest_of(pair, pair.other, target);
  EXPECT_TRUE(one.ok()) << one.error().message;
  EXPECT_TRUE(other.ok()) << other.error().message;
  if (!one || !other) return 0;
  const auto model = analytic_model(on_cores(target.machine, pair.threads));
  const double one_ns = model->predict_ns(*one), other_ns = model->predict_ns(*other);
  const bool is_right = (one_ns < other_ns) == (pair.measured.ratio < 1);
  const bool is_known = pair.wrong_for.count(machine) > 0;
  EXPECT_EQ(is_right, !is_known) << (is_known ? "no error any more: take the line `wrong " + machine + "` away"
                                              : "measured " + std::to_string(pair.measured.ratio) + ", predicted " +
                                                    std::to_string(one_ns / other_ns));
  if (is_known) return !is_right;
  const double apart = one_ns / other_ns / pair.measured.ratio;
  EXPECT_LE(std::max(apart, 1 / apart), kMostApart) << "predicted " << one_ns / other_ns;
  for (const auto& [predicted, measured] :
       {std::pair(one_ns, pair.measured.one_ns), {other_ns, pair.measured.other_ns}}) {
    if (machine != "searches" || measured < kShortestNs) continue;
    EXPECT_LE(std::max(predicted / measured, measured / predicted), kMostWrong) << predicted << " " << measured;
  }
  return 0;
}

TEST(Pairs, the_model_orders_them_as_measured) {
  int known = 0;
  for (const auto& path : files()) {
    SCOPED_TRACE(path.filename());
    const auto file = pairs::read_pairs(contents(path));
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_FALSE(file->machines.empty());
    for (const auto& [machine, description] : file->machines) {
      SCOPED_TRACE(machine);
      const auto target = parse_target(description, machine);
      ASSERT_TRUE(target.ok()) << target.error().message;
      for (const pairs::Pair& pair : file->pairs) {
        SCOPED_TRACE(pair.name + ", " + pair.term);
        ASSERT_GT(pair.measured.ratio, 0);
        known += judge(pair, machine, *target);
      }
    }
  }
  EXPECT_LE(known, kKnownErrors);
}

TEST(Pairs, a_file_has_every_case_or_says_that_it_is_near) {
  const auto text = pairs::expand_sizes(contents(std::string(kFolder) + "/cases.txt"), test::machine_with());
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto cases = pairs::read_pairs(*text);
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_FALSE(files().empty());
  for (const auto& path : files()) {
    const auto file = pairs::read_pairs(contents(path));
    ASSERT_TRUE(file.ok()) << path;
    std::map<std::string, std::string> terms;
    for (const pairs::Pair& pair : file->pairs) terms[pair.name] = pair.term;
    std::set<std::string> near;
    for (const auto& [name, ratio] : file->near) near.insert(name);
    for (const pairs::Pair& pair : cases->pairs) {
      const auto found = terms.find(pair.name);
      EXPECT_TRUE(found != terms.end() || near.count(pair.name) > 0) << path << ": " << pair.name;
      EXPECT_EQ(found == terms.end() ? pair.term : found->second, pair.term) << pair.name;
    }
  }
}

constexpr const char* kOne = R"(machine described
  architecture = "x86-64"
pair one_sum
term latency
program
  program p(N = 4)
  in  X: f32[N]
  out Y[i: N] = X[i]
one
other
  trace 1
    vectorize Y i 4
measured 200 100 2 1.9 2.1
wrong described

near another 1.07
)";

TEST(PairFiles, are_written_as_they_are_read) {
  const auto file = pairs::read_pairs(kOne);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->pairs.size(), 1u);
  EXPECT_EQ(file->pairs[0].one, "");
  EXPECT_EQ(file->pairs[0].other, "trace 1\n  vectorize Y i 4\n");
  EXPECT_EQ(file->pairs[0].measured.ratio_lo, 1.9);
  EXPECT_EQ(file->pairs[0].wrong_for, std::set<std::string>{"described"});
  EXPECT_EQ(file->near.size(), 1u);
  const auto again = pairs::read_pairs(pairs::text_of(*file));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(pairs::text_of(*again), pairs::text_of(*file));
}

TEST(PairFiles, that_say_nothing_certain_are_refused) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"measured 200 100 2 1.9 2.1", "measured 200 100 2"},
      {"measured 200 100 2 1.9 2.1", "measured 200 100 2 2.1 2.2"},
      {"measured 200 100 2 1.9 2.1", "measured 100 200 2 1.9 2.1"},
      {"measured 200 100 2 1.9 2.1", "measured 110 100 1.1 1.08 1.12"},
      {"measured 200 100 2 1.9 2.1", "measured 200 100 2 0.9 1000"},
      {"wrong described", "wrong elsewhere"},
      {"term latency\n", ""},
      {"  trace 1\n    vectorize Y i 4\n", ""},
      {"wrong described", "perhaps described"},
      {"near another 1.07", "near another"},
      {"pair one_sum", "pear one_sum"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = kOne;
    text.replace(text.find(from), from.size(), to);
    EXPECT_FALSE(pairs::read_pairs(text).ok()) << to;
  }
  const std::string twice = std::string(kOne) + std::string(kOne).substr(std::string(kOne).find("pair"));
  EXPECT_FALSE(pairs::read_pairs(twice).ok());
}

TEST(PairFiles, sizes_follow_from_the_machine) {
  const Machine machine = test::machine_with(32, 16, {32 << 10, 512 << 10, 4 << 20});
  const auto sizes = pairs::expand_sizes("N = {2*V}, M = {L1/16*3}, K = {L3}, R = {R/4}, 5", machine);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(*sizes, "N = 16, M = 1536, K = 1048576, R = 4, 5");
  for (const char* wrong : {"{", "{2*}", "{Q}", "{V/64}", "{}"})
    EXPECT_FALSE(pairs::expand_sizes(wrong, machine).ok()) << wrong;
}

}  // namespace
}  // namespace polyweft
