// Diamonds: time and place as sum and difference, a wavefront of which starts everywhere at once. Members that others
// give have no loops.
#include "bands_harness.h"
#include "ir/nests/determined.h"
#include "samples.h"
#include "time_stencils.h"

namespace polyweft::test {
namespace {

const char* kLineBand =
    "band line [p, q, t] of B: [2*t + i, 2*t - i, t], A@2: [2*t + 1 + i, 2*t + 1 - i, t], A@3: [2*t + 1 + i, 2*t + 1 - "
    "i, t]\nfold A d0 mod 1\nfold B d0 mod 1\n";
const char* kPlaneBand =
    "band plane [p, q, t, j] of A@2: [t + i, t - i, t, j + t], A@3: [t + i, t - i, t, j + t]\nfold A d0 mod 2\n";

std::string instantiated(const Program& program, const std::string& steps) {
  auto t = replayed(program, steps);
  if (!t) return described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  return nest ? print(*nest) : described(nest.error());
}

TEST(Diamonds, are_right_at_every_size) {
  for (int64_t steps : {1, 2, 7})
    for (int64_t cells :
         takes_all_cases() ? std::vector<int64_t>{1, 2, 3, 4, 13, 20} : std::vector<int64_t>{1, 3, 20}) {
      SCOPED_TRACE(std::to_string(steps) + " " + std::to_string(cells));
      const Program program = normalized_program(kLine, {{"T", steps}, {"N", cells}});
      const std::string tiles = std::string(kLineBand) + "tile line [p: 8, q: 8]\npermute line [p.1, q.1, t, p, q]\n";
      expect_right(program, kLineBand);
      expect_right(program, tiles + "wavefront line [p.1, q.1]\n");
      expect_right(program,
                   tiles + "distribute line at t\nvectorize B@1 p 4\nvectorize A@2 p 4\nwavefront line [p.1, q.1]\n");
      expect_right(program, tiles + "distribute line at t\npermute B@1 [q, p]\nvectorize A@2 q 4\n");
    }
}

TEST(Diamonds, of_time_and_rows_with_lanes_along_columns) {
  for (int64_t steps : {1, 5})
    for (int64_t cells : {3, 6}) {
      SCOPED_TRACE(std::to_string(steps) + " " + std::to_string(cells));
      const Program program = normalized_program(kPlane, {{"T", steps}, {"N", cells}});
      const std::string tiles =
          std::string(kPlaneBand) +
          "tile plane [p: 6, q: 6, j: 5]\npermute plane [p.1, q.1, j.1, t, p, q, j]\ndistribute plane at t\n";
      expect_right(program, tiles + "vectorize A@2 j 4\nwavefront plane [p.1, q.1]\n");
      expect_right(program, tiles + "permute A@2 [q, j, p]\nvectorize A@2 j 4\nunroll A@2 p\n");
      expect_right(program, std::string(kPlaneBand) + "tile plane [p: 4, q: 6]\n");
    }
}

TEST(Diamonds, of_uneven_sizes_and_wider_stencils) {
  const Program program = normalized_program(
      "program wide(T = 6, N = 17)\nin X: f64[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, i: 2..N-2] = 0.25 * (A[t-1, "
      "i-2] + A[t-1, i+1] + A[t-1, i+2])\n"
      "let A[t: 1..T+1, i: N] where i < 2 or i > N-3 = X[i]\nout R[i: N] = A[T, i]\n");
  const std::string band =
      "band wide [p, q, t] of A@2: [2*t + i, 2*t - i, t], A@3: [2*t + i, 2*t - i, t]\nfold A d0 mod 2\n";
  expect_right(program, band +
                            "tile wide [p: 7, q: 12]\npermute wide [p.1, q.1, t, p, q]\ndistribute wide at "
                            "t\nvectorize A@2 p 8\nwavefront wide [p.1, q.1]\n");
  expect_right(program, band + "tile wide [p: 8, q: 4]\npermute wide [p.1, q.1, p, t, q]\n");
  expect_right(program, band + "tile wide [p: 8, q: 4]\n");
  EXPECT_NE(refusal(program,
                    "band wide [p, q, t] of A@2: [t + i, t - i, t], A@3: [t + i, t - i, t]\ntile wide [p: 8, q: 8]\n")
                .find("PW0305"),
            std::string::npos);
}

TEST(Diamonds, members_that_others_give_have_no_loops) {
  const Program program = normalized_program(kPlane, {{"T", 6}, {"N", 20}});
  const std::string nest = instantiated(
      program,
      std::string(kPlaneBand) +
          "tile plane [p: 6, q: 6]\npermute plane [p.1, q.1, t, p, q, j]\ndistribute plane at t\nvectorize A@2 j 4\n");
  EXPECT_EQ(nest.find("for q in"), std::string::npos) << nest;
  EXPECT_EQ(nest.find("for q@"), std::string::npos) << nest;
  EXPECT_NE(nest.find("for q.1 in"), std::string::npos) << nest;
  auto t = replayed(program, std::string(kPlaneBand) +
                                 "tile plane [p: 6, q: 6]\npermute plane [p.1, q.1, t, p, q, j]\ndistribute plane at "
                                 "t\npermute A@2 [q, p, j]\n");
  ASSERT_TRUE(t.ok());
  size_t found = 0;
  for (uint32_t s = 0; s < t->stages.size(); ++s)
    for (const auto& each : ir::determined_indices(*t, s)) {
      found += t->stages[s].name == "A@2";
      if (t->stages[s].name != "A@2") continue;
      EXPECT_EQ(t->program.equations[t->stages[s].equation].index_names[each.index], "p");  // the innermost of the two
    }
  EXPECT_EQ(found, 1u);
}

TEST(Diamonds, lanes_are_judged_by_the_loops_that_are_left) {
  // Along q at one t the steps of a sweep in place are not lanes: each needs its neighbour of the same time.
  const Program program = normalized_program(
      "program sweep(T = 4, N = 9)\nin X: f64[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, i: 1..N-1] = 0.5 * (A[t, "
      "i-1] + A[t-1, i+1])\n"
      "let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = X[i]\nout R[i: N] = A[T, i]\n");
  const std::string band =
      "band sweep [t, i, s] of A@3: [t, 2*t + i, i], A@2: [t, 2*t + i, i]\ndistribute sweep at t\n";
  expect_right(program, band);
  EXPECT_NE(refusal(program, band + "vectorize A@2 i 4\n").find("PW0306"), std::string::npos);
  EXPECT_NE(refusal(program, band + "vectorize A@2 s 4\n").find("PW0306"), std::string::npos);
}

}  // namespace
}  // namespace polyweft::test
