// Rule 14: rows of several resolutions in one pass; what the nests compute is right, from the right elements, and
// proven.
#include "schedules/sketches/resolutions.h"

#include <fstream>

#include "machines.h"
#include "samples.h"
#include "schedules/steps.h"
#include "sketch_harness.h"

namespace polyweft::test {
namespace {

const Machine kTinyCaches = machine_with(32, 32, {64, 256, 64 << 20});

std::vector<Trace> sketches_of(const Program& program, const Machine& machine = kTinyCaches) {
  return schedules::traces_of(
      schedules::resolution_sketches(program, NumericsClass::reassoc, machine, isl_for(program)));
}

std::string checked(const Program& program) {
  return checked_trace(program, sketches_of(program));
}

Program pyramid(const std::map<std::string, int64_t>& sizes) {
  std::ifstream in(std::string(PW_SOURCE_DIR) + "/examples/recurrences/pyramid.weft");
  return normalized_program(std::string{std::istreambuf_iterator<char>(in), {}}, sizes);
}

TEST(ResolutionSketches, a_pyramid_is_one_pass) {
  expect_steps(checked(pyramid({{"H", 69}, {"W", 67}})),
               {"R1: [y, y, x]", "G1: [2*y + 3, y, x]", "G2: [4*y + 9, y, x]", "G3: [8*y + 19, y, x]",
                "D0: [y + 5, y, x]", "fold R1 d0 mod 16", "fold G1 d0 mod 8", "distribute band1 at t.1", "unroll D0 t",
                "stream D0", "prefetch X in D0 along t by 9"});
}

TEST(ResolutionSketches, sizes_need_not_divide) {
  std::vector<std::pair<int64_t, int64_t>> sizes = {{66, 79}};
  if (takes_all_cases()) sizes = {{65, 64}, {66, 79}, {68, 97}, {71, 65}};
  for (const auto& [height, width] : sizes)
    EXPECT_NE(checked(pyramid({{"H", height}, {"W", width}})).find("band band1"), std::string::npos)
        << height << " x " << width;
}

TEST(ResolutionSketches, thirds_and_halves) {
  const Program thirds = normalized_program(R"(program thirds(H = 50, W = 64)
in X: f32[H, W]
let A[i: (H+2) // 3, j: W] = sum[r: 3] X[clamp(3*i + r, 0, H-1), j]
out Y[i: H, j: W] = X[i, j] - 0.25 * A[i // 3, j])");
  expect_steps(checked(thirds),
               {"A: [3*i, i, j]", "Y: [i + 1, i, j]", "fold A d0 mod 4", "prefetch X in Y along t by 5"});
  const Program larger = normalized_program(R"(program larger(H = 40, W = 48)
in X: f32[H, W]
let S[i: H, j: W] = sum[r: 3] X[clamp(i + r - 1, 0, H-1), j]
out Y[i: 2*H, j: W] = S[i // 2, j] + S[clamp((i+1) // 2, 0, H-1), j])");
  expect_steps(checked(larger), {"S: [2*i, i, j]", "Y: [i + 2, i, j]", "unroll Y t"});
}

TEST(ResolutionSketches, none_where_rows_move_at_one_speed_or_at_none_in_common) {
  const Program chain = normalized_program(R"(program chain(H = 40, W = 48)
in X: f32[H, W]
let S[i: H, j: W] = sum[r: 3] X[clamp(i + r - 1, 0, H-1), j]
out Y[i: H, j: W] = sum[r: 3] S[clamp(i + r - 1, 0, H-1), j])");
  EXPECT_TRUE(sketches_of(chain).empty());
  const Program differ = normalized_program(R"(program differ(H = 40, W = 48)
in X: f32[H, W]
let S[i: H, j: W] = X[i, j] * 2.0
out Y[i: H // 2, j: W] = S[2*i, j] + S[i, j])");
  EXPECT_TRUE(sketches_of(differ).empty());
  const Program turned = normalized_program(R"(program turned(H = 40)
in X: f32[H, H]
let S[i: H, j: H] = X[i, j] * 2.0
out Y[i: H // 2, j: H] = S[2*i, j] + S[j, 2*i])");
  EXPECT_TRUE(sketches_of(turned).empty());
  const Program down = normalized_program(R"(program down(H = 40, W = 48)
in X: f32[H, W]
let S[i: H, j: W] = X[i, j] * 2.0
out Y[i: H // 2, j: W] = S[H - 1 - 2*i, j])");
  EXPECT_TRUE(sketches_of(down).empty());
}

TEST(ResolutionSketches, none_for_threads_and_for_what_is_near) {
  const Program program = pyramid({{"H", 77}, {"W", 131}});
  EXPECT_TRUE(sketches_of(program, on_cores(kTinyCaches, 2)).empty());
  EXPECT_TRUE(sketches_of(program, machine_with(32, 32, {64, 16 << 20, 64 << 20})).empty());
}

}  // namespace
}  // namespace polyweft::test
