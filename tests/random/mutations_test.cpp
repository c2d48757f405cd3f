// Children of random mutations before all judges (pairs.h). Each program is drawn, or one of the texts below; parents
// are what rules propose for it and earlier children. `PW_RANDOM_PAIRS=500 random_tests --gtest_filter=Mutations.*`
// takes 500 programs, `PW_RANDOM_FIRST` is the first one's number. A failure prints the smallest pair that shows it.
#include "schedules/mutations/mutations.h"

#include <gtest/gtest.h>

#include "lang/parser.h"
#include "poly/base_nest.h"
#include "random/band_traces.h"
#include "random/pairs.h"
#include "random/recurrences.h"
#include "random/settings.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::random_test {
namespace {

constexpr const char* kTexts[] = {
    "program product(M = 13, N = 37, K = 21)\nin A: f32[M, K]\nin B: f32[K, N]\nin b: f32[N]\nout C[i: M, j: N] = "
    "max(0, b[j] + sum[k: K] A[i, k] * B[k, j])\n",
    "program window(H = 11, W = 35, C = 3, F = 19)\nin X: f32[C, H, W]\nin K: f32[F, C, 3, 3]\nout Y[f: F, y: H, x: W] "
    "= sum[c: C, r: 3, s: 3] (X[c, y + r - 1, x + s - 1] where y + r >= 1 and y + r <= H and x + s >= 1 and x + s <= W "
    "else 0) * K[f, c, r, s]\n",
    "program rows(M = 7, N = 45)\nin X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = exp(X[i, j] - "
    "m[i])\nlet s[i: M] = sum[j: N] e[i, j]\nout Y[i: M, j: N] = e[i, j] / s[i]\n",
    "program steps(T = 5, N = 20)\nin X: f32[N, N]\nlet A[0, i: N, j: N] = X[i, j]\nlet A[t: 1..T+1, i: N, j: N] = "
    "select(i >= 1 and i <= N-2 and j >= 1 and j <= N-2, 0.2 * (A[t-1, i, j] + A[t-1, clamp(i-1, 0, N-1), j] + A[t-1, "
    "clamp(i+1, 0, N-1), j] + A[t-1, i, clamp(j-1, 0, N-1)] + A[t-1, i, clamp(j+1, 0, N-1)]), A[t-1, i, j])\nout R[i: "
    "N, j: N] = A[T, i, j]\n",
    "program cells(T = 6, B = 3, H = 20)\nin X: f32[T, B, H]\nin U: f32[H, H]\nlet h[0, b: B, j: H]: f32 = 0\nlet h[t: "
    "1..T+1, b: B, j: H]: f32 = tanh(X[t-1, b, j] + sum[k: H] h[t-1, b, k] * U[k, j])\nout Y[t: T, b: B, j: H] = "
    "h[t+1, b, j]\n",
};

std::optional<Program> first_program(const std::string& text) {
  auto read = lang::parse(text, "mutations.weft");
  return read ? std::optional(read->programs.front()) : std::nullopt;
}

Pair drawn_program(uint64_t seed) {
  Rng rng = Rng(seed).fork("program");
  Pair pair = random_pair(seed);
  pair.trace = {};
  pair.base_order = false;
  if (rng.chance(0.5))
    pair.source = first_program(kTexts[rng.below(std::size(kTexts))]).value();
  else if (rng.chance(0.3))
    if (auto drawn = first_program(random_recurrence(rng))) pair.source = std::move(*drawn);
  pair.whole_numbers = false;
  return pair;
}

struct Parent {
  std::shared_ptr<const NestTemplate> t;
  std::vector<int64_t> decisions;
};

struct ChildCounts {
  int tried = 0, legal = 0, agreed = 0, refused = 0;
};

std::vector<Parent> first_parents(const Program& program, const Pair& pair, const Machine& machine) {
  schedules::Isl isl = isl_of(program);
  if (schedules::has_recurrence(program))
    if (auto base = poly::base_nest(program, pair.cls))
      isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
  std::vector<Parent> out;
  if (auto sketches = schedules::sketch_templates(program, pair.cls, machine, isl))
    for (NestTemplate& t : *sketches) {
      auto decisions = values_of(t.trace);
      out.push_back({std::make_shared<const NestTemplate>(std::move(t)), std::move(decisions)});
    }
  return out;
}

void judge_children(uint64_t seed, ChildCounts& counts) {
  constexpr int kTries = 30, kMostJudged = 6;
  Pair pair = drawn_program(seed);
  Judgement why;
  const auto expected = expected_of(pair, why);
  if (!expected) return;
  const Machine machine = find_target("host")->machine;
  std::vector<Parent> parents = first_parents(expected->program, pair, machine);
  const schedules::Mutator mutator(expected->program, pair.cls, machine, isl_of(expected->program));
  Rng rng = Rng(seed).fork("mutations");
  for (int k = 0, judged = 0; k < kTries && judged < kMostJudged && !parents.empty(); ++k) {
    const Parent parent = parents[rng.below(parents.size())], other = parents[rng.below(parents.size())];
    ++counts.tried;
    auto child = rng.chance(0.2) ? mutator.crossed({*parent.t, parent.decisions}, {*other.t, other.decisions}, rng)
                                 : mutator.mutated({*parent.t, parent.decisions}, rng);
    if (!child) continue;
    ++counts.legal;
    ++judged;
    pair.trace = child->trace;
    EXPECT_EQ(parse_trace(child->trace.text())->text(), child->trace.text());
    const Judgement judgement = judge(pair, *expected);
    counts.agreed += judgement.outcome == Outcome::agreed;
    counts.refused += judgement.outcome == Outcome::refused;
    if (judgement.outcome == Outcome::disagreement) {
      const Pair least = shrunk(pair, judgement.kind);
      ADD_FAILURE() << "seed " << seed << ": " << judgement.kind << ": " << judgement.message << "\nsmallest:\n"
                    << described(least) << judge(least).message;
      return;
    }
    if (judgement.outcome != Outcome::agreed) continue;
    auto decisions = values_of(child->trace);
    parents.push_back({std::make_shared<const NestTemplate>(std::move(*child)), std::move(decisions)});
  }
}

TEST(Mutations, children_agree_with_all_judges) {
  const int programs = number_of("PW_RANDOM_PAIRS", 25), first = number_of("PW_RANDOM_FIRST", 1);
  ChildCounts counts;
  for (int seed = first; seed < first + programs; ++seed) judge_children(static_cast<uint64_t>(seed), counts);
  std::printf("mutations: %d tried, %d legal, %d agreed, %d refused by their sizes\n", counts.tried, counts.legal,
              counts.agreed, counts.refused);
  EXPECT_GT(counts.legal * 5, counts.tried);  // fewer where the host's vectors are wide, on small programs
  EXPECT_GT(counts.agreed * 3, counts.legal);
}

}  // namespace
}  // namespace polyweft::random_test
