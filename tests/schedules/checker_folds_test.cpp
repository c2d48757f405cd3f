// The checker on sums whose folds lie in tiles that many statements share: points with the numbers of their tiles,
// paths from first values to ends.
#include "bands_harness.h"
#include "mutator.h"
#include "poly/check/checker.h"
#include "proofs.h"
#include "samples.h"

namespace polyweft::test {
namespace {

const char* kLuFolds =
    "program lu(N = 14)\nin A0: f64[N, N]\nout A[i: N, j: i..N]: f64 = A0[i, j] - sum[k: 0..i] A[i, k] * A[k, j]\n"
    "out A[i: N, j: 0..i]: f64 = (A0[i, j] - sum[k: 0..j] A[i, k] * A[k, j]) / A[j, j]\n";
/// Panels, blocks inside them, far products in registers.
const char* kPanels =
    R"(band lu [j, k, i] of A.1.first: [j, 0, i], A.2.first: [j, 0, i], A@1: [j, i, i], A@2: [j, j, i], A.1.folds: [j, k, i], A.2.folds: [j, k, i]
fold A.1 d1 mod 8
fold A.2 d1 mod 8
tile lu [j: 8, k: 8, i: 8, j: 4, k: 4, i: 4]
permute lu [j.1, k.1, i.1, j.2, k.2, i.2, k, j, i]
isolate A.1.first, A.2.first, A.1.folds, A.2.folds in lu at i.1 where j - k - 1, i - k - 1
isolate A.1.first, A.2.first, A.1.folds, A.2.folds in lu at i.2 where j - k - 1, i - k - 1
distribute lu at k
tile A.1.folds.far [j: 4, i: 2]
permute A.1.folds.far [i.1, j.1, k, i, j]
promote A read 2 in A.1.folds.far at root heap layout [d1 / 4, d0, d1 % 4]
accumulate A.1.folds.far at j.1 stack
)";

void expect_no_mutant_proven(const Program& program, const LoopNest& nest, int wanted) {
  const std::string text = print(nest);
  int rejected = 0, refuted = 0;
  for (uint64_t seed = 1; seed < 4000 && rejected < wanted; ++seed) {
    const std::string mutant = Mutator(text, seed).mutated();
    auto parsed = parse_loop_nest(mutant);
    if (mutant == text || !parsed || !verify(*parsed).ok() || !tag_mode_rejects(program, *parsed)) continue;
    ++rejected;
    const poly::NestCheck check = poly::check_nest(program, *parsed);
    EXPECT_NE(check.verdict, Verdict::proven) << "seed " << seed << "\n" << mutant;
    refuted += check.verdict == Verdict::refuted;
  }
  EXPECT_EQ(rejected, wanted);
  std::printf("%d mutants rejected by tags, %d refuted\n", rejected, refuted);
}

TEST(CheckerOfFolds, proves_a_factorization_in_panels_and_none_of_its_mutants) {
  const Program program = normalized_program(kLuFolds);
  expect_right(program, kPanels);
  auto t = replayed(program, kPanels);
  ASSERT_TRUE(t.ok()) << described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  expect_no_mutant_proven(program, *nest, takes_all_cases() ? 24 : 3);
}

const char* kIntegerProduct =
    "program gemm(M = 13, N = 11, K = 9)\nin A: i32[M, K]\nin B: i32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
    "B[k, j]\n";

TEST(CheckerOfFolds, proves_no_mutant_of_tiles) {
  const Program program = normalized_program(kIntegerProduct);
  auto nest = nest_of(program, "trace 1\n  tile C [i: 8, k: 4, i: 4]; permute C [i.1, k.1, i.2, k, i, j]\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven);
  expect_no_mutant_proven(program, *nest, 150);
}

/// A loop's counter is no tile number where tiles overlap: a point folded by two of them counts twice.
TEST(CheckerOfFolds, a_point_in_two_tiles_is_folded_twice) {
  const Program program = normalized_program(kIntegerProduct);
  auto nest = nest_of(program, "trace 1\n  tile C [k: 4]; permute C [k.1, i, j, k]\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  const std::string text = print(*nest);
  auto verdict = [&](const std::string& mutant) {
    auto parsed = parse_loop_nest(mutant);
    return parsed ? poly::check_nest(program, *parsed)
                  : poly::NestCheck{Verdict::not_proven, parsed.error().code, parsed.error().message, 0, 0};
  };
  EXPECT_EQ(verdict(text).verdict, Verdict::proven);
  const poly::NestCheck twice = verdict(with(text, "min(4, ", "min(5, "));
  EXPECT_EQ(twice.verdict, Verdict::refuted);
  EXPECT_NE(twice.message.find("folded twice"), std::string::npos) << words(twice) << "\n" << text;
  const poly::NestCheck lost = verdict(with(text, "min(4, ", "min(3, "));
  EXPECT_EQ(lost.verdict, Verdict::refuted);
  EXPECT_NE(lost.message.find("never folded"), std::string::npos) << words(lost);
}

/// Tiles that begin elsewhere than at a multiple of their size have other numbers: what the numbers do not settle is
/// asked without them.
TEST(CheckerOfFolds, proves_tiles_that_begin_anywhere) {
  const Program program =
      normalized_program("program tails(M = 14, N = 11)\nin A: i32[M, N]\nout s[i: M] = sum[j: 3..N] A[i, j]\n");
  auto nest = nest_of(program, "trace 1\n  tile s [j: 4]; permute s [j.1, i, j]\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  const poly::NestCheck check = poly::check_nest(program, *nest);
  EXPECT_EQ(check.verdict, Verdict::proven) << words(check) << print(*nest);
  expect_no_mutant_proven(program, *nest, 60);
}

}  // namespace
}  // namespace polyweft::test
