#include "poly/facts.h"

#include "corpus.h"

namespace polyweft::poly_test {
namespace {

Program program_of(const std::string& text) {
  Program program = parsed(text);
  return normalize(polyweft::bind(program, *make_binding(program, {})));
}

constexpr const char* kHeat = R"(program heat(T = 6, N = 9)
in A0: f64[N]
let A[0, i: N] = A0[i]
let A[t: 1..T+1, i: 1..N-1] = A[t-1, i-1] + A[t-1, i+1]
let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = A[t-1, i]
out R[i: N] = A[T, i])";

constexpr const char* kConv = R"(program conv(H = 8)
in X: f32[H+2, H+2]
in K: f32[3, 4]
out Y[y: H] = sum[r: 3, s: 4] X[y+r, s] * K[r, s])";

Affine index(const Program& program, uint32_t k) {
  return Affine::variable(program.index_var(k));
}

}  // namespace

TEST(Facts, give_the_distances_of_a_stencil) {
  Program program = program_of(kHeat);
  poly::MappedStatement plain{1, {index(program, 0), index(program, 1)}};
  auto boxes = poly::delta_boxes(program, {plain}, poly::ReductionOrder::kept);
  ASSERT_TRUE(boxes.ok()) << boxes.error().message;
  ASSERT_EQ(boxes->size(), 1u);
  EXPECT_EQ((*boxes)[0], (DeltaBox{"flow A@2 -> A@2", {1, -1}, {1, 1}}));
  poly::MappedStatement skewed{1, {index(program, 0), index(program, 0) + index(program, 1)}};
  EXPECT_EQ((*poly::delta_boxes(program, {skewed}, poly::ReductionOrder::kept))[0], (DeltaBox{"flow A@2 -> A@2", {1, 0}, {1, 2}}));
}

TEST(Facts, tell_why_several_reduced_indices_do_not_tile_in_strict) {
  Program program = program_of(kConv);
  poly::MappedStatement all{0, {index(program, 0), index(program, 1), index(program, 2)}};
  auto kept = poly::delta_boxes(program, {all}, poly::ReductionOrder::kept);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ((*kept)[0], (DeltaBox{"order of sum", {0, 0, -3}, {0, 2, 3}}));
  EXPECT_TRUE(poly::delta_boxes(program, {all}, poly::ReductionOrder::free)->empty());
}

TEST(Facts, find_a_pair_of_instances_that_an_order_runs_backwards) {
  Program program = program_of(kHeat);
  poly::MappedStatement time{1, {index(program, 0), index(program, 1)}}, space{1, {index(program, 1), index(program, 0)}};
  EXPECT_FALSE(poly::first_violation(program, {time}, poly::ReductionOrder::kept)->has_value());
  auto found = poly::first_violation(program, {space}, poly::ReductionOrder::kept);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->text, "A@2[t=1, i=2] must run before A@2[t=2, i=1]");
}

TEST(Facts, allow_a_fusion_only_where_producers_come_first) {
  Program program = program_of("program chain(N = 8)\nin X: f32[N+1]\nlet A[i: N+1] = X[i]\nout B[i: N] = A[i] + A[i+1]");
  auto times = [&](int64_t shift) {
    return std::vector<poly::MappedStatement>{{0, {index(program, 0), Affine::of(0)}}, {1, {index(program, 0) + Affine::of(shift), Affine::of(1)}}};
  };
  EXPECT_TRUE(poly::first_violation(program, times(0), poly::ReductionOrder::kept)->has_value());
  EXPECT_FALSE(poly::first_violation(program, times(1), poly::ReductionOrder::kept)->has_value());
}

}  // namespace polyweft::poly_test
