#include <HalideRuntime.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "lang/parser.h"
#include "poly/base_nest.h"
#include "polyweft/target.h"
#include "random/guarded_call.h"
#include "symbolic/sweep.h"
#include "targets/cpu/build.h"

namespace polyweft::symbolic_test {
namespace {

/// One of `step` programs of a folder, each made once and called at all its small sizes; all of them where
/// PW_SYMBOLIC_ALL is set.
void expect_right(const std::string& folder, size_t first, size_t step) {
  if (std::getenv("PW_SYMBOLIC_ALL")) first = 0, step = 1;
  const auto programs = programs_in(folder);
  EXPECT_FALSE(programs.empty());
  int made = 0, sizes = 0;
  for (size_t k = first; k < programs.size(); k += step) {
    const Swept swept = sweep(programs[k], NumericsClass::reassoc);
    EXPECT_EQ(swept.refusal, "") << programs[k].name;
    EXPECT_EQ(swept.trouble, "") << programs[k].name;
    EXPECT_GE(swept.sizes, 2) << programs[k].name;
    made += swept.refusal.empty();
    sizes += swept.sizes;
  }
  std::printf("%s: %d kernels, %d calls\n", folder.c_str(), made, sizes);
}

Program program_of(const std::string& text) {
  auto parsed = lang::parse(text, "test.weft");
  EXPECT_TRUE(parsed.ok());
  return parsed->programs.front();
}

struct Made {
  LoopNest nest;
  std::unique_ptr<targets::LoadedCode> code;
  std::string message(int of) const {
    const char* text = reinterpret_cast<const char* (*)(int)>(code->address(nest.name + "_message"))(of);
    return text ? text : "";
  }
  /// On buffers for `shapes`, with these sizes.
  std::string call(const Binding& shapes, const Binding& sizes) const {
    const LoopNest here = *specialize(nest, shapes);
    std::vector<TensorData> inputs;
    for (BufferId id : here.arguments)
      if (!here.buffers[id].is_output) inputs.push_back(make_tensor(here.buffers[id].type, here.buffers[id].extents));
    return random_test::guarded_call(here, *code, inputs, random_test::Wall::behind, 1, sizes).trouble;
  }
};

Made made_of(const std::string& text) {
  auto nest = poly::symbolic_nest(normalize(program_of(text)), NumericsClass::reassoc);
  EXPECT_TRUE(nest.ok()) << nest.error().message;
  auto object = targets::compile_object(*nest, *find_target("host"));
  EXPECT_TRUE(object.ok()) << object.error().message;
  return {*nest, std::move(*targets::load_code(*object))};
}

constexpr const char* kSums = R"(program sums(N = 4, M = 5) assume N >= 2, M <= 40, N + M <= 60
in A: f32[N, M]
out S[i: N] = sum[j: M] A[i, j])";

}  // namespace

TEST(Symbolic, kernels_of_the_language_page_are_right_at_all_small_sizes) {
  expect_right("tests/lang/programs", 3, 9);
}
TEST(Symbolic, kernels_of_the_examples_are_right_at_all_small_sizes) {
  expect_right("examples", 5, 9);
}

TEST(Symbolic, the_sizes_of_one_kernel_change_from_call_to_call) {
  const Made sums = made_of(kSums);
  EXPECT_EQ(sums.call({2, 1}, {2, 1}), "");
  EXPECT_EQ(sums.call({19, 40}, {19, 40}), "");
}

TEST(Symbolic, blocks_of_sums_and_what_is_left_of_them_are_right) {
  const Program gemm = program_of(R"(program gemm(M = 4, N = 5, K = 6) assume M >= 0, N >= 0, K >= 0
in A: f32[M, K]
in B: f32[K, N]
out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j])");
  const std::vector<Binding> sizes = {{0, 0, 0},  {1, 1, 1},   {3, 0, 2},  {3, 2, 0},  {4, 64, 3},
                                      {5, 65, 7}, {9, 130, 2}, {2, 63, 5}, {8, 17, 1}, {11, 31, 13}};
  const Swept swept = sweep(gemm, NumericsClass::reassoc, sizes);
  EXPECT_EQ(swept.refusal + swept.trouble, "");
  EXPECT_EQ(swept.sizes, static_cast<int>(sizes.size()));
}

TEST(Symbolic, wrong_extents_are_refused) {
  const Made sums = made_of(kSums);
  EXPECT_EQ(sums.call({4, 5}, {4, 6}), "returned 248");  // -8
  EXPECT_EQ(sums.call({5, 4}, {4, 5}), "returned 248");
  EXPECT_EQ(sums.message(-8), "sums: the extents or strides of an argument are not those of its shape at these sizes");
}

