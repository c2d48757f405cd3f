// Vector loops over one buffer, by the independent checker: all lanes of a statement read before the first one writes,
// and finish it before the next one begins.
#include "harness.h"
#include "poly/check/checker.h"

namespace polyweft::test {
namespace {

std::string lock_step_verdict(const Program& program, const std::string& nest) {
  auto parsed = parse_loop_nest(nest);
  if (!parsed) return described(parsed.error());
  poly::NestCheck check = poly::check_nest(program, *parsed);
  return std::string(name_of(check.verdict)) + " " + check.code;
}

/// A[t, x] from A[t-1, x + d] in one plane, x upwards by vectors.
std::string shifted_plane(int64_t d, const std::string& mark) {
  const std::string at = d >= 0 ? "v + " + std::to_string(d) : "v - " + std::to_string(-d);
  return "nest 1 p class strict\nparam N = 32\nloops x, t, s, v, l, y\nbuffer X: f64[32] argument align 8 tensor 0 "
         "element [$0]\nbuffer A: f64[4, 32] heap fold 0 mod 1 "
         "align 64 tensor 1 element "
         "[$0, $1]\nbuffer Y: f64[32] argument align 8 output tensor 2 element [$0]\narguments X, Y\nbody { alloc A "
         "{\nfor x in 0 .. 32 { compute 0(x) store: A[0, x] <- "
         "X[x] }\nfor t in 1 .. 4 "
         "{\nfor s in 0 .. 32 step 8 { for v in max(s, 2) .. min(s + 8, 30)" +
         mark + " { compute 1(t, v) store: A[t, v] <- (A[t - 1, " + at +
         "] + 1:f64) } }\nfor l in 0 .. 2 { compute 2(t, l) store: A[t, l] <- A[t - 1, l]\ncompute 2(t, l + 30) store: "
         "A[t, l + 30] <- A[t - 1, l + 30] }\n}\nfor y in 0 "
         ".. 32 { compute 3(y) store: "
         "Y[y] <- A[3, y] }\n} }\n";
}
std::string shifted_program(int64_t d) {
  return "program p(N = 32)\nin X: f64[N]\nlet A[0, x: N] = X[x]\nlet A[t: 1..4, x: 2..N-2] = A[t-1, x + " +
         std::to_string(d) + "] + 1\nlet A[t: 1..4, x: N] where x < 2 or x >= N-2 = A[t-1, x]\nout Y[x: N] = A[3, x]\n";
}

TEST(CheckerOfLockStep, reading_ahead_is_right_and_reading_behind_is_not) {
  for (int64_t d : {0, 1, 2}) {
    EXPECT_EQ(lock_step_verdict(normalized_program(shifted_program(d)), shifted_plane(d, " vector 8")), "proven ") << d;
    EXPECT_EQ(lock_step_verdict(normalized_program(shifted_program(d)), shifted_plane(d, "")), "proven ") << d;
  }
  for (int64_t d : {-1, -2})
    EXPECT_EQ(lock_step_verdict(normalized_program(shifted_program(d)), shifted_plane(d, " vector 8")).substr(0, 7),
              "refuted")
        << d;
}

/// A[x] from A[x - d], single assignment: the lanes behind must be there already.
std::string chain(int64_t d, int64_t width) {
  return "nest 1 p class strict\nparam N = 32\nloops x, s, v\nbuffer X: f64[32] argument align 8 tensor 0 element "
         "[$0]\nbuffer A: f64[32] argument align 8 output tensor "
         "1 element [$0]\narguments X, "
         "A\nbody {\nfor x in 0 .. 4 { compute 0(x) store: A[x] <- X[x] }\nfor s in 4 .. 32 step " +
         std::to_string(width) + " { for v in s .. min(s + " + std::to_string(width) + ", 32) vector " +
         std::to_string(width) + " { compute 1(v) store: A[v] <- (A[v - " + std::to_string(d) + "] + X[v]) } }\n}\n";
}

TEST(CheckerOfLockStep, a_chain_may_be_as_wide_as_its_distance) {
  for (int64_t d = 1; d <= 4; ++d) {
    const Program program =
        normalized_program("program p(N = 32)\nin X: f64[N]\nout A[x: 0..4] = X[x]\nout A[x: 4..N] = A[x - " +
                           std::to_string(d) + "] + X[x]\n");
    for (int64_t width : {2, 4, 8})
      EXPECT_EQ(lock_step_verdict(program, chain(d, width)), width <= d ? "proven " : "refuted PW0405")
          << d << " " << width;
  }
}

/// First B[x], then Y[x] from B[x + d], in one vector loop.
std::string two_statements(int64_t d) {
  const std::string at = d >= 0 ? "v + " + std::to_string(d) : "v - " + std::to_string(-d);
  return "nest 1 p class strict\nparam N = 16\nloops v\nbuffer X: f64[16] argument align 8 tensor 0 element "
         "[$0]\nbuffer B: f64[16] argument align 8 output tensor 1 "
         "element [$0]\nbuffer Y: f64[16] "
         "argument align 8 output tensor 2 element [$0]\narguments X, B, Y\nbody {\nfor v in 0 .. 16 vector 16 "
         "{\ncompute 0(v) store: B[v] <- (X[v] * 2:f64)\n" +
         std::string(d > 0 ? "if 15 - v - " + std::to_string(d) + " >= 0 { "
                           : "if v - " + std::to_string(-d) + " >= 0 { ") +
         "compute 1(v) store: Y[v] <- B[" + at + "] }\n}\n}\n";
}

TEST(CheckerOfLockStep, later_statements_find_what_all_lanes_have_written) {
  const auto program = [](int64_t d) {
    return normalized_program(
        "program p(N = 16)\nin X: f64[N]\nout B[x: N] = X[x] * 2\nout partial Y[x: N] where x + " + std::to_string(d) +
        " >= 0 and x + " + std::to_string(d) + " < N = B[x + " + std::to_string(d) + "]\n");
  };
  EXPECT_EQ(lock_step_verdict(program(-1), two_statements(-1)), "proven ");
  EXPECT_EQ(lock_step_verdict(program(0), two_statements(0)), "proven ");
  EXPECT_EQ(lock_step_verdict(program(1), two_statements(1)).substr(0, 7),
            "refuted");  // the order of plain loops is the meaning
}

}  // namespace
}  // namespace polyweft::test
