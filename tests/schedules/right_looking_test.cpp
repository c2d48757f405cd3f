// Sums over what their own row has finished: the rule's form is proven and right, and a sum in pieces is refused to
// those that need all of it.
#include "schedules/sketches/right_looking.h"

#include "bands_harness.h"
#include "machines.h"

namespace polyweft::test {
namespace {

std::optional<Trace> right_looking(const Program& program) {
  schedules::Isl isl = isl_for(program);
  const auto proposals = poly::propose_bands(program);
  if (!proposals || proposals->size() != 1) return std::nullopt;
  schedules::Sketcher s(program, NumericsClass::reassoc, machine_with(), isl);
  if (!schedules::add_right_looking(s, program, proposals->front())) return std::nullopt;
  s.plan_others();
  return s.t_.trace;
}

struct Parentheses {
  std::string name, text;
  std::vector<std::string> steps;
};

const std::string kChain =
    "program chain(N = 21)\nin p: i32[N + 1] values 1..20\nlet C[i: N, i]: i32 = 0\n"
    "let C[i: N, j: i+1..N]: i32 = min[k: i..j] (C[i, k] + C[k+1, j] + p[i] * p[k+1] * p[j+1])\nout best = C[0, N-1]\n";

TEST(RightLooking, parentheses_are_folds_of_what_their_row_has_finished) {
  const std::vector<Parentheses> table = {
      {"chain",
       kChain,
       {"[i, k, j] of C@2.first: [-i, i, j], C@1: [-i, i, i], C@2.folds: [-i, k, j]", "distribute band1 at k",
        "vectorize C@2.folds j 16"}},
      {"finished_by_another",
       "program fold(N = 23)\nin p: i32[N, N]\nlet S[i: N, j: 0..i+1]: i32 = 0\nlet S[i: N, j: i+1..N] = max(max(S[i, "
       "j-1], S[i+1, j] where i+1 < N else 0),\n"
       "  max((S[i+1, j-1] where i+1 < N else 0) + p[i, j], max[k: i+1..j] (S[i, k] + S[k+1, j])))\nout R = S[0, "
       "N-1]\n",
       {"S.1.first: [-i, i + 1, j]", "S@2: [-i, j, j], S.1.folds: [-i, k, j]", "vectorize S.1.folds j 16"}},
      {"search_tree",  // a root k between i and j: the fold of k reads what ends at k - 1
       "program tree(N = 19)\nin w: f32[N + 1, N + 1]\nlet C[i: N + 1, i]: f32 = 0\nlet C[i: N, j: i+1..N+1]: f32 = "
       "w[i, j] + (min[k: i+1..j+1] (C[i, k - 1] + C[k, "
       "j]))\nout best = C[0, N]\n",
       {"C.1.folds: [-i, k, j]", "C@2: [-i, j + 1, j]"}},
      {"longest_first",  // in the other triangle: rows downwards, lanes along columns all the same
       "program heap(N = 18)\nin x: f32[N]\nlet D[i: N, i]: f32 = x[i]\nlet D[i: N, j: i+1..N]: f32 = max[k: i..j] "
       "(min(D[i, k], D[k+1, j]))\nout table[i: N, j: N]: f32 "
       "= D[i, j] where i <= j else 0\n",
       {"D@2.folds: [-i, k, j]", "vectorize D@2.folds j 16"}},
  };
  for (const Parentheses& each : table) {
    SCOPED_TRACE(each.name);
    const Program program = normalized_program(each.text);
    const auto trace = right_looking(program);
    ASSERT_TRUE(trace.has_value());
    for (const std::string& step : each.steps)
      EXPECT_NE(trace->text().find(step), std::string::npos) << step << "\n" << trace->text();
    std::string steps = trace->text();
    expect_right(program, steps.substr(steps.find('\n') + 1));
  }
}

TEST(RightLooking, is_not_for_bands_without_such_sums) {
  EXPECT_FALSE(
      right_looking(normalized_program("program rows(N = 20)\nin X: f32[N, N]\nlet A[i: N, j: N]: f32 = X[i, j] + (A[i "
                                       "- 1, j] where i > 0 else 0)\nout y = A[N - 1, N - 1]\n")));
  std::string small = kChain;
  small.replace(small.find("N = 21"), 6, "N = 13");
  EXPECT_FALSE(right_looking(normalized_program(small))) << "rows of less than a vector";
  // The only member is outside: nothing is left for lanes.
  EXPECT_FALSE(
      right_looking(normalized_program("program one(N = 20)\nin L: f32[N, N]\nlet x[i: N]: f32 = 1.0 + (sum[k: i] L[i, "
                                       "k] * x[k])\nout y[i: N]: f32 = x[i]\n")));
}

// With the loop over folds outside that over rows all rows of a block grow at once: row i + 1 is not finished where row
// i reads it.
TEST(RightLooking, a_sum_in_pieces_is_refused_to_those_that_need_all_of_it) {
  const Program program = normalized_program(kChain);
  const std::string band = "band b [j, i] of C@1: [i, -i], C@2: [j, -i]\n";
  EXPECT_EQ(refusal(program, band + "distribute b at j\npermute C@2 [k, i]\n"),
            "PW0305 permute C@2 [k, i]: flow of C from C@2 to C@2 needs the whole sum, of which loop k does a part "
            "before others\n"
            "  note: distances: j 0, i 1..19\n  note: C@2[i=1, j=2, k=1] must run before C@2[i=0, j=2, k=0]\n  note: "
            "in step: permute C@2 [k, i]");
  EXPECT_EQ(refusal(program, band + "distribute b at j\ntile C@2 [i: 4]\npermute C@2 [i.1, k, i]\n").substr(0, 6),
            "PW0305");
  EXPECT_EQ(refusal(program, band + "distribute b at j\npermute C@2 [i, k]\n"), "accepted");
}

}  // namespace
}  // namespace polyweft::test
