// parse -> print -> parse gives an equal program, and printing it again the same text.
#include <gtest/gtest.h>

#include "lang/corpus.h"
#include "lang/parser.h"
#include "lang/program_equality.h"

namespace polyweft {
namespace {

std::string errors_of(const Error& error) {
  std::string text;
  for (const Diagnostic& each : error.diagnostics)
    text += std::to_string(each.where.line) + ":" + std::to_string(each.where.column) + ": " + each.text + " [" +
            each.code + "]\n";
  return text;
}

TEST(round_trip, corpus_has_the_32_programs) {
  EXPECT_EQ(lang_test::corpus().size(), 32U);
}

TEST(round_trip, every_program_prints_and_parses_back_equal) {
  for (const auto& [name, text] : lang_test::corpus()) {
    auto first = lang::parse(text, name + ".weft");
    ASSERT_TRUE(first.ok()) << name << "\n" << errors_of(first.error());
    ASSERT_EQ(first->programs.size(), 1U);
    EXPECT_EQ(first->programs[0].name, name);
    std::string printed = print(first->programs[0]);
    auto second = lang::parse(printed, name + ".printed");
    ASSERT_TRUE(second.ok()) << name << "\n" << printed << errors_of(second.error());
    EXPECT_EQ(lang_test::difference(first->programs[0], second->programs[0]), "") << printed;
    EXPECT_EQ(print(second->programs[0]), printed);
  }
}

TEST(round_trip, every_example_prints_and_parses_back_equal) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".weft") continue;
    auto first = lang::parse(lang_test::read_file(entry.path()), entry.path().string());
    ASSERT_TRUE(first.ok()) << entry.path() << "\n" << errors_of(first.error());
    EXPECT_TRUE(first->warnings.empty()) << entry.path();
    for (const Program& program : first->programs) {
      auto second = lang::parse(print(program), "printed");
      ASSERT_TRUE(second.ok()) << print(program) << errors_of(second.error());
      EXPECT_EQ(lang_test::difference(program, second->programs[0]), "") << entry.path();
      ++count;
    }
  }
  EXPECT_GE(count, 14U);
}

}  // namespace
}  // namespace polyweft
