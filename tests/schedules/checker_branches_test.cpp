// `if <all of a tile lies inside> { rows written out } else { rows anywhere }`: the checker proves the second branch
// and compares the first with it. What is wrong in the first alone must not pass.
#include "bands_harness.h"
#include "mutator.h"
#include "samples.h"

namespace polyweft::test {
namespace {

const char* kSeidelInBranches =
    "program seidel(T = 3, N = 22)\nin A0: f64[N, N]\nlet A[0, i: N, j: N] = A0[i, j]\n"
    "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = (A[t, i-1, j-1] + A[t, i-1, j] + A[t, i-1, j+1] + A[t, i, j-1] + A[t-1, "
    "i, j]\n"
    "  + A[t-1, i, j+1] + A[t-1, i+1, j-1] + A[t-1, i+1, j] + A[t-1, i+1, j+1]) / 9.0\n"
    "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A[t-1, i, j]\nout A_out[i: N, j: N] "
    "= A[T, i, j]\n";
const char* kRowsInBranches =
    "band seidel [t, j, i] of A@2: [t, j + 2*i + 4*t, i + 4*t], A@3: [t, j + 2*i + 4*t, i + 4*t]\nfold A d0 mod 1\n"
    "store A [d0, d2 + 2*d1, d1] layout [c0, c2 / 4, c1, c2 % 4]\ntile seidel [t: 2, i: 8, j: 4]\npermute seidel [t.1, "
    "i.1, j.1, t, j, i]\n";
const char* kWritten = "distribute seidel at j\nvectorize A@2 i 4\nunroll A@2 i\n";

const char* kJacobiInBranches =
    "program jacobi(T = 4, N = 17)\nin A0: f64[N, N]\nin B0: f64[N, N]\nlet A[0, i: N, j: N] = A0[i, j]\n"
    "let B[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.2 * (A[t-1, i, j] + A[t-1, i, j-1] + A[t-1, i, j+1] + A[t-1, i+1, j] + "
    "A[t-1, i-1, j])\n"
    "let B[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = B0[i, j]\n"
    "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.2 * (B[t, i, j] + B[t, i, j-1] + B[t, i, j+1] + B[t, i+1, j] + B[t, "
    "i-1, j])\n"
    "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A0[i, j]\nout A_out[i: N, j: N] = "
    "A[T, i, j]\n";
const char* kApart =
    "band jacobi [t, i, j] of B: [t, i + 2*t, j + 8*t], A@2: [t, i + 2*t + 1, j + 8*t + 4], A@3: [t, i + 2*t + 1, j + "
    "8*t + 4]\nfold A d0 mod 1\nfold B d0 mod 1\n"
    "tile jacobi [t: 2, j: 8, i: 4]\npermute jacobi [t.1, j.1, i.1, t]\nisolate B@1, A@2 in jacobi at t where i - 2*t "
    "- 2, 15 - i + 2*t, j - 8*t - 5, 15 - j + 8*t\n"
    "distribute jacobi at t\npermute B@1 [j, i]\npermute A@2 [j, i]\nvectorize B@1 j 4\nvectorize A@2 j 4\nunroll B@1 "
    "i\nunroll A@2 i\n"
    "permute B@1.far [j, i]\npermute A@2.far [j, i]\nvectorize B@1.far j 4\nvectorize A@2.far j 4\nunroll B@1.far "
    "i\nunroll A@2.far i\n";

LoopNest branch_nest(const Program& program, const std::string& steps) {
  auto t = replayed(program, steps);
  EXPECT_TRUE(t.ok()) << described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  EXPECT_TRUE(nest.ok()) << described(nest.error());
  return *std::move(nest);
}

TEST(CheckerOfBranches, rows_of_vectors_are_masked_where_they_begin_and_end_between_two) {
  expect_right(normalized_program(kSeidelInBranches), std::string(kRowsInBranches) + kWritten);
  expect_right(
      normalized_program(kSeidelInBranches),
      std::string(kRowsInBranches) +
          "isolate A@2 in seidel at t where i - 4*t - 1, 20 - i + 4*t, j - 2*i + 4*t - 1, 20 - j + 2*i - 4*t\n" +
          kWritten + "vectorize A@2.far i 4\nunroll A@2.far i\n");
}

TEST(CheckerOfBranches, rows_apart_from_borders) {
  expect_right(normalized_program(kJacobiInBranches), kApart);
}

TEST(CheckerOfBranches, conditions_that_hold_too_often_are_refuted) {
  const Program program = normalized_program(kJacobiInBranches);
  const std::string text = print(branch_nest(program, kApart));
  const size_t branch = text.find("if all(");
  ASSERT_NE(branch, std::string::npos) << text;
  const size_t end = text.find(") {", branch);
  int tried = 0;
  for (size_t at = text.find(" >= 0", branch); at < end;
       at = text.find(" >= 0", at + 1)) {  // each of the conditions, weaker by one: + 1
    const std::string weaker = std::string(text).insert(at, " + 1");
    auto nest = parse_loop_nest(weaker);
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    ++tried;
    const auto found = poly::check_nest(program, *nest);
    EXPECT_EQ(found.verdict == Verdict::proven, !tag_mode_rejects(program, *nest)) << found.message << weaker;
  }
  EXPECT_EQ(tried, 4);
}

TEST(CheckerOfBranches, mutants_are_not_proven) {
  const uint64_t seeds = takes_all_cases() ? 60 : 12;
  int wrong = 0, right = 0, proven = 0;
  for (const auto& [program_text, steps] :
       {std::pair<const char*, std::string>{kSeidelInBranches, std::string(kRowsInBranches) + kWritten},
        {kJacobiInBranches, kApart}}) {
    const Program program = normalized_program(program_text);
    const std::string text = print(branch_nest(program, steps));
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      auto nest = parse_loop_nest(Mutator(text, seed).mutated());
      if (!nest || !verify(*nest)) continue;
      const bool is_wrong = tag_mode_rejects(program, *nest);
      poly::NestCheckLimits limits;
      limits.isl_operations = takes_all_cases() ? 400'000 : 250'000;  // what is not the same is no longer simple
      const auto found = poly::check_nest(program, *nest, limits);
      (is_wrong ? wrong : right) += 1;
      if (!is_wrong) proven += found.verdict == Verdict::proven;
      if (is_wrong) {
        EXPECT_NE(found.verdict, Verdict::proven) << "seed " << seed << "\n" << print(*nest);
      }
    }
  }
  EXPECT_GT(wrong * 4, static_cast<int>(seeds));
  EXPECT_GT(proven, takes_all_cases() ? 10 : 0) << right;  // the others need more operations
}

/// Two rows one after the other share memory; the first branch computes both before it reads them.
TEST(CheckerOfBranches, memory_that_is_shared_is_looked_at_in_both) {
  const Program program = normalized_program(
      "program rows(N = 4)\nin x: f64[N]\nlet a[j: N] = x[j] + 1.0\nlet b[j: N] = x[j] * 2.0\n"
      "out y[j: N] = a[j] * 3.0\nout z[j: N] = b[j] * 3.0\n");
  const auto row = [](const std::string& equation, const std::string& index, const std::string& what) {
    return "for " + index + " in 0 .. 4 {\ncompute " + equation + "(" + index + ") store: " + what + "\n}\n";
  };
  const auto text = [&](const std::string& within) {
    const std::string a = "a[", b = "b[";
    return "nest 1 rows class reassoc\nparam N = 4\nloops j1, j2, j3, j4, k1, k2, k3, k4\nbuffer x: f64[4] argument "
           "align 8 tensor 0 element [$0]\n"
           "buffer a: f64[4] heap align 64 tensor 1 element [$0]\nbuffer b: f64[4] heap align 64 " +
           within +
           "tensor 2 element [$0]\n"
           "buffer y: f64[4] argument align 8 output tensor 3 element [$0]\nbuffer z: f64[4] argument align 8 output "
           "tensor 4 element [$0]\n"
           "arguments x, y, z\nbody {\nalloc a {\nalloc b {\nif all(N - 1 >= 0, N - 2 >= 0, N - 3 >= 0) {\n" +
           row("0", "j1", a + "j1] <- (x[j1] + 1:f64)") + row("1", "j2", b + "j2] <- (x[j2] * 2:f64)") +
           row("2", "j3", "y[j3] <- (a[j3] * 3:f64)") + row("3", "j4", "z[j4] <- (b[j4] * 3:f64)") + "} else {\n" +
           row("0", "k1", a + "k1] <- (x[k1] + 1:f64)") + row("2", "k2", "y[k2] <- (a[k2] * 3:f64)") +
           row("1", "k3", b + "k3] <- (x[k3] * 2:f64)") + row("3", "k4", "z[k4] <- (b[k4] * 3:f64)") + "}\n}\n}\n}\n";
  };
  auto apart = parse_loop_nest(text(""));
  ASSERT_TRUE(apart.ok()) << described(apart.error());
  EXPECT_EQ(poly::check_nest(program, *apart).verdict, Verdict::proven) << poly::check_nest(program, *apart).message;
  auto shared = parse_loop_nest(text("within a at 0 "));
  ASSERT_TRUE(shared.ok()) << described(shared.error());
  EXPECT_TRUE(tag_mode_rejects(program, *shared));
  EXPECT_NE(poly::check_nest(program, *shared).verdict, Verdict::proven);
}

}  // namespace
}  // namespace polyweft::test
