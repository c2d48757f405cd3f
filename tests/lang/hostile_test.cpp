// Texts of 1 MiB made to be slow or deep: each ends, with a message or a program. A hang shows as the time limit of the
// test.
#include <gtest/gtest.h>

#include <functional>

#include "ir/text/render.h"
#include "lang/canonical.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

constexpr size_t kSize = (size_t{1} << 20) - 4096;

std::string filled(std::string head, const std::function<std::string(size_t)>& piece, const std::string& tail = "") {
  for (size_t i = 0; head.size() < kSize; ++i) head += piece(i);
  return head + tail;
}

std::string numbered(const char* before, size_t i, const char* after) {
  return before + std::to_string(i) + after;
}

void expect_an_end(const std::string& text) {
  auto parsed = lang::parse(text, "hostile.weft");
  if (!parsed.ok()) {
    EXPECT_FALSE(render(parsed.error(), text).empty());
    return;
  }
  for (const Program& each : parsed->programs) EXPECT_EQ(lang::key_of(each).size(), 32U);
}

const std::string kHead = "program p(N = 4)\nin X: f32[N]\n";

TEST(hostile, openings_without_end) {
  for (const char* piece : {"(", "[", "X[", "f32(", "- ", "not ", "~", "sum[k: ", "sum[k: 2] ", "select(",
                            "X[i] where i > 0 else ", "1 + ", "i < ", "clamp("})
    expect_an_end(filled(kHead + "out Y[i: N] = ", [&](size_t) { return piece; }));
}

TEST(hostile, very_many_items) {
  expect_an_end(filled("", [](size_t i) { return numbered("program p", i, "()\n"); }));
  expect_an_end(filled(
      "program p(a = 1", [](size_t i) { return numbered(", a", i, " = 1"); }, ")\nout x = f32(1)"));
  expect_an_end(filled("program p()\n", [](size_t i) { return numbered("in x", i, ": f32\n"); }));
  expect_an_end(filled("program p()\nin x: f32\n", [](size_t i) { return numbered("out y", i, " = x\n"); }));
  expect_an_end(
      filled("program p()\n", [](size_t i) { return numbered("combine f", i, "(a, b): f32 from 0 = a + b\n"); }));
  expect_an_end(filled(
      "program p(N = 4) assume N > 0", [](size_t i) { return numbered(", N > ", i % 3, ""); }, "\nout x = f32(N)"));
  expect_an_end(filled(
      "program p()\nconst c: f32[400000] = [0", [](size_t) { return ",0"; }, "]\nout x = c[0]"));
  expect_an_end(filled(
      "program p()\nout (a", [](size_t i) { return numbered(", a", i, ""); }, ") = 1"));
  expect_an_end(filled(kHead, [](size_t) { return "out ) \n"; }));
}

TEST(hostile, long_lines_and_words) {
  expect_an_end(filled("program p()\nout x = ", [](size_t) { return "x"; }));
  expect_an_end(filled("program p()\nout x: f32 = 0.", [](size_t) { return "1"; }));
  expect_an_end(filled(
      "program p()\nout x: f16 = 1.", [](size_t) { return "0"; }, "1"));
  expect_an_end(filled("program p()\nout x: i32 = ", [](size_t) { return "1"; }));
  expect_an_end(filled("program p()\nout x: f64 = 1e", [](size_t) { return "9"; }));
  expect_an_end(filled(
      "program p() #", [](size_t) { return "\xc3\xa4"; }, "\nout x = f32(1)"));
}

/// Equations of long bodies over a chain of lets whose types are found last to first.
TEST(hostile, types_found_late) {
  std::string text = kHead;
  for (int i = 0; i < 255; ++i) {
    text += "let A" + std::to_string(i) + "[i: N] = A" + std::to_string(i + 1) + "[i]";
    for (int k = 0; k < 330; ++k) text += " + (1 - 2)";
    text += "\n";
  }
  expect_an_end(text + "let A255[i: N] = X[i]\n");
  expect_an_end(text + "out A255[i: N] = A0[i]\n");
}

TEST(hostile, chains_at_their_limit_in_every_equation) {
  std::string text = kHead;
  for (int q = 0; q < 128; ++q) {
    text += "out Y" + std::to_string(q) + "[i: N] = X[i]";
    for (int k = 0; k < 1900; ++k) text += "*2.0";
    text += "\n";
  }
  expect_an_end(text);
}

TEST(hostile, affine_forms_that_grow) {
  std::string sum = kHead + "out partial Y[i: N] where 0 <= i";
  for (int k = 2; k < 100; ++k) sum += " + i // " + std::to_string(k) + " % " + std::to_string(k + 1);
  expect_an_end(sum + " = X[i]");
  std::string guards = kHead + "out partial Y[i: N] where i == 0";
  for (int k = 0; k < 60000; ++k) guards += " or i == 1";
  expect_an_end(guards + " = X[i]");
  std::string conjunction = kHead + "out partial Y[i: N] where i >= 0";
  for (int k = 0; k < 60000; ++k) conjunction += " and i >= " + std::to_string(k % 3);
  expect_an_end(conjunction + " = X[i]");
}

TEST(hostile, look_alike_lets) {
  std::string text = kHead + "let A0[i: N] = X[i]\n";
  for (int i = 1; i < 250; ++i)
    text += "let A" + std::to_string(i) + "[i: N] = A" + std::to_string(i - 1) + "[i] + 1\n";
  expect_an_end(text + "out Y[i: N] = A249[i]\n");
}

}  // namespace
}  // namespace polyweft
