// Every message of the parser, verbatim: tests/error/*.weft, and the limits whose text is too long for a file.
#include <gtest/gtest.h>

#include <set>

#include "error/runner.h"
#include "ir/text/render.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

std::string messages(const std::string& text, const std::string& name) {
  auto parsed = lang::parse(text, name);
  if (!parsed.ok()) return render(parsed.error(), text);
  std::string out;
  for (const Diagnostic& each : parsed->warnings) out += render(each, name, text);
  return out;
}

std::string first_message(const std::string& text) {
  auto parsed = lang::parse(text, "t.weft");
  return parsed.ok() ? "accepted" : parsed.error().message + " [" + parsed.error().code + "]";
}

TEST(refusals, every_file_gives_its_text) {
  error_test::run_cases(error_test::Stage::parser, messages);
}

TEST(refusals, every_code_of_the_parser_has_a_case_and_an_explanation) {
  std::set<std::string> seen;
  for (const auto& each : error_test::cases_of(error_test::Stage::parser))
    for (size_t at = each.expected.find("[PW"); at != std::string::npos; at = each.expected.find("[PW", at + 1))
      seen.insert(each.expected.substr(at + 1, 6));
  seen.insert("PW0806");
  for (const char* tested_elsewhere : {"PW0120", "PW0150"}) seen.insert(tested_elsewhere);
  for (int code = 101; code <= 150; ++code) {
    std::string name = "PW0" + std::to_string(code);
    EXPECT_EQ(explain_code(name).has_value(), seen.count(name) == 1) << name;
  }
  for (int code = 801; code <= 811; ++code) {
    std::string name = "PW0" + std::to_string(code);
    EXPECT_TRUE(explain_code(name).has_value() && seen.count(name) == 1) << name;
  }
}

TEST(refusals, text_above_1_MiB) {
  std::string program = "program p()\nout x = f32(1)\n";
  std::string at_limit = program + std::string((1 << 20) - program.size(), ' ');
  EXPECT_EQ(first_message(at_limit), "accepted");
  EXPECT_EQ(first_message(at_limit + " "), "the text has 1048577 bytes, more than 1048576 [PW0806]");
}

std::string nested(int depth) {
  return "program p()\nin x: f32\nout y = " + std::string(depth, '(') + "x" + std::string(depth, ')') + "\n";
}

TEST(refusals, nesting_is_200_deep_and_chains_count_once) {
  EXPECT_EQ(first_message(nested(200)), "accepted");
  EXPECT_EQ(first_message(nested(201)), "nested more than 200 deep [PW0804]");
  EXPECT_EQ(first_message(nested(100000)), "nested more than 200 deep [PW0804]");
  std::string minus = "program p()\nin x: f32\nout y = ";
  for (int i = 0; i < 200; ++i) minus += "- ";
  EXPECT_EQ(first_message(minus + "x\n"), "accepted");
  EXPECT_EQ(first_message(minus + "- x\n"), "nested more than 200 deep [PW0804]");
  std::string chain = "program p()\nin x: f32\nout y = x";
  for (int i = 0; i < 1900; ++i) chain += i % 2 == 0 ? " + x" : " - x";
  EXPECT_EQ(first_message(chain + "\n"), "accepted");
  for (int i = 0; i < 200; ++i) chain += " * x + x";
  EXPECT_EQ(first_message(chain + "\n"), "the expression has more than 2000 operators in a row [PW0805]");
}

TEST(refusals, equations_are_256) {
  std::string text = "program p()\nin x: f32\nout y[0] = x\n";
  for (int i = 1; i < 256; ++i) text += "out y[" + std::to_string(i) + "] = x\n";
  EXPECT_EQ(first_message(text), "accepted");
  EXPECT_EQ(first_message(text + "out y[256] = x\n"), "more than 256 equations in one program [PW0803]");
}

TEST(refusals, several_errors_of_a_file_are_reported_in_order) {
  auto parsed = lang::parse("program p(N = 4)\nin A: f33[N]\nout B[i: N] = )\n", "t.weft");
  ASSERT_FALSE(parsed.ok());
  ASSERT_EQ(parsed.error().diagnostics.size(), 2U);
  EXPECT_EQ(parsed.error().diagnostics[0].where.line, 2);
  EXPECT_EQ(parsed.error().diagnostics[1].where.line, 3);
}

}  // namespace
}  // namespace polyweft
