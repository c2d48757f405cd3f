// Sums whose points are folded one after the other: what comes first, last and next against an enumeration, and nests
// that leave points out, fold one twice or read too early.
#include "bands_harness.h"
#include "mutator.h"
#include "poly/base_nest.h"
#include "poly/check/sequence.h"
#include "random_pairs.h"

namespace polyweft::test {
namespace {

using namespace poly::checker;

constexpr VarId kElement = 0, kReduced = 1;  // variables: one slot, then the reduced indices

Affine random_end(Rng& rng, VarId known) {
  Affine out = Affine::of(static_cast<int64_t>(rng.below(4)) - 1);
  if (rng.below(2)) out = out + Affine::variable(static_cast<VarId>(rng.below(known)), rng.below(3) ? 1 : -1);
  return out;
}

Equation random_sum(Rng& rng, size_t reduced) {
  auto sum = std::make_shared<ExprNode>();
  sum->op = Op::reduce;
  for (size_t k = 0; k < reduced; ++k) {
    const auto var = static_cast<VarId>(kReduced + k);
    const Affine lo = random_end(rng, var);
    sum->reduction.ranges.push_back({var, lo, lo + random_end(rng, var) + Affine::of(1)});
  }
  Equation out;
  out.rhs = sum;
  return out;
}

using Point = std::vector<int64_t>;  // of the slot and the reduced indices

void enumerate(const Equation& equation, Point& at, std::vector<Point>& out) {
  const auto& ranges = equation.rhs->reduction.ranges;
  const size_t k = at.size() - kReduced;
  if (k == ranges.size()) return out.push_back(at);
  for (int64_t v = evaluate(ranges[k].lo, at); v < evaluate(ranges[k].hi, at); ++v) {
    at.push_back(v);
    enumerate(equation, at, out);
    at.pop_back();
  }
}

Indices constant(const Point& point) {
  Indices out;
  for (size_t k = 0; k < point.size(); ++k) out[static_cast<VarId>(k)] = Affine::of(point[k]);
  return out;
}

/// What is said is true, and where no inner range is empty all that is true is said.
TEST(SequenceOfPoints, is_that_of_an_enumeration) {
  int nexts = 0, empty = 0, points_seen = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed * 104729);
    const size_t reduced = 1 + rng.below(3);
    const Equation equation = random_sum(rng, reduced);
    const PointSequence sequence(equation);
    for (int64_t element = -2; element <= 3; ++element) {
      std::vector<Point> points;
      Point at{element};
      enumerate(equation, at, points);
      const bool is_empty = evaluate(sequence.is_without_points(constant({element})), {});
      EXPECT_TRUE(!is_empty || points.empty()) << "seed " << seed;
      if (reduced == 1) {
        EXPECT_EQ(is_empty, points.empty()) << "seed " << seed;
      }
      empty += is_empty;
      for (size_t a = 0; a < points.size(); ++a) {
        ++points_seen;
        const bool is_first = evaluate(sequence.is_first(constant(points[a])), {}),
                   is_last = evaluate(sequence.is_last(constant(points[a])), {});
        EXPECT_TRUE(!is_first || a == 0) << "seed " << seed;
        EXPECT_TRUE(!is_last || a + 1 == points.size()) << "seed " << seed;
        if (reduced == 1) {
          EXPECT_EQ(std::pair(is_first, is_last), std::pair(a == 0, a + 1 == points.size())) << "seed " << seed;
        }
        for (size_t b = 0; b < points.size(); ++b) {
          const bool is_next = evaluate(sequence.is_next(constant(points[a]), constant(points[b])), {});
          EXPECT_TRUE(!is_next || b == a + 1) << "seed " << seed;
          if (reduced == 1) {
            EXPECT_EQ(is_next, b == a + 1) << "seed " << seed;
          }
          nexts += is_next;
        }
      }
    }
  }
  std::printf("%d points, %d followed by the next one, %d elements without points\n", points_seen, nexts, empty);
  EXPECT_GT(nexts, points_seen / 2);
  EXPECT_GT(empty, 100);
}

poly::NestCheck verdict(const Program& program, const std::string& text) {
  auto parsed = parse_loop_nest(text);
  return parsed ? poly::check_nest(program, *parsed)
                : poly::NestCheck{Verdict::not_proven, parsed.error().code, parsed.error().message, 0, 0};
}

/// Sums over triangles, an empty one among them, and over two indices, in every class.
TEST(SequenceOfPoints, sums_are_proven_and_their_mutants_are_not) {
  const char* kPrograms[] = {
      "program below(N = 7)\nin A: f32[N, N]\nout s[i: N] = sum[j: 0..i] A[i, j]\n",
      "program window(N = 6)\nin A: f32[N + 4]\nout s[i: N] = sum[j: i..i+4] A[j]\n",
      "program square(N = 5, R = 3)\nin A: f32[N + R, N + R]\nout s[i: N, j: N] = sum[r: R, c: R] A[i + r, j + c]\n",
      "program wedge(N = 5)\nin A: f32[N, N]\nout s[i: N] = sum[r: 0..i+1, c: r..i+1] A[r, c]\n",
  };
  for (const char* text : kPrograms)
    for (NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc}) {
      const Program program = normalized_program(text);
      auto nest = poly::base_nest(program, cls);
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      const std::string base = print(*nest);
      EXPECT_EQ(verdict(program, base).verdict, Verdict::proven) << base;
      int rejected = 0;
      for (uint64_t seed = 1; seed < 600 && rejected < 40; ++seed) {
        const std::string mutant = Mutator(base, seed).mutated();
        auto parsed = parse_loop_nest(mutant);
        if (mutant == base || !parsed || !verify(*parsed).ok() || !tag_mode_rejects(program, *parsed)) continue;
        ++rejected;
        EXPECT_NE(poly::check_nest(program, *parsed).verdict, Verdict::proven) << "seed " << seed << "\n" << mutant;
      }
      EXPECT_GE(rejected, 20) << base;
    }
}

/// What never runs is no part of a proof, whatever it says; as soon as it runs it is.
TEST(SequenceOfPoints, loops_that_never_run_are_left_out) {
  const Program program = normalized_program("program copy(N = 6)\nin A: f32[N]\nout B[i: N] = A[i]\n");
  const std::string base = print(*poly::base_nest(program, NumericsClass::reassoc));
  const auto followed_by = [&](const std::string& condition, const std::string& read) {
    return with(with(with(base, "loops i", "loops i, k"), "  for i in", "  seq {\n  for i in"), "  }\n}",
                "  }\n  for k in 0 .. 6 {\n    if " + condition + " {\n      compute 0(k) store: B[k] <- " + read +
                    "\n    }\n  }\n  }\n}");
  };
  EXPECT_EQ(verdict(program, followed_by("k - 5 >= 0", "A[k]")).verdict, Verdict::proven)
      << followed_by("k - 5 >= 0", "A[k]");
  EXPECT_EQ(verdict(program, followed_by("k - 5 >= 0", "A[k + 9]")).verdict, Verdict::refuted);
  EXPECT_EQ(verdict(program, followed_by("k - 6 >= 0", "A[k + 9]")).verdict, Verdict::proven)
      << verdict(program, followed_by("k - 6 >= 0", "A[k + 9]")).message;
}

}  // namespace
}  // namespace polyweft::test
