// The independent checker on scheduled nests, and on mutated ones: what tag mode rejects, the checker must never prove.
#include "poly/check/checker.h"

#include <cstring>

#include "harness.h"
#include "machines.h"
#include "mutator.h"
#include "poly/base_nest.h"
#include "proofs.h"
#include "samples.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

const char* kHandTrace = R"(trace 1
  tile C [j: nc, k: kc, i: mc, j: nr, i: mr]
  promote B at kc heap layout [j / nr, k, j % nr]
  promote A at mc heap layout [i / mr, k, i % mr]
  accumulate C at mr reg
  unroll C i ; vectorize C j 16 ; parallel C mc
)";

std::string with_sizes(const std::string& decisions) {
  return kHandTrace + std::string("decide ") + decisions + "\n";
}

TEST(CheckerOfSchedules, proves_a_packed_three_level_gemm_at_any_size) {
  struct Case {
    int64_t m, n, k;
    const char* sizes;
  };
  for (Case c : {Case{64, 64, 64, "nc = 32, kc = 16, mc = 12, nr = 16, mr = 3"},
                 Case{61, 67, 53, "nc = 32, kc = 16, mc = 12, nr = 16, mr = 3"},
                 Case{512, 512, 512, "nc = 256, kc = 128, mc = 96, nr = 32, mr = 6"},
                 Case{509, 521, 503, "nc = 256, kc = 128, mc = 96, nr = 32, mr = 6"}}) {
    Program program = normalized_program(gemm_text(), {{"M", c.m}, {"N", c.n}, {"K", c.k}});
    auto nest = nest_of(program, with_sizes(c.sizes).c_str());
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    poly::NestCheck check = poly::check_nest(program, *nest);
    EXPECT_EQ(check.verdict, Verdict::proven) << c.m << ": " << words(check);
    RecordProperty("ms_" + std::to_string(c.m), std::to_string(check.ms));
  }
}

struct Counts {
  int rejected_by_tags = 0, refuted = 0, undecided = 0, wrong = 0;
};

void judge_mutants(const Program& program, const LoopNest& nest, int wanted, Counts& counts) {
  std::string text = print(nest);
  int found = 0;
  for (uint64_t seed = 1; seed < 4000 && found < wanted; ++seed) {
    std::string mutant = Mutator(text, seed).mutated();
    if (mutant == text) continue;
    auto parsed = parse_loop_nest(mutant);
    if (!parsed || !verify(*parsed).ok() || !tag_mode_rejects(program, *parsed)) continue;
    ++found;
    ++counts.rejected_by_tags;
    poly::NestCheck check = poly::check_nest(program, *parsed);
    counts.refuted += check.verdict == Verdict::refuted;
    counts.undecided += check.verdict == Verdict::not_proven;
    counts.wrong += check.verdict == Verdict::proven;
    EXPECT_NE(check.verdict, Verdict::proven) << "seed " << seed << "\n" << mutant;
  }
}

TEST(CheckerOfSchedules, proves_no_mutant_that_tag_mode_rejects) {
  Counts counts;
  Program gemm = normalized_program(gemm_text(), {{"M", 9}, {"N", 21}, {"K", 7}});
  std::string sizes = with_sizes("nc = 16, kc = 4, mc = 6, nr = 16, mr = 3");
  auto packed = nest_of(gemm, sizes.c_str());
  ASSERT_TRUE(packed.ok());
  judge_mutants(gemm, *packed, takes_all_cases() ? 300 : 100, counts);
  const char* kStencil =
      "program heat(T = 5, N = 9)\nin A0: f64[N]\nlet A[0, i: N] = A0[i]\nlet A[t: 1..T+1, i: 1..N-1] = 0.5 * (A[t-1, "
      "i-1] + A[t-1, i+1])\n"
      "let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = A[t-1, i]\nout R[i: N] = A[T, i]\n";
  const char* kSoftmax =
      "program rows(M = 4, N = 9)\nin X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet s[i: M] = sum[j: N] exp(X[i, "
      "j] - m[i])\nout Y[i: M, j: N] = exp(X[i, j] - "
      "m[i]) / s[i]\n";
  for (const char* text : {kStencil, kSoftmax}) {
    Program program = normalized_program(text);
    auto base = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(base.ok());
    judge_mutants(program, *base, takes_all_cases() ? 100 : 40, counts);
  }
  std::printf("mutants rejected by tags %d: refuted %d, not decided %d, wrongly proven %d\n", counts.rejected_by_tags,
              counts.refuted, counts.undecided, counts.wrong);
  EXPECT_GE(counts.rejected_by_tags, takes_all_cases() ? 500 : 180);
}

