// Kernels whose sizes are said at the call: one kernel, many sizes, against the evaluator; and what refuses them.
#include <gtest/gtest.h>

#include "ir/oracles/evaluator.h"
#include "polyweft/tuner.h"

namespace polyweft {
namespace {

Tuner symbolic_tuner() {
  TunerOptions options;
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  return Tuner(find_target("host").value(), options);
}
TaskOptions without_sizes() {
  TaskOptions out;
  out.symbolic = true;
  return out;
}
Program product_of_matrices() {
  return parse_program(
             "program mm(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
             "A[i, k] * B[k, j]\n")
      .value();
}

/// Inputs that add up exactly.
std::vector<TensorData> whole_numbers(Tuner& tuner, const Program& program, const Binding& sizes) {
  TaskOptions options;
  for (size_t p = 0; p < sizes.size(); ++p) options.parameters[program.parameters[p].name] = sizes[p];
  auto made = tuner.make_inputs(program, options, InputSet::integer_valued, 5);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : std::vector<TensorData>();
}

/// Unequal ones, 1 among them, each below `most`.
std::vector<Binding> some_sizes(const Program& program, int64_t most) {
  std::vector<Binding> out;
  for (int64_t round = 0; round < 7; ++round) {
    Binding sizes;
    for (size_t p = 0; p < program.parameters.size(); ++p)
      sizes.push_back(1 + (round * (round + 3) + 5 * static_cast<int64_t>(p) * round) % most);
    out.push_back(sizes);
  }
  return out;
}

void expect_right(const Program& program, int64_t most) {
  Tuner tuner = symbolic_tuner();
  const auto kernel = tuner.compile(program, without_sizes());
  ASSERT_TRUE(kernel) << program.name << ": " << kernel.error().message;
  EXPECT_EQ(kernel->origin(), "symbolic base order");
  EXPECT_EQ(kernel->sizes().size(), program.parameters.size());
  for (const Binding& sizes : some_sizes(program, most)) {
    const auto inputs = whole_numbers(tuner, program, sizes);
    const auto wanted = ir::evaluate(polyweft::bind(program, sizes), inputs);
    ASSERT_TRUE(wanted) << wanted.error().message;
    const auto got = kernel->run(inputs, sizes);
    ASSERT_TRUE(got) << program.name << ": " << got.error().message;
    ASSERT_EQ(got->size(), wanted->tensors.size());
    for (size_t k = 0; k < got->size(); ++k) {
      EXPECT_EQ((*got)[k].extents, wanted->tensors[k].extents);
      EXPECT_EQ((*got)[k].bytes, wanted->tensors[k].bytes)
          << program.name << " " << testing::PrintToString(sizes) << " output " << k;
    }
  }
}

TEST(SymbolicKernels, give_what_the_evaluator_gives_at_all_sizes) {
  expect_right(product_of_matrices(), 13);
  const char* const texts[] = {
      "program scan(N = 9, M = 4)\nin x: f32[N, M]\nlet s[0, j: M] = x[0, j]\nlet s[i: 1..N, j: M] = s[i-1, j] + x[i, "
      "j]\nout y[i: N, j: M] = s[i, j]\nout last[j: M] = s[N-1, j]\n",
      "program packed(M = 6, N = 5)\nconst in A: f32[M, N]\nin x: f32[N]\nout y[i: M] = sum[j: N] A[i, j] * x[j]\n",
      "program scaled(N = 7)\nin a: f32\nin x: i32[N]\nout y[i: N] = f32(x[i]) * a\n",
      "program picked(N = 7, V = 5)\nin t: f32[V]\nin at: i32[N] values 0..V\nout y[i: N] = t[at[i]]\n",
      "program fixed(N = 5)\nin K: f32[3]\nin x: f32[N+2]\nout y[i: N] = sum[k: 3] x[i+k] * K[k]\n"};
  for (const char* text : texts) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << program.error().message;
    expect_right(*program, 11);
  }
}

TEST(SymbolicKernels, arguments_have_no_extents_before_the_sizes_are_said) {
  Tuner tuner = symbolic_tuner();
  const auto kernel = tuner.compile(product_of_matrices(), without_sizes());
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->sizes(), (std::vector<std::string>{"M", "N", "K"}));
  EXPECT_EQ(kernel->arguments()[0].extents, (std::vector<int64_t>{-1, -1}));
  const auto sized = kernel->at({5, 6, 7});
  ASSERT_TRUE(sized) << sized.error().message;
  EXPECT_TRUE(sized->sizes().empty());
  EXPECT_EQ(sized->arguments()[1].extents, (std::vector<int64_t>{7, 6}));
}

