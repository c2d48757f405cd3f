// Tiles that overlap in time: blocks of steps in cells of the tile's own, what neighbours would give computed again
// (T5).
#include "bands_harness.h"
#include "samples.h"
#include "time_stencils.h"

namespace polyweft::test {
namespace {

const char* kOverlapBand =
    "band line [t, i] of B: [t, i + 2*t], A@2: [t, i + 2*t + 1], A@3: [t, i + 2*t + 1]\nfold A d0 mod 1\nfold B d0 mod "
    "1\n";

const char* kWave =
    "program wave(T = 7, N = 15)\nin X: f64[N]\nlet U[0, i: N] = X[i]\nlet U[1, i: N] = 0.5 * X[i]\n"
    "let U[t: 2..T+1, i: 2..N-1] = 0.5 * (U[t-1, i-2] + U[t-1, i+1]) - U[t-2, i]\nlet U[t: 2..T+1, i: N] where i < 2 "
    "or i == N-1 = 0.25 * U[t-1, i]\nout R[i: N] = U[T, "
    "i]\n";

TEST(Overlap, is_right_at_every_size) {
  for (int64_t steps : {1, 2, 3, 7})
    for (int64_t cells : takes_all_cases() ? std::vector<int64_t>{1, 2, 4, 13, 20} : std::vector<int64_t>{1, 4, 20}) {
      SCOPED_TRACE(std::to_string(steps) + " " + std::to_string(cells));
      const Program program = normalized_program(kLine, {{"T", steps}, {"N", cells}});
      expect_right(program, std::string(kOverlapBand) + "overlap line [t: 3, i: 4] heap\nparallel line i.1\n");
      expect_right(program, std::string(kOverlapBand) +
                                "overlap line [t: 2, i: 5] stack\ndistribute line at t\nvectorize B@1 i 4\nvectorize "
                                "A@2 i 4\nparallel line i.1\n");
    }
}

TEST(Overlap, tiles_of_a_plane_need_no_skew) {
  const Program program = normalized_program(kPlane);
  const std::string band = "band plane [t, i, j] of A@2: [t, i, j], A@3: [t, i, j]\nfold A d0 mod 2\n";
  expect_right(
      program,
      band + "overlap plane [t: 3, i: 3, j: 4] heap\nparallel plane i.1\ndistribute plane at t\nvectorize A@2 j 4\n");
  expect_right(program, band + "overlap plane [t: 2, j: 4] heap\nparallel plane j.1\n");
  expect_right(program, band + "overlap plane [t: 1, i: 2] heap\n");
  EXPECT_NE(refusal(program, band + "tile plane [t: 2, i: 3]\n").find("PW0305"), std::string::npos);
}

TEST(Overlap, of_wide_stencils_that_look_two_steps_back) {
  const Program program = normalized_program(kWave);
  const std::string band = "band wave [t, i] of U@3: [t, i], U@4: [t, i]\n";
  expect_right(program, band + "overlap wave [t: 3, i: 4] heap\nparallel wave i.1\n");
  expect_right(program, band +
                            "fold U d0 mod 3\noverlap wave [t: 3, i: 4] heap\nparallel wave i.1\ndistribute wave at "
                            "t\nvectorize U@3 i 4\n");
  expect_right(program, band + "fold U d0 mod 3\noverlap wave [t: 2, i: 6] heap\nparallel wave i.1\n");
}

// The last block has one step, and two outlive it: cells that are folded were once looked for without an end.
TEST(Overlap, blocks_of_fewer_steps_than_outlive_them_are_refused) {
  const Program program = normalized_program(kWave);
  const std::string band = "band wave [t, i] of U@3: [t, i], U@4: [t, i]\nfold U d0 mod 3\n";
  for (const char* block : {"5", "1"}) {
    const auto made = replayed(program, band + "overlap wave [t: " + block + ", i: 4] heap\n");
    ASSERT_TRUE(made.ok()) << described(made.error());
    const auto nest = instantiate(*made, values_of(made->trace));
    ASSERT_FALSE(nest.ok()) << print(*nest);
    const std::string why = described(nest.error());
    EXPECT_NE(why.find("PW0311"), std::string::npos) << why;
    EXPECT_NE(why.find("2 steps of U"), std::string::npos) << why;
  }
}

TEST(Overlap, of_three_fields) {
  const Program program = normalized_program(
      "program fields(T = 5, N = 12)\nin e0: f64[N]\nin h0: f64[N]\nlet e[0, i: N] = e0[i]\nlet h[0, i: N] = h0[i]\n"
      "let e[t: 1..T+1, 0] = e[t-1, 0]\nlet e[t: 1..T+1, i: 1..N] = e[t-1, i] - 0.5 * (h[t-1, i] - h[t-1, i-1])\n"
      "let h[t: 1..T+1, i: N-1] = h[t-1, i] - 0.75 * (e[t, i+1] - e[t, i])\nlet h[t: 1..T+1, N-1] = h[t-1, N-1]\nout "
      "R[i: N] = e[T, i]\nout S[i: N] = h[T, i]\n");
  const std::string plain =
      "band fields [t, i] of e@2: [t, t], e@3: [t, i + t], h@2: [t, i + t + 1], h@3: [t, t + 12]\nfold e d0 mod "
      "1\nfold h d0 mod 1\n";
  expect_right(program, plain + "overlap fields [t: 3, i: 5] heap\nparallel fields i.1\n");
  expect_right(program, plain +
                            "overlap fields [t: 2, i: 4] heap\nparallel fields i.1\ndistribute fields at t\nvectorize "
                            "e@3 i 4\nvectorize h@2 i 4\n");
}

TEST(Overlap, refusals_say_what_reaches_how_far) {
  const Program program = normalized_program(kPlane);
  const std::string band = "band plane [t, i, j] of A@2: [t, i, j], A@3: [t, i, j]\nfold A d0 mod 2\n";
  EXPECT_NE(refusal(program, band + "overlap plane [t: 3] heap\n").find("PW0304"), std::string::npos);
  EXPECT_NE(refusal(program, band + "overlap plane [t: 3, i: 2] reg\n").find("PW0304"), std::string::npos);
  EXPECT_NE(refusal(program, band + "overlap plane [i: 3, t: 2] heap\n").find("PW0305"), std::string::npos);
  EXPECT_NE(refusal(program, band + "overlap plane [t: 3, i: 2] heap\nparallel plane t.1\n").find("PW0306"),
            std::string::npos);
  EXPECT_NE(refusal(program, band + "overlap plane [t: 3, i: 2] heap\nwavefront plane [t.1, i.1]\n").find("PW0304"),
            std::string::npos);
  EXPECT_NE(refusal(program, band + "overlap plane [t: 3, i: 2] heap\npermute plane [i.1, t.1]\n").find("PW0304"),
            std::string::npos);
  // Blocks pass on their last steps alone.
  const Program all_steps = normalized_program(
      "program steps(T = 6, N = 9)\nin X: f64[N]\nout A[0, i: N] = X[i]\nout A[t: 1..T+1, i: N] = 0.5 * (A[t-1, i] + "
      "(A[t-1, i+1] where i + 1 < N else 0.0))\n");
  const std::string output = refusal(all_steps, "band steps [t, i] of A@2: [t, i]\noverlap steps [t: 3, i: 4] heap\n");
  EXPECT_NE(output.find("A is an output at all its times"), std::string::npos) << output;
  // A sweep in place: within one step of time everything before is needed.
  const Program sweep = normalized_program(
      "program sweep(T = 4, N = 9)\nin X: f64[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, i: 1..N-1] = 0.5 * (A[t, "
      "i-1] + A[t-1, i+1])\n"
      "let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = X[i]\nout R[i: N] = A[T, i]\n");
  const std::string why =
      refusal(sweep, "band sweep [t, i] of A@3: [t, i], A@2: [t, i]\noverlap sweep [t: 2, i: 4] heap\n");
  EXPECT_NE(why.find("PW0305"), std::string::npos);
  EXPECT_NE(why.find("without an end within one step of t"), std::string::npos) << why;
  EXPECT_NE(why.find("distances"), std::string::npos) << why;
  EXPECT_NE(why.find("A@2[t=1, i=1] must run before A@2[t=1, i=2]"), std::string::npos) << why;
  // All times are read outside.
  const Program all = normalized_program(
      "program every(T = 4, N = 9)\nin X: f64[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, i: 1..N-1] = 0.5 * (A[t-1, "
      "i-1] + A[t-1, i+1])\n"
      "let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = X[i]\nout R[t: T+1, i: N] = A[t, i]\n");
  EXPECT_NE(
      refusal(all, "band every [t, i] of A@2: [t, i], A@3: [t, i]\noverlap every [t: 2, i: 4] heap\n").find("PW0314"),
      std::string::npos);
}

}  // namespace
}  // namespace polyweft::test
