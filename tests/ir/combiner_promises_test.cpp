// Promises of combiners: those that are kept are believed, up to rounding; those that are not get a counterexample.
#include "ir/values/combiner_promises.h"

#include <gtest/gtest.h>

#include "lang/parser.h"

namespace polyweft::ir {
namespace {

struct PromiseCase {
  const char* name;
  const char* items;  ///< inputs, combiner, equations
};

std::vector<BrokenPromise> broken_of(const char* items) {
  auto parsed = lang::parse(std::string("program p(N = 8)\n") + items, "t.weft");
  if (!parsed.ok()) ADD_FAILURE() << parsed.error().message << "\n" << items;
  return parsed.ok() ? broken_promises(parsed->programs[0], 0) : std::vector<BrokenPromise>{};
}

std::string broken_text(const std::vector<BrokenPromise>& broken) {
  static constexpr const char* kNames[] = {"identity", "associative", "commutative"};
  std::string out;
  for (const BrokenPromise& each : broken)
    out += std::string(out.empty() ? "" : "; ") + kNames[static_cast<size_t>(each.promise)] +
           (each.needs_special ? "?" : "") + " " + each.witness;
  return out;
}

TEST(combiner_promises, what_is_kept_is_believed) {
  const PromiseCase kCases[] = {
      {"sum", "in X: f32[N]\ncombine f(a, b): f32 from 0 associative commutative = a + b\nout y = reduce f[i: N] X[i]"},
      {"sum of halves",
       "in X: f16[N]\ncombine f(a, b): f16 from 0 associative commutative = a + b\nout y = reduce f[i: N] X[i]"},
      {"product of bf16",
       "in X: bf16[N]\ncombine f(a, b): bf16 from 1 associative commutative = a * b\nout y = reduce f[i: N] X[i]"},
      {"wrapping sum",
       "in X: i8[N]\ncombine f(a, b): i8 from 0 associative commutative = a + b\nout y = reduce f[i: N] X[i]"},
      {"wrapping product",
       "in X: i64[N]\ncombine f(a, b): i64 from 1 associative commutative = a * b\nout y = reduce f[i: N] X[i]"},
      {"either and both",
       "in X: f32[N]\ncombine f((a, b), (c, d)): (bool, bool) from (false, true) associative commutative = (a or c, b "
       "and d)\n"
       "let (a, b) = reduce f[i: N] (X[i] > 0, X[i] < 1)\nout y = select(a and b, 1.0, 0.0) * X[0]"},
      {"greatest common bits",
       "in X: u8[N]\ncombine f(a, b): u8 from 255 associative commutative = a & b\nout y = reduce f[i: N] X[i]"},
      {"sum modulo 7 of a promised input",
       "in X: u8[N] values 0..7\ncombine f(a, b): u8 from 0 associative commutative = (a + b) % 7\nout y = reduce f[i: "
       "N] X[i]"},
      {"composition of affine maps",
       "in X: i32[N]\nin Y: i32[N]\ncombine f((a, b), (c, d)): (i32, i32) from (1, 0) associative = (a * c, b * c + "
       "d)\n"
       "let (a, b) = reduce f[i: N] (X[i], Y[i])\nout y = b"},
      {"product of 2 x 2 matrices",
       "in X: f32[N]\ncombine f((a, b, c, d), (p, q, r, s)): (f32, f32, f32, f32) from (1, 0, 0, 1) associative =\n"
       "  (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s)\n"
       "let (a, b, c, d) = reduce f[i: N] (X[i], 1, 1, 0)\nout y = a"},
      {"first maximum, NaN included",
       "in X: f32[N]\ncombine f((v, i), (w, j)): (f32, i64) from (-inf, 1000000) associative =\n"
       "  (max(v, w), select(v >= w or v != v, i, j))\nlet (v, p) = reduce f[i: N] (X[i], i)\nout y = v"},
      {"running softmax",
       "in X: f32[N]\ncombine f((m, s), (n, t)): (f32, f32) from (-inf, 0) associative commutative =\n"
       "  (max(m, n), select(m == -inf, 0, s * exp(m - max(m, n))) + select(n == -inf, 0, t * exp(n - max(m, n))))\n"
       "let (m, s) = reduce f[i: N] (X[i], 1)\nout y = m + log(s)"},
      {"log of a sum",
       "in X: f64[N]\ncombine f(a, b): f64 from -inf associative commutative =\n"
       "  select(max(a, b) == -inf, -inf, max(a, b) + log(exp(a - max(a, b)) + exp(b - max(a, b))))\nout y = reduce "
       "f[i: N] X[i]"},
      {"mean and squares (Chan)",
       "in X: f64[N]\ncombine f((n, m, s), (o, p, q)): (f64, f64, f64) from (0, 0, 0) associative commutative =\n"
       "  (n + o, select(n + o == 0, 0, (n * m + o * p) / (n + o)),\n"
       "   s + q + select(n + o == 0, 0, (m - p) * (m - p) * n * o / (n + o)))\n"
       "let (n, m, s) = reduce f[i: N] (1, X[i], 0)\nout y = s / n"},
      {"the last that counts",
       "in X: f32[N]\ncombine f((a, h), (b, k)): (f32, i32) from (0, 0) associative = (select(k == 1, b, a), max(h, "
       "k))\n"
       "let (a, h) = reduce f[i: N] (X[i], 1)\nout y = a"},
      {"guarded tuples",
       "in X: f32[N]\ncombine f((a, h), (b, k)): (f32, i32) from (0, 0) associative = (select(k == 1, b, a), max(h, "
       "k))\n"
       "let (a, h)[j: N] = reduce f[i: N] (X[i], 1)\nout y[j: N] = a[j]"},
      {"no promise, no test", "in X: f32[N]\ncombine f(a, b): f32 from 3 = a * 2 - b\nout y = reduce f[i: N] X[i]"},
      {"commutative alone needs no identity",
       "in X: f32[N]\ncombine f(a, b): f32 from 3 commutative = (a + b) / 2\nout y = reduce f[i: N] X[i]"},
      {"an overflow proves nothing",
       "in X: f16[N]\ncombine f(a, b): f16 from 0 associative commutative = a + b + 1000 * a * b\nout y = reduce f[i: "
       "N] X[i]"},
  };
  for (const PromiseCase& each : kCases) EXPECT_EQ(broken_text(broken_of(each.items)), "") << each.name;
}

TEST(combiner_promises, what_is_broken_has_a_counterexample) {
  struct Broken {
    const char *items, *first;  ///< what the first counterexample says
  };
  const Broken kCases[] = {
      {"in X: i32[N]\ncombine f(a, b): i32 from 0 associative commutative = a - b\nout y = reduce f[i: N] X[i]",
       "identity f(0, -1) = 1, not -1"},
      {"in X: i32[N]\ncombine f(a, b): i32 from 0 commutative = a - b\nout y = reduce f[i: N] X[i]",
       "commutative f(0, -1) = 1, but f(-1, 0) = -1"},
      {"in X: i32[N]\ncombine f(a, b): i32 from 1 associative = a + b\nout y = reduce f[i: N] X[i]",
       "identity f(1, 1) = 2, not 1"},
      {"in X: f32[N]\ncombine f(a, b): f32 from 0 associative = a + b + a * b * b\nout y = reduce f[i: N] X[i]",
       "associative f(f(1.0, 1.0), 1.0) = 7.0, but f(1.0, f(1.0, 1.0)) = 13.0"},
      {"in X: i8[N]\ncombine f(a, b): i8 from 0 associative commutative = sat_i8(i32(a) + i32(b))\nout y = reduce f[i: "
       "N] X[i]",
       "associative f(f("},
      {"in X: u8[N]\ncombine f(a, b): u8 from 0 associative commutative = (a + b) % 7\nout y = reduce f[i: N] X[i]",
       "associative f(f("},
      {"in X: f32[N]\ncombine f(a, b): f32 from -inf associative commutative = select(a > b, a, b)\nout y = reduce "
       "f[i: N] X[i]",
       "associative? f(f("},
      {"in X: f32[N]\ncombine f((m, s), (n, t)): (f32, f32) from (-inf, 0) associative =\n  (max(m, n), s * exp(m - "
       "max(m, n)) + t)\n"
       "let (m, s) = reduce f[i: N] (X[i], 1)\nout y = s",
       "associative f(f("},
  };
  for (const Broken& each : kCases)
    EXPECT_EQ(broken_text(broken_of(each.items)).rfind(each.first, 0), 0U) << broken_text(broken_of(each.items)) << "\n"
                                                                           << each.items;
}

TEST(combiner_promises, the_same_counterexample_every_time) {
  const char* items =
      "in X: i8[N]\ncombine f(a, b): i8 from 0 associative commutative = sat_i8(i32(a) + i32(b))\nout y = reduce f[i: "
      "N] X[i]";
  EXPECT_EQ(broken_text(broken_of(items)), broken_text(broken_of(items)));
}

}  // namespace
}  // namespace polyweft::ir