TEST(Symbolic, hostile_buffers_are_refused) {
  const Made sums = made_of(kSums);
  auto* kernel =
      reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*, int64_t, int64_t)>(sums.code->address("sums"));
  alignas(64) unsigned char a_bytes[4 * 20 + 64] = {}, s_bytes[4 * 4 + 64] = {};
  halide_dimension_t a_dims[] = {{0, 5, 1, 0}, {0, 4, 5, 0}}, s_dims[] = {{0, 4, 1, 0}};
  const auto buffer = [](unsigned char* at, halide_dimension_t* dims, int32_t rank) {
    halide_buffer_t out{};
    out.host = at, out.dim = dims, out.dimensions = rank, out.type = {halide_type_float, 32, 1};
    return out;
  };
  const halide_buffer_t a = buffer(a_bytes, a_dims, 2), s = buffer(s_bytes, s_dims, 1);
  const auto call = [&](halide_buffer_t first, halide_buffer_t second) { return kernel(&first, &second, 4, 5); };
  EXPECT_EQ(call(a, s), 0);
  for (int offset = 0; offset <= 64; ++offset) {
    const int wanted = offset % 4 == 0 ? 0 : halide_error_code_unaligned_host_ptr;
    EXPECT_EQ(call(buffer(a_bytes + offset, a_dims, 2), s), wanted) << offset;
    EXPECT_EQ(call(a, buffer(s_bytes + offset, s_dims, 1)), wanted) << offset;
  }
  for (unsigned char* host : {a_bytes, static_cast<unsigned char*>(nullptr)})
    EXPECT_EQ(call(buffer(host, nullptr, 2), s), halide_error_code_bad_dimensions);
  for (unsigned char* host : {s_bytes, static_cast<unsigned char*>(nullptr)})
    EXPECT_EQ(call(a, buffer(host, nullptr, 1)), halide_error_code_bad_dimensions);
  EXPECT_EQ(sums.message(-24), "sums: the address of an argument is not aligned");
}

TEST(Symbolic, sizes_that_the_assumptions_exclude_are_refused) {
  const Made sums = made_of(kSums);
  const std::vector<Binding> excluded = {{1, 5}, {4, 41}, {25, 36}, {4, 0}, {-3, 5}};
  for (const Binding& sizes : excluded) {
    int code = 0;
    for (size_t k = 0; k < sums.nest.assumptions.size() && code == 0; ++k)
      if (!evaluate(sums.nest.assumptions[k], sizes)) code = 16 + static_cast<int>(k);
    ASSERT_NE(code, 0);
    EXPECT_EQ(sums.call({4, 5}, sizes), "returned " + std::to_string(code));
    EXPECT_NE(sums.message(code).find("sums: the assumption "), std::string::npos) << sums.message(code);
    EXPECT_FALSE(specialize(sums.nest, sizes).ok());
  }
  EXPECT_EQ(sums.message(16 + static_cast<int>(sums.nest.assumptions.size())), "");
}

TEST(Symbolic, sizes_whose_storage_cannot_be_counted_are_refused) {
  const Made outer = made_of(R"(program outer(N = 4)
in x: f32[N]
let P[i: N, j: N]: f32 = x[i] * x[j]
out y[i: N] = sum[j: N] P[j, i])");
  EXPECT_EQ(outer.call({4}, {4}), "");
  EXPECT_EQ(outer.call({4}, {int64_t{1} << 31}), "returned 3");
  EXPECT_EQ(outer.call({4}, {INT32_MAX}), "returned 251");  // -5
  EXPECT_EQ(outer.call({4}, {INT64_MIN}), "returned 3");
}

TEST(Symbolic, shape_queries_are_right_where_there_are_no_elements) {
  const Made sums = made_of(R"(program sums(N = 4, M = 5) assume N >= 0, M >= 0
in A: f32[N, M]
out S[i: N] = sum[j: M] A[i, j]
out T[j: M, i: N] = A[i, j])");
  const auto kernel = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, int64_t, int64_t)>(
      sums.code->address("sums"));
  const halide_dimension_t junk{-7, -7, -7, 0};
  for (const auto& [n, m] : std::vector<std::pair<int32_t, int32_t>>{{4, 5}, {0, 5}, {4, 0}, {0, 0}}) {
    halide_dimension_t da[2] = {junk, junk}, ds[1] = {junk}, dt[2] = {junk, junk};
    halide_buffer_t a{}, s{}, t{};
    a.type = s.type = t.type = halide_type_t(halide_type_float, 32, 1);
    a.dimensions = t.dimensions = 2, s.dimensions = 1;
    a.dim = da, s.dim = ds, t.dim = dt;
    EXPECT_EQ(kernel(&a, &s, &t, n, m), 0) << n << " " << m;
    EXPECT_EQ(da[0], halide_dimension_t(0, m, 1)) << n << " " << m;
    EXPECT_EQ(da[1], halide_dimension_t(0, n, m)) << n << " " << m;
    EXPECT_EQ(ds[0], halide_dimension_t(0, n, 1)) << n << " " << m;
    EXPECT_EQ(dt[0], halide_dimension_t(0, n, 1)) << n << " " << m;
    EXPECT_EQ(dt[1], halide_dimension_t(0, m, n)) << n << " " << m;
  }
}

TEST(Symbolic, prototypes_have_the_sizes_after_the_buffers) {
  const std::string header = targets::c_header(made_of(kSums).nest);
  EXPECT_NE(header.find("int sums(struct halide_buffer_t *A, struct halide_buffer_t *S, int64_t N, int64_t M);"),
            std::string::npos)
      << header;
  EXPECT_NE(header.find("A: input, f32 [N][M]"), std::string::npos) << header;
  EXPECT_NE(header.find("const char *sums_message(int code);"), std::string::npos) << header;
}

TEST(Symbolic, planes_are_folded_where_the_window_does_not_depend_on_the_sizes) {
  const Made heat = made_of(R"(program heat(T = 4, N = 9)
in A0: f64[N]
let A[0, i: N] = A0[i]
let A[t: 1..T+1, i: 1..N-1] = A[t-1, i-1] + A[t-1, i] + A[t-1, i+1]
let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = A[t-1, i]
out R[i: N] = A[T, i])");
  for (const Buffer& buffer : heat.nest.buffers)
    if (buffer.name == "A") EXPECT_EQ(folded_extents(buffer), (std::vector<int64_t>{2, kSymbolicExtent}));
}

}  // namespace polyweft::symbolic_test
