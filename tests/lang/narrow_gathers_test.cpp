// Subscripts that types and promises keep within an interval of numbers: the interval of each, and what is refused.
#include <gtest/gtest.h>

#include "lang/parser.h"
#include "lang/program_equality.h"

namespace polyweft {
namespace {

struct NarrowCase {
  const char* subscript;
  const char* answer;  ///< "affine + lo..hi", hi inclusive, or the code of the refusal
};

std::string program_with(const std::string& subscript) {
  return "program p(N = 8, const C = 3)\n"
         "in X: u8[N]\nin S: i8[N]\nin H: i16[N]\nin J: i32[N]\nin L: i64[N]\nin P: i32[N] values 10..60\n"
         "in Q: i32[N] values 0..N\nin f: f32[N]\nin b: bool[N]\nin t: f32[1000]\n"
         "out Y[i: N] = t[" +
         subscript +
         "] + f32(X[i]) + f32(S[i]) + f32(H[i]) + f32(J[i]) + f32(L[i]) + f32(P[i]) + f32(Q[i]) + f[i]"
         " + select(b[i], 1, 0)\n";
}

const Subscript* first_gather(const Expr& e) {
  if (e->op == Op::read)
    for (const Subscript& each : e->access.index)
      if (each.data) return &each;
  for (const Expr& arg : e->args)
    if (const Subscript* found = first_gather(arg)) return found;
  return nullptr;
}

std::string answer_for(const std::string& subscript) {
  const std::string text = program_with(subscript);
  const auto parsed = lang::parse(text, "t.weft");
  if (!parsed) return parsed.error().code;
  const Program& program = parsed->programs[0];
  const auto again = lang::parse(print(program), "printed");
  EXPECT_TRUE(again.ok()) << print(program);
  if (again) EXPECT_EQ(lang_test::difference(program, again->programs[0]), "") << print(program);
  const Subscript* found = first_gather(program.equations[0].rhs);
  if (!found) return "affine";
  const auto shown = [](const Affine& e) {
    return e.is_constant() ? std::to_string(e.constant) : std::string("sizes");
  };
  return shown(found->affine) + " + " + shown(found->lo) + ".." + shown(found->hi);
}

class NarrowGathers : public testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowGathers, have_the_interval_of_their_types) {
  EXPECT_EQ(answer_for(GetParam().subscript), GetParam().answer) << GetParam().subscript;
}

INSTANTIATE_TEST_SUITE_P(
    Tables, NarrowGathers,
    testing::Values(
        NarrowCase{"X[i]", "0 + 0..255"}, NarrowCase{"S[i]", "0 + -128..127"}, NarrowCase{"H[i]", "0 + -32768..32767"},
        NarrowCase{"J[i]", "PW0117"}, NarrowCase{"L[i]", "PW0117"}, NarrowCase{"X[i] + 3", "3 + 0..255"},
        NarrowCase{"S[i] + 128", "128 + -128..127"}, NarrowCase{"255 - X[i]", "0 + 0..255"},
        NarrowCase{"2 * X[i]", "0 + 0..510"}, NarrowCase{"X[i] * C", "0 + 0..765"},
        NarrowCase{"X[i] * X[i]", "0 + 0..65025"}, NarrowCase{"S[i] * S[i]", "0 + -16256..16384"},
        NarrowCase{"abs(S[i])", "0 + 0..128"}, NarrowCase{"X[i] + X[0]", "0 + 0..510"},
        NarrowCase{"X[i] - X[0]", "0 + -255..255"}, NarrowCase{"max(0, min(J[i], 99))", "0 + 0..99"},
        NarrowCase{"min(J[i], 99)", "PW0117"}, NarrowCase{"J[i] & 63", "0 + 0..63"},
        NarrowCase{"J[i] >> 24", "0 + -128..127"}, NarrowCase{"X[i] // 16", "0 + 0..15"},
        // Conversions: what does not fit wraps.
        NarrowCase{"i32(X[i])", "0 + 0..255"}, NarrowCase{"i64(i32(X[i])) + 1", "1 + 0..255"},
        NarrowCase{"u8(J[i])", "0 + 0..255"}, NarrowCase{"i8(X[i])", "0 + -128..127"},
        NarrowCase{"u8(P[i])", "0 + 10..59"}, NarrowCase{"u8(P[i] + 250)", "0 + 0..255"},
        NarrowCase{"i32(X[i] + X[0])", "0 + 0..255"}, NarrowCase{"i32(i16(X[i]) + i16(X[0]))", "0 + 0..510"},
        NarrowCase{"i16(X[i]) * i16(X[0])", "0 + 0..65025"},
        NarrowCase{"i32(i16(X[i]) * i16(X[0]))", "0 + -32768..32767"}, NarrowCase{"u8(f[i])", "0 + 0..255"},
        NarrowCase{"u8(b[i])", "0 + 0..1"},
        // Promises: by numbers they are intervals like any other, by sizes as ever.
        NarrowCase{"P[i]", "0 + 10..59"}, NarrowCase{"2 * P[i] - 20", "-20 + 20..118"},
        NarrowCase{"P[i] - P[0]", "0 + -49..49"}, NarrowCase{"Q[i]", "0 + 0..sizes"}, NarrowCase{"2 * Q[i]", "PW0117"},
        NarrowCase{"Q[i] + Q[0]", "PW0117"}, NarrowCase{"select(b[i], X[i], 300)", "0 + 0..300"},
        NarrowCase{"f[i]", "PW0119"}, NarrowCase{"b[i]", "PW0119"}, NarrowCase{"min(i, 2)", "PW0116"}),
    [](const auto& info) { return "case_" + std::to_string(info.index); });

}  // namespace
}  // namespace polyweft
