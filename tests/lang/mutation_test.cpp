// No mutated input crashes or hangs the parser; what it accepts prints, parses back equal and keeps its key.
//
// PW_FUZZ_INPUTS sets the number of inputs (50,000; the soak runs 1,000,000), PW_FUZZ_SEED the seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/text/render.h"
#include "lang/canonical.h"
#include "lang/corpus.h"
#include "lang/mutator.h"
#include "lang/parser.h"
#include "lang/program_equality.h"

namespace polyweft {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const auto& [name, text] : lang_test::corpus()) texts.push_back(text);
  return texts;
}

void expect_round_trip(const Program& program) {
  std::string printed = print(program);
  auto again = lang::parse(printed, "printed");
  ASSERT_TRUE(again.ok()) << printed << render(again.error(), printed);
  EXPECT_EQ(lang_test::difference(program, again->programs[0]), "") << printed;
  Program without_const = program;
  without_const.const_parameters = again->programs[0].const_parameters;
  EXPECT_EQ(lang::canonical_text(without_const), lang::canonical_text(again->programs[0])) << printed;
}

TEST(mutation, no_input_breaks_the_parser) {
  uint64_t seed = setting("PW_FUZZ_SEED", 1);
  uint64_t count = setting("PW_FUZZ_INPUTS", 50000);
  lang_test::Mutator mutator(seed, seeds());
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    std::string text = mutator.next();
    auto parsed = lang::parse(text, "mutated");
    SCOPED_TRACE("seed " + std::to_string(seed) + ", input " + std::to_string(i));
    if (parsed.ok()) {
      ++accepted;
      ASSERT_FALSE(parsed->programs.empty());
      for (const Program& each : parsed->programs) expect_round_trip(each);
      if (testing::Test::HasFailure()) std::fprintf(stderr, "%s\n", text.c_str());
      continue;
    }
    ASSERT_FALSE(parsed.error().diagnostics.empty());
    ASSERT_LE(parsed.error().diagnostics.size(), 20U);
    EXPECT_FALSE(render(parsed.error(), text).empty());
  }
  RecordProperty("accepted", std::to_string(accepted));
  EXPECT_GT(accepted, count / 100) << "the mutations are too wild to test what is accepted";
}

}  // namespace
}  // namespace polyweft
