// What a search keeps: a table of verdicts, with a false checker.
#include "driver/settle.h"

#include <gtest/gtest.h>

#include <map>

namespace polyweft {
namespace {

struct SettleCase {
  const char* what;
  std::vector<std::pair<std::string, Verdict>> winners;  ///< fastest first; "base" is the base nest
  const char* kept;                                      ///< empty: an error
  int refuted;
  const char* message;  ///< of the error
};

constexpr Verdict kYes = Verdict::proven, kNo = Verdict::refuted, kOpen = Verdict::not_proven;

class Settling : public testing::TestWithParam<SettleCase> {};

TEST_P(Settling, keeps) {
  const SettleCase& c = GetParam();
  const std::map<std::string, Verdict> verdicts(c.winners.begin(), c.winners.end());
  std::vector<Winner> winners;
  for (const auto& [name, verdict] : c.winners) {
    winners.emplace_back();
    winners.back().nest.name = name;
    winners.back().measurement.strategy = name == "base" ? "base" : "evolution";
  }
  auto settled = settle(winners, 3, [&](const Winner& winner) {
    Certificate out;
    out.verdict = verdicts.at(winner.nest.name);
    return Result<Certificate>(out);
  });
  if (*c.kept == 0) {
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().code, "PW0650");
    EXPECT_EQ(settled.error().message, c.message);
    EXPECT_EQ(settled.error().notes.size(), c.refuted > 0 ? 2u : 1u);
    return;
  }
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(winners[settled->winner].nest.name, c.kept);
  EXPECT_EQ(settled->certificate.verdict, verdicts.at(c.kept));
  EXPECT_EQ(settled->refuted, c.refuted);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, Settling,
    testing::Values(
        SettleCase{"the fastest", {{"a", kYes}, {"b", kYes}}, "a", 0, ""},
        SettleCase{"the next one", {{"a", kNo}, {"b", kOpen}, {"c", kYes}}, "c", 1, ""},
        SettleCase{"the base nest, however slow, where all others are refuted",
                   {{"a", kNo}, {"b", kNo}, {"base", kYes}},
                   "base",
                   2,
                   ""},
        SettleCase{"the base nest where nothing else ran", {{"base", kYes}}, "base", 0, ""},
        SettleCase{
            "the base nest rather than what is not decided", {{"a", kOpen}, {"b", kNo}, {"base", kYes}}, "base", 1, ""},
        SettleCase{"what is not decided rather than nothing", {{"a", kNo}, {"b", kOpen}, {"c", kOpen}}, "b", 1, ""},
        SettleCase{"nothing where all are refuted",
                   {{"a", kNo}, {"base", kNo}},
                   "",
                   2,
                   "no kernel can be kept: 3 candidates failed on this machine, the checker refutes 2 nests that ran, "
                   "the base nest among them"},
        SettleCase{"nothing where the base nest did not run",
                   {{"a", kNo}},
                   "",
                   1,
                   "no kernel can be kept: 3 candidates failed on this machine, the checker refutes 1 nest that ran, "
                   "and the base nest did not run"},
        SettleCase{"nothing where nothing ran",
                   {},
                   "",
                   0,
                   "no kernel can be kept: 3 candidates failed on this machine, and the base nest did not run"}),
    [](const auto& info) {
      std::string name = info.param.what;
      for (char& c : name)
        if (!isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

TEST(SettlingOfFiles, blames_nobody_here_for_nests_of_a_file) {
  std::vector<Winner> winners(1);
  const auto refute = [](const Winner&) {
    Certificate out;
    out.verdict = Verdict::refuted;
    return Result<Certificate>(out);
  };
  EXPECT_EQ(settle(winners, 0, refute).error().notes.back(),
            "a nest that is refuted is a defect of polyweft, please report this program");
  EXPECT_EQ(settle(winners, 0, refute, NestsFrom::file).error().notes.back(),
            "the file holds other nests than a search makes: propose and measure again");
}

}  // namespace
}  // namespace polyweft
