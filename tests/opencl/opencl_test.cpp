// SPIR-V kernels on an OpenCL device: bits of the interpreter for programs, operators and constructs of nests that the
// other backends are compared on, and for loops over blocks and threads. Skipped by name where there is no device.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <regex>

#include "backend/bits.h"
#include "backend/python_cases.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "opencl/axis_nests.h"
#include "opencl/device.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"
#include "targets/gpu/launches.h"
#include "targets/registry.h"

namespace polyweft::opencl_test {
namespace {

using backend_test::base_nest_of;
using backend_test::difference_from_interpreter;
using backend_test::inputs_of;
using backend_test::nest_of_text;
using backend_test::program_of_text;

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(backend_, nullptr);
    if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
  }

  std::unique_ptr<targets::LoadedKernel> loaded(const LoopNest& nest) const {
    const auto made = backend_->build(nest, target_, {"kernel", targets::Caller::anyone, targets::Loader::process});
    EXPECT_TRUE(made) << (made ? "" : made.error().message) << print(nest);
    if (!made) return nullptr;
    auto kernel = backend_->load(*made, nest, target_);
    EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << print(nest) << text(nest);
    return kernel ? std::move(*kernel) : nullptr;
  }
  std::string text(const LoopNest& nest) const {
    auto made = backend_->emit(nest, target_, Emit::llvm, {"kernel"});
    return made ? std::string(made->begin(), made->end()) : made.error().message;
  }
  void expect_bits(const LoopNest& nest, targets::LoadedKernel& kernel, const std::vector<TensorData>& inputs) const {
    kernel.forget_packed();
    ASSERT_EQ(difference_from_interpreter(nest, kernel, inputs), "") << print(nest) << text(nest);
  }

  const targets::Backend* backend_ = targets::backend_of("spirv64");
  Target target_ = find_target("opencl").value();
};

TEST_F(OpenCl, programs_give_the_bits_of_the_interpreter) {
  for (const auto& c : backend_test::program_cases()) {
    SCOPED_TRACE(c.name);
    const Program program = program_of_text(c.text);
    for (const NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc}) {
      const auto nest = poly::base_nest(program, cls);
      ASSERT_TRUE(nest) << nest.error().message;
      const auto kernel = loaded(*nest);
      ASSERT_NE(kernel, nullptr);
      for (uint64_t seed = 1; seed <= 2; ++seed) expect_bits(*nest, *kernel, inputs_of(program, seed));
    }
  }
}

// Sums in registers and in memory, long enough that a compiler could take them apart.
TEST_F(OpenCl, strict_sums_keep_their_order) {
  for (const std::string text :
       {"program p(M = 40, N = 48, K = 64)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
        "B[k, j]\n",
        "program p(N = 3000)\nin A: f64[N]\nout S = sum[i: N] A[i] * A[i]\n",
        "program p(N = 300)\nin A: f32[N, N]\nout S[i: N] = sum[j: N] A[j, i]\n",
        "program p(N = 2000)\nin A: f32[N]\nout S[i: N] = A[i] + (S[i-1] where i >= 1 else 0)\n"}) {
    SCOPED_TRACE(text);
    const LoopNest nest = base_nest_of(text);
    const auto kernel = loaded(nest);
    ASSERT_NE(kernel, nullptr);
    expect_bits(nest, *kernel, inputs_of(program_of_text(text), 1));
  }
}

TEST_F(OpenCl, operators_of_all_types_give_the_bits_of_the_interpreter) {
  for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    SCOPED_TRACE(type);
    const Program program = program_of_text(backend_test::operators_of(type));
    const auto nest = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    const auto kernel = loaded(*nest);
    ASSERT_NE(kernel, nullptr);
    for (uint64_t seed = 1; seed <= 6; ++seed) expect_bits(*nest, *kernel, inputs_of(program, seed));
  }
}

TEST_F(OpenCl, constructs_of_nests_give_the_bits_of_the_interpreter) {
  for (const auto& c : backend_test::nest_cases()) {
    SCOPED_TRACE(c.name);
    for (const char* type : {"f64", "f32"}) {
      const LoopNest nest = nest_of_text(std::regex_replace(c.text, std::regex("f64"), type));
      const auto kernel = loaded(nest);
      ASSERT_NE(kernel, nullptr);
      for (uint64_t seed = 1; seed <= 2; ++seed) expect_bits(nest, *kernel, inputs_of(nest, seed));
    }
  }
}

TEST_F(OpenCl, loops_over_blocks_and_threads_give_the_bits_of_the_interpreter) {
  for (const AxisNest& c : axis_nests()) {
    SCOPED_TRACE(c.name);
    const LoopNest nest = nest_of_text(c.text);
    const auto kernel = loaded(nest);
    ASSERT_NE(kernel, nullptr);
    for (uint64_t seed = 1; seed <= 3; ++seed) expect_bits(nest, *kernel, inputs_of(nest, seed));
    for (int again = 0; again < 20; ++again)
      expect_bits(nest, *kernel, inputs_of(nest, 3));  // another order of threads
  }
}