/// Sums and a maximum in private lanes, merged by trees.
TEST(CheckerOfSchedules, proves_no_mutated_merge_that_tag_mode_rejects) {
  const char* kPrograms[] = {
      "program dots(M = 3, N = 21)\nin X: f32[M, N]\nin Y: f32[M, N]\nout s[i: M] = sum[j: N] X[i, j] * Y[i, j]\n",
      "program most(M = 3, N = 19)\nin X: f32[M, N]\nout m[i: M] = max[j: N] X[i, j]\n",
      "program ends(M = 5)\nin X: i32[M, M]\nout p[i: M] = prod[j: 0..i+1] X[i, j]\n",
  };
  Counts counts;
  for (const char* text : kPrograms) {
    Program program = normalized_program(text);
    const char tensor = *(std::strstr(text, "out ") + 4);
    for (std::string tile : {"8", "16"}) {
      std::string name(1, tensor), trace = "trace 1\n  tile " + name + " [j: " + tile + "]; permute " + name +
                                           " [i, j.1, j]; accumulate " + name + " at i reg; vectorize " + name +
                                           " j 8\n";
      auto nest = nest_of(program, trace);
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      ASSERT_NE(print(*nest).find(" merge "), std::string::npos);
      poly::NestCheck check = poly::check_nest(program, *nest);
      EXPECT_EQ(check.verdict, Verdict::proven) << words(check);
      judge_mutants(program, *nest, 40, counts);
    }
  }
  std::printf("mutated merges rejected by tags %d: refuted %d, not decided %d, wrongly proven %d\n",
              counts.rejected_by_tags, counts.refuted, counts.undecided, counts.wrong);
  EXPECT_EQ(counts.rejected_by_tags, 240);
  EXPECT_EQ(counts.refuted, 240);
}

/// One of each kind, by name: what is said.
TEST(CheckerOfSchedules, refutes_wrong_merges) {
  Program program = normalized_program(
      "program dots(M = 3, N = 21)\nin X: f32[M, N]\nin Y: f32[M, N]\nout s[i: M] = sum[j: N] X[i, j] * Y[i, j]\n");
  auto nest =
      nest_of(program, "trace 1\n  tile s [j: 8]; permute s [i, j.1, j]; accumulate s at i reg; vectorize s j 8\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  const std::string text = print(*nest);
  auto verdict_of = [&](const std::string& mutant) {
    auto parsed = parse_loop_nest(mutant);
    return parsed ? words(poly::check_nest(program, *parsed)) : described(parsed.error());
  };
  auto line = [&](const std::string& kind, size_t from = 0) {
    size_t at = text.find(kind, from), start = text.rfind('\n', at) + 1;
    return std::pair{start, text.find('\n', at) + 1 - start};
  };
  auto [merge, merge_size] = line(" merge ");
  auto [init, init_size] = line(" init ");
  EXPECT_EQ(verdict_of(text).substr(0, 6), "proven");
  EXPECT_NE(verdict_of(std::string(text).erase(merge, merge_size)).find("refuted PW0401"), std::string::npos)
      << verdict_of(std::string(text).erase(merge, merge_size));
  EXPECT_NE(verdict_of(std::string(text).erase(init, init_size)).find("refuted PW0403"), std::string::npos)
      << verdict_of(std::string(text).erase(init, init_size));
  std::string again = text, strict = text;
  again.insert(merge, text.substr(merge, merge_size));
  strict.replace(strict.find("class reassoc"), 13, "class strict");
  for (size_t at = strict.find(" fused"); at != std::string::npos; at = strict.find(" fused")) strict.erase(at, 6);
  EXPECT_NE(verdict_of(again).find("go on from the same state"), std::string::npos) << verdict_of(again);
  EXPECT_NE(verdict_of(strict).find("refuted PW0406"), std::string::npos) << verdict_of(strict);
}

TEST(CheckerOfSchedules, proves_the_sketches) {
  const char* kPrograms[] = {
      gemm_text(),
      "program rows(M = 5, N = 37)\nin X: f32[M, N]\nlet s[i: M] = sum[j: N] X[i, j]\nlet e[i: M, j: N] = X[i, j] - "
      "s[i]\nout Y[i: M, j: N] = e[i, j] * e[i, j]\n",
      "program scaled(M = 9, N = 21, K = 7)\nin A: f32[M, K]\nconst in B: f32[K, N]\nin s: f32\nout C[i: M, j: N] = s "
      "* sum[k: K] A[i, k] * B[k, j]\n",
  };
  int proven = 0, all = 0;
  for (const char* text : kPrograms) {
    Program program = normalized_program(text);
    for (auto cls : {NumericsClass::reassoc, NumericsClass::strict}) {
      for (const Trace& trace : schedules::sketches(program, cls, machine_with(32, 16, {1 << 10, 8 << 10}, 2))) {
        auto t = schedules::replay(program, cls, trace);
        ASSERT_TRUE(t.ok());
        auto nest = instantiate(*t, values_of(trace));
        ASSERT_TRUE(nest.ok());
        poly::NestCheck check = poly::check_nest(program, *nest);
        ++all;
        proven += check.verdict == Verdict::proven;
        EXPECT_NE(check.verdict, Verdict::refuted) << words(check) << "\n" << trace.text();
      }
    }
  }
  std::printf("sketches proven: %d of %d\n", proven, all);
}

}  // namespace
}  // namespace polyweft::test
