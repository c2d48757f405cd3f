#include "poly/base_nest.h"

#include "compare_nest.h"
#include "corpus.h"

namespace polyweft::poly_test {
namespace {

void expect_equal_to_the_evaluator(const Program& bound, NumericsClass cls, uint64_t seed,
                                   const poly::BaseOptions& limits = {}) {
  SCOPED_TRACE(bound.name + " " + name_of(cls));
  auto nest = poly::base_nest(normalize(bound), cls, limits);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  Status verified = verify(*nest);
  ASSERT_TRUE(verified.ok()) << verified.error().message << "\n" << print(*nest);
  expect_computed(bound, *nest, cls == NumericsClass::strict, seed);
}

const Buffer& buffer_named(const LoopNest& nest, const std::string& name) {
  for (const Buffer& buffer : nest.buffers)
    if (buffer.name == name) return buffer;
  ADD_FAILURE() << "no buffer " << name;
  return nest.buffers[0];
}

constexpr const char* kJacobi = R"(program jacobi2d(T = 500, N = 1300)
in A0: f64[N, N]
let A[0, i: N, j: N] = A0[i, j]
let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] =
  0.2 * (A[t-1,i,j] + A[t-1,i,j-1] + A[t-1,i,j+1] + A[t-1,i-1,j] + A[t-1,i+1,j])
let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A[t-1, i, j]
out R[i: N, j: N] = A[T, i, j])";

constexpr const char* kCube = R"(program cube(T = 500, N = 120)
in A0: f64[N, N, N]
let A[0, i: N, j: N, k: N] = A0[i, j, k]
let B[0, i: N, j: N, k: N] = A0[i, j, k]
let B[t: 1..T+1, i: 1..N-1, j: 1..N-1, k: 1..N-1] = A[t-1,i+1,j,k] + A[t-1,i-1,j,k] + A[t-1,i,j+1,k] + A[t-1,i,j-1,k] + A[t-1,i,j,k+1] + A[t-1,i,j,k-1]
let B[t: 1..T+1, i: N, j: N, k: N] where i == 0 or i == N-1 or j == 0 or j == N-1 or k == 0 or k == N-1 = B[t-1, i, j, k]
let A[t: 1..T+1, i: 1..N-1, j: 1..N-1, k: 1..N-1] = 0.125 * (B[t,i+1,j,k] + B[t,i-1,j,k] + B[t,i,j+1,k] + B[t,i,j-1,k] + B[t,i,j,k+1] + B[t,i,j,k-1])
let A[t: 1..T+1, i: N, j: N, k: N] where i == 0 or i == N-1 or j == 0 or j == N-1 or k == 0 or k == N-1 = A[t-1, i, j, k]
out R[i: N, j: N, k: N] = A[T, i, j, k])";

}  // namespace

TEST(BaseNest, computes_every_program_of_the_language) {
  for (const Program& program : corpus())
    for (int64_t size : {1, 3, 6})
      for (NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc})
        expect_equal_to_the_evaluator(small(program, size), cls, 7);
}

TEST(BaseNest, computes_pieces_of_an_equation) {
  Program program = parsed(R"(program turn(M = 4)
in X: f32[3*M]
let S[i: 3*M]: f32 = S[i+M] + 1 where i < M else (S[i-M] + 1 where i >= 2*M else X[i])
out Y[i: 3*M] = S[i])");
  expect_equal_to_the_evaluator(small(program, 4), NumericsClass::strict, 3);
}

TEST(BaseNest, starts_empty_reductions_and_packs_const_inputs) {
  Program program = parsed(R"(program low(N = 5)
const in W: f32[N, N]
out Y[i: N] = sum[j: 0..i where j >= 2] W[i, j]
out Z[i: N] = max[j: i..N where j % 2 == 1] W[j, i])");
  expect_equal_to_the_evaluator(small(program, 5), NumericsClass::reassoc, 3);
}

TEST(BaseNest, keeps_two_planes_of_jacobi_at_its_full_sizes) {
  Program program = parsed(kJacobi);
  auto nest = poly::base_nest(normalize(polyweft::bind(program, *make_binding(program, {}))), NumericsClass::reassoc);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  EXPECT_EQ(folded_extents(buffer_named(*nest, "A")), (std::vector<int64_t>{2, 1300, 1300}));
  expect_equal_to_the_evaluator(small(program, 6), NumericsClass::strict, 3);
}

// Six pieces of border are too many pairs for isl; their hulls are not.
TEST(BaseNest, keeps_two_planes_where_the_borders_of_a_cube_are_copied) {
  Program program = parsed(kCube);
  auto nest = poly::base_nest(normalize(polyweft::bind(program, *make_binding(program, {}))), NumericsClass::reassoc);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  for (const char* name : {"A", "B"})
    EXPECT_EQ(folded_extents(buffer_named(*nest, name)), (std::vector<int64_t>{2, 120, 120, 120})) << name;
  expect_equal_to_the_evaluator(small(program, 5), NumericsClass::reassoc, 3);
}

TEST(BaseNest, folds_the_recurrences_of_the_language) {
  std::map<std::string, std::pair<std::string, std::vector<int64_t>>> windows = {
      {"heat1d", {"A", {2, 100}}}, {"floyd_warshall", {"D", {2, 60, 60}}}, {"seidel2d", {"A", {2, 16, 16}}}};
  for (const Program& program : corpus()) {
    auto found = windows.find(program.name);
    if (found == windows.end()) continue;
    auto nest = poly::base_nest(normalize(polyweft::bind(program, *make_binding(program, {}))), NumericsClass::reassoc);
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    EXPECT_EQ(folded_extents(buffer_named(*nest, found->second.first)), found->second.second) << program.name;
  }
}

TEST(BaseNest, keeps_fewer_planes_where_the_first_order_does_not_fit) {
  std::ifstream in(PW_SOURCE_DIR "/examples/polybench/adi.weft");
  Program program = parsed({std::istreambuf_iterator<char>(in), {}});
  Program bound = polyweft::bind(program, *make_binding(program, {{"TSTEPS", 20}, {"N", 20}}));
  poly::BaseOptions options;
  options.workspace_limit_bytes = 32'000;
  expect_equal_to_the_evaluator(bound, NumericsClass::strict, 3, options);
  auto nest = poly::base_nest(normalize(bound), NumericsClass::strict, options);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  EXPECT_EQ(folded_extents(buffer_named(*nest, "q")), (std::vector<int64_t>{1, 18, 19}));
  options.workspace_limit_bytes = 64;
  auto refused = poly::base_nest(normalize(bound), NumericsClass::strict, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0820");
}

TEST(BaseNest, refuses_above_the_workspace_limit_with_the_bytes) {
  Program program =
      parsed("program big(N = 4096)\nin X: f64[N]\nlet A[i: N, j: N] = X[i] * X[j]\nout Y[i: N] = sum[j: N] A[i, j]");
  poly::BaseOptions options;
  options.workspace_limit_bytes = 1 << 20;
  auto nest =
      poly::base_nest(normalize(polyweft::bind(program, *make_binding(program, {}))), NumericsClass::reassoc, options);
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().code, "PW0820");
  EXPECT_EQ(nest.error().message, "big: the intermediate tensors take 134217728 bytes, more than the limit of 1048576");
}

}  // namespace polyweft::poly_test
