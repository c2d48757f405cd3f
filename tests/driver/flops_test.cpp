// The arithmetic of a program, counted by formula, is what enumerating its points gives, and what its base nest
// executes.
#include "driver/flops.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "driver/isl_client.h"
#include "driver/task.h"
#include "ir/values/domain.h"
#include "support/rng.h"

namespace polyweft {
namespace {

struct Case {
  const char* text;
  double flops;
};
// By hand: the formula beside each.
const Case kCases[] = {
    {"program p(M = 5, N = 7, K = 11)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, "
     "j]\n",
     2. * 5 * 7 * 11},
    {"program p(N = 9)\nin A: f64[N, N]\nout s[i: N] = sum[k: 0..i+1] A[i, k]\n", 45},         // N (N + 1) / 2
    {"program p(N = 9)\nin A: f64[N, N]\nout s[i: N] = sum[k: N where k < i] A[i, k]\n", 36},  // N (N - 1) / 2
    {"program p(N = 9)\nin A: f64[N, N]\nout s[i: N] = 2.0 * (sum[k: N where k % 3 == 0] A[i, k]) + 1.0\n",
     9 * 3 + 9 * 2},  // folds, then product and sum
    {"program p(N = 10)\nin X: f32[N]\nout Y[i: N] = X[i] + 1.0 where i == 0 else X[i] * 2.0 + X[i-1]\n", 1 + 9 * 2},
    {"program p(N = 10)\nin X: f32[N]\nout partial Y[i: N] where i % 2 == 1 = X[i] + 1.0\n", 5},
    {"program p(N = 0) assume N >= 0\nin X: f32[N, 3]\nout Y[i: 3] = sum[k: N] X[k, i]\n", 0},
    {"program p(N = 6)\nin X: f32[N]\nout Y[i: N] = X[i]\n", 0},
};

TEST(Flops, by_hand) {
  for (const Case& c : kCases) {
    const auto program = parse_program(c.text);
    ASSERT_TRUE(program) << c.text << (program ? "" : program.error().message);
    EXPECT_EQ(count_flops(make_task(*program, {}, find_target("host").value())->program), c.flops) << c.text;
  }
}

Affine random_affine(Rng& rng, const std::vector<VarId>& of) {
  Affine e = Affine::of(static_cast<int64_t>(rng.below(9)) - 4);
  for (const VarId var : of)
    if (rng.chance(0.5)) e = e + Affine::variable(var, static_cast<int64_t>(rng.below(7)) - 3);
  return rng.chance(0.2) ? floor_div(e, 2) : e;
}

Guard random_guard(Rng& rng, const std::vector<VarId>& of, int depth) {
  const uint64_t kind = rng.below(depth > 0 ? 6 : 2);
  if (kind == 0) return guard_eq0(random_affine(rng, of));
  if (kind == 1) return guard_ge0(random_affine(rng, of));
  if (kind == 2) return guard_not(random_guard(rng, of, depth - 1));
  std::vector<Guard> parts;
  for (uint64_t n = rng.below(4); n > 0; --n) parts.push_back(random_guard(rng, of, depth - 1));
  return kind == 3 ? guard_any(parts) : guard_all(parts);
}

TEST(Flops, points_by_formula_are_the_points_that_there_are) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed);
    std::vector<IndexRange> ranges;
    std::vector<VarId> bound = {0};  // a parameter
    for (uint64_t n = 1 + rng.below(4); n > 0; --n) {
      const auto var = static_cast<VarId>(bound.size());
      const Affine lo = rng.chance(0.5) ? Affine::of(0) : random_affine(rng, bound);
      ranges.push_back(
          {var, lo, rng.chance(0.5) ? Affine::of(static_cast<int64_t>(rng.below(7))) : random_affine(rng, bound)});
      bound.push_back(var);
    }
    const Guard where = rng.chance(0.3) ? Guard{} : random_guard(rng, bound, 2);
    std::vector<int64_t> values(bound.size(), 0);
    values[0] = static_cast<int64_t>(rng.below(6));
    double expected = 0;
    std::vector<int64_t> env = values;
    ir::for_each_point(ranges, where, env, [&] { return ++expected, true; });
    ASSERT_EQ(count_points(ranges, where, values), expected) << "seed " << seed;
  }
}

TEST(Flops, of_every_example_are_what_its_base_nest_executes) {
  IslClient::Options options;
  options.helper = PW_BINARY_DIR "/src/tools/polyweft-isl";
  IslClient isl(options);
  int compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(PW_SOURCE_DIR "/examples")) {
    if (file.path().extension() != ".weft") continue;
    const Task task = make_task(load_program(file.path().string()).value(), {}, find_target("host").value()).value();
    const auto base = isl.base_nest(task);
    ASSERT_TRUE(base) << file.path() << base.error().message;
    EXPECT_NEAR(count_flops(task.program), count_flops(*base), 1e-9 * count_flops(*base)) << file.path();
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

}  // namespace
}  // namespace polyweft