TEST(SymbolicKernels, sizes_that_do_not_fit_are_refused_before_the_call) {
  Tuner tuner = symbolic_tuner();
  auto kernel = tuner.compile(product_of_matrices(), without_sizes());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto said = [](const auto& result) {
    return result ? std::string() : result.error().code + " " + result.error().message;
  };
  EXPECT_EQ(said(kernel->at({5, 6})), "PW0670 the kernel takes 3 sizes (M, N, K), not 2");
  EXPECT_EQ(said(kernel->at({5, 0, 6})), "PW0670 mm: the assumption N > 0 does not hold");
  EXPECT_EQ(said(kernel->at({5, int64_t{1} << 40, 6})).substr(0, 6), "PW0670");
  EXPECT_EQ(said(kernel->at({1 << 30, 1 << 30, 1})), "PW0670 mm: buffer C has more than 2^58 elements at these sizes");
  EXPECT_EQ(said(kernel->run({})), "PW0670 the kernel takes its sizes with each call: M, N, K");
  EXPECT_EQ(said(kernel->call({})), "PW0670 the kernel takes its sizes with each call: M, N, K");
  EXPECT_EQ(said(kernel->time({}, 1)), "PW0670 the kernel takes its sizes with each call: M, N, K");
  EXPECT_EQ(said(kernel->run({}, {2, 2, 2})).substr(0, 6), "PW0654");
  auto bound = tuner.compile(product_of_matrices(), {});
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(said(bound->at({5, 6, 7})), "PW0670 the kernel has its sizes: it takes none");
}

TEST(SymbolicKernels, a_promise_that_depends_on_sizes_is_checked_at_these) {
  Tuner tuner = symbolic_tuner();
  const auto program =
      parse_program("program picked(N = 3, V = 5)\nin t: f32[V]\nin at: i32[N] values 0..V\nout y[i: N] = t[at[i]]\n");
  ASSERT_TRUE(program);
  const auto kernel = tuner.compile(*program, without_sizes());
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::vector<float> t(9, 2.0f), y(3);
  std::vector<int32_t> at = {0, 8, 3};
  EXPECT_TRUE(kernel->call({t.data(), at.data(), y.data()}, {3, 9}));
  EXPECT_EQ(y, std::vector<float>(3, 2.0f));
  const auto refused = kernel->call({t.data(), at.data(), y.data()}, {3, 8});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code + " " + refused.error().message,
            "PW0161 at: element 1 is 8, outside the promised 0..8");
}

TEST(SymbolicKernels, are_verified_at_sizes_and_neither_measured_nor_stored) {
  Tuner tuner = symbolic_tuner();
  TuneOptions options;
  options.symbolic = true;
  options.parameters = {{"M", 7}, {"N", 5}, {"K", 9}};
  const auto inputs = tuner.make_inputs(product_of_matrices(), options, InputSet::random, 3);
  ASSERT_TRUE(inputs);
  const auto verified = tuner.verify(product_of_matrices(), options, *inputs);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->equal) << verified->detail;
  EXPECT_EQ(verified->outputs.front().extents, (std::vector<int64_t>{7, 5}));
  const Program program = product_of_matrices();
  EXPECT_EQ(tuner.tune(program, options).error().code, "PW0521");
  EXPECT_EQ(tuner.best(program, options).error().code, "PW0521");
  EXPECT_EQ(tuner.nearest(program, options).error().code, "PW0521");
  EXPECT_EQ(tuner.bench(program, options, std::chrono::milliseconds(1)).error().code, "PW0521");
  EXPECT_EQ(tuner.storage(program, options).error().code, "PW0521");
  EXPECT_EQ(tuner.compile(program, options).error().code, "PW0521") << "with sizes there is nothing to leave open";
}

}  // namespace
}  // namespace polyweft