TEST_F(OpenCl, broken_promises_are_told) {
  const auto kernel = loaded(base_nest_of(backend_test::text_of_case("gather")));
  ASSERT_NE(kernel, nullptr);
  auto inputs = ir::seeded_inputs(program_of_text(backend_test::text_of_case("gather")), 1, ir::DataKind::random);
  inputs[0].set(2, ir::integer_literal(ElementType::i32, 10));
  std::vector<TensorData> out = {make_tensor(ElementType::f32, {4, 5})};
  EXPECT_EQ(backend_test::call(*kernel, inputs, out).value(), ir::kValueOutOfRange);
}

TEST_F(OpenCl, what_the_device_cannot_do_it_says) {
  std::string text = axis_nest("rows of threads");
  text = std::regex_replace(text, std::regex("N = 8"), "N = 100000");
  text = std::regex_replace(text, std::regex("\\b8\\b"), "100000");
  text = std::regex_replace(text, std::regex("-j \\+ 7"), "-j + 99999");
  const LoopNest nest = nest_of_text(text);
  Target larger = target_;
  larger.machine.grid.block_threads = {1 << 20};
  const auto made = backend_->build(nest, larger, {"kernel", targets::Caller::anyone, targets::Loader::process});
  ASSERT_TRUE(made) << made.error().message;
  const auto kernel = backend_->load(*made, nest, larger);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, "PW0658") << kernel.error().message;
  EXPECT_NE(kernel.error().message.find("a block of 400000 threads"), std::string::npos) << kernel.error().message;
}

TEST_F(OpenCl, a_driver_that_ends_its_process_ends_nothing_else) {
  const LoopNest nest = nest_of_text(axis_nest("rows of threads"));
  auto broken = backend_->build(nest, target_, {"kernel"});
  ASSERT_TRUE(broken) << broken.error().message;
  for (size_t k = 20; k < broken->bytes.size(); ++k) broken->bytes[k] ^= 0xff;
  const auto refused = backend_->load(*broken, nest, target_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().code == "PW0516" || refused.error().code == "PW0658" || refused.error().code == "PW0601")
      << refused.error().message;
  const auto kernel = loaded(nest);
  ASSERT_NE(kernel, nullptr);
  expect_bits(nest, *kernel, inputs_of(nest, 1));
}

// ---- what runs where: no device needed ----

targets::DeviceNest split(const char* name) {
  auto made = targets::device_nest(nest_of_text(axis_nest(name)));
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(*made) : targets::DeviceNest{};
}

TEST(Launches, a_loop_over_blocks_is_one_kernel) {
  const auto device = split("product through shared tiles");
  ASSERT_EQ(device.kernels.size(), 1u);
  EXPECT_EQ(device.kernels[0].blocks, (targets::GridSize{3, 2, 1}));
  EXPECT_EQ(device.kernels[0].threads, (targets::GridSize{4, 4, 1}));
  EXPECT_EQ(device.kernels[0].shared_bytes, 512);
  EXPECT_TRUE(device.kernels[0].outer.empty());
}

TEST(Launches, blocks_that_wait_for_each_other_are_kernels_of_a_loop_of_the_host) {
  const auto device = split("two sweeps in time");
  ASSERT_EQ(device.kernels.size(), 2u);
  for (const auto& kernel : device.kernels) EXPECT_EQ(kernel.outer.size(), 1u);
}

TEST(Launches, a_buffer_between_two_axes_is_there_once_a_row_of_threads) {
  const auto device = split("rows of threads");
  ASSERT_EQ(device.kernels.size(), 1u);
  const auto& row = device.buffers[2];
  EXPECT_EQ(row.place, targets::DevicePlace::workspace);
  EXPECT_EQ(row.instances, 4);
}

TEST(Launches, blocks_keep_the_limits_of_the_machine) {
  const auto device = split("product through shared tiles");
  Target target = find_target("opencl").value();
  GridFigures& grid = target.machine.grid;
  EXPECT_TRUE(targets::keeps_limits(device, target));
  grid.block_threads = {15};
  const auto threads = targets::keeps_limits(device, target);
  ASSERT_FALSE(threads);
  EXPECT_EQ(threads.error().code, "PW0525");
  EXPECT_NE(threads.error().message.find("a block of 16 threads"), std::string::npos) << threads.error().message;
  grid.block_threads = {16};
  grid.block_shared_bytes = {511};
  const auto shared = targets::keeps_limits(device, target);
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error().code, "PW0525");
  EXPECT_NE(shared.error().message.find("512 bytes of shared memory"), std::string::npos) << shared.error().message;
}

TEST(Launches, sizes_as_arguments_are_refused) {
  const auto symbolic = poly::base_nest(normalize(parse_program(backend_test::text_of_case("matrix_product")).value()),
                                        NumericsClass::strict);
  ASSERT_TRUE(symbolic) << symbolic.error().message;
  LoopNest nest = *symbolic;
  nest.symbolic = true;
  const auto made = targets::device_nest(nest);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0523");
}

}  // namespace
}  // namespace polyweft::opencl_test
