// Kernels for AMD's GPUs on the emulator: bits of the interpreter for programs, operators and constructs of nests, and
// for loops over blocks and threads, in three orders of threads; barriers left out.
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>

#include "backend/bits.h"
#include "backend/python_cases.h"
#include "emulator/harness.h"
#include "emulator/waiting_nests.h"
#include "opencl/axis_nests.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"
#include "targets/gpu/emulator/emulator_code.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::inputs_of;
using backend_test::nest_of_text;
using backend_test::program_of_text;

/// Of waves of 64 and of 32.
constexpr const char* kWaves[] = {"gfx942", "gfx1100"};

TEST_F(Emulator, programs_for_amd_give_the_bits_of_the_interpreter) {
  size_t turn = 0;
  for (const auto& c : backend_test::program_cases()) {
    SCOPED_TRACE(c.name);
    const Program program = program_of_text(c.text);
    const auto nest = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_bits(*nest, kWaves[turn++ % std::size(kWaves)], {inputs_of(program, 1), inputs_of(program, 2)});
  }
}

TEST_F(Emulator, operators_for_amd_give_the_bits_of_the_interpreter) {
  for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    SCOPED_TRACE(type);
    const Program program = program_of_text(backend_test::operators_of(type));
    const auto nest = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    std::vector<std::vector<TensorData>> inputs;
    for (uint64_t seed = 1; seed <= 3; ++seed) inputs.push_back(inputs_of(program, seed));
    expect_bits(*nest, "gfx90a", inputs);
  }
}

TEST_F(Emulator, constructs_of_nests_for_amd_give_the_bits_of_the_interpreter) {
  size_t turn = 0;
  for (const auto& c : backend_test::nest_cases()) {
    SCOPED_TRACE(c.name);
    for (const char* type : {"f64", "f32"}) {
      const LoopNest nest = nest_of_text(std::regex_replace(c.text, std::regex("f64"), type));
      expect_bits(nest, kWaves[turn++ % std::size(kWaves)], {inputs_of(nest, 1), inputs_of(nest, 2)});
    }
  }
}

TEST_F(Emulator, loops_over_blocks_and_threads_for_amd_give_the_bits_of_the_interpreter) {
  for (const char* machine : kWaves) {
    for (const auto& c : opencl_test::axis_nests()) {
      SCOPED_TRACE(c.name);
      const LoopNest nest = nest_of_text(c.text);
      expect_bits(nest, machine, {inputs_of(nest, 1), inputs_of(nest, 2)});
    }
    for (const auto& [name, text] : waiting_nests()) {
      SCOPED_TRACE(name);
      const LoopNest nest = nest_of_text(text);
      expect_bits(nest, machine, {inputs_of(nest, 1)});
    }
  }
}

TEST_F(Emulator, a_barrier_for_amd_that_is_missing_shows_in_some_order) {
  Mutants mutants;
  for (const auto& c : opencl_test::axis_nests()) drop_each_call(c.name, nest_of_text(c.text), mutants, "gfx942");
  for (const auto& [name, text] : waiting_nests()) {
    if (name.find("256") == std::string::npos) drop_each_call(name, nest_of_text(text), mutants, "gfx942");
  }
  std::printf("%d barriers dropped, %d found\n", mutants.made, mutants.found);
  EXPECT_GE(mutants.made, 40);
  // Equivalent for the same reasons as on other machines (tests/emulator).
  const std::vector<std::string> expected = {"work beside loops over threads: call 0",
                                             "work beside loops over threads: call 1",
                                             "scan 8: call 5",
                                             "scan 8: call 6",
                                             "scan 32: call 9",
                                             "scan 32: call 10"};
  EXPECT_EQ(mutants.equivalent, expected);
}

TEST_F(Emulator, first_choices_for_amd_give_the_bits_of_the_interpreter) {
  constexpr const char* kTexts[] = {
      "program product(M = 70, N = 72, K = 66)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, "
      "k] * B[k, j]\n",
      "program rows(M = 24, N = 300)\nin A: f32[M, N]\nout S[i: M] = sum[j: N] A[i, j]\n",
      "program transposed(M = 40, N = 72)\nin A: f32[M, N]\nout B[j: N, i: M] = A[i, j]\n",
      "program normalized(M = 12, N = 130)\nin A: f32[M, N]\nlet m[i: M] = max[j: N] A[i, j]\nout B[i: M, j: N] = A[i, "
      "j] - m[i]\n"};
  for (const char* machine : kWaves)
    for (const char* text : kTexts) {
      const auto program = parse_program(text);
      ASSERT_TRUE(program) << program.error().message;
      SCOPED_TRACE(program->name);
      Tuner tuner(find_target(std::string("emulated:") + machine).value(), TunerOptions{});
      const auto shown = tuner.show(*program, {}, ShowStage::loops);
      ASSERT_TRUE(shown) << shown.error().message;
      const LoopNest nest = nest_of_text(*shown);
      expect_bits(nest, machine, {integer_inputs_of(nest)});
    }
}

TEST_F(Emulator, machines_of_amd_are_named_with_an_order) {
  const auto names = targets::backend_of("emulated-amdgcn")->target_names();
  EXPECT_EQ(names,
            (std::vector<std::string>{"emulated:gfx90a", "emulated:gfx942", "emulated:gfx1100", "emulated:gfx1201"}));
  const auto both =
      parse_target("architecture = \"emulated-amdgcn\"\nfeatures = [\"gfx942\", \"sm_80\"]\n", "both.toml");
  ASSERT_FALSE(both);
  EXPECT_EQ(
      both.error().message,
      "both.toml: code for this architecture needs one feature of gfx90a, gfx942, gfx1100, gfx1201, and takes one "
      "of reverse, random");
}

/// A kernel in LLVM's text that calls an intrinsic.
std::string kernel_with_call(const std::string& declared, const std::string& called) {
  return "target triple = \"amdgcn-amd-amdhsa\"\ndeclare " + declared +
         "\ndefine amdgpu_kernel void @k(ptr addrspace(1) %out) {\n  " + called + "\n  ret void\n}\n";
}

TEST_F(Emulator, intrinsics_of_amd_that_it_has_not_are_refused_by_name) {
  const Target target = find_target("emulated:gfx942").value();
  const struct {
    const char *declared, *called, *name;
  } kCases[] = {
      {"i32 @llvm.amdgcn.readfirstlane.i32(i32)", "%a = call i32 @llvm.amdgcn.readfirstlane.i32(i32 0)",
       "llvm.amdgcn.readfirstlane.i32"},
      {"<4 x float> @llvm.amdgcn.mfma.f32.4x4x4f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)",
       "%a = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x4f16(<4 x half> zeroinitializer, <4 x half> zeroinitializer, "
       "<4 "
       "x float> zeroinitializer, i32 0, i32 0, i32 0)",
       "llvm.amdgcn.mfma.f32.4x4x4f16"},
      {"<16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half>, <4 x half>, <16 x float>, i32, i32, i32)",
       "%a = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> zeroinitializer, <4 x half> "
       "zeroinitializer, <16 x float> zeroinitializer, i32 1, i32 0, i32 0)",
       "llvm.amdgcn.mfma.f32.32x32x8f16"},
  };
  for (const auto& c : kCases) {
    const auto made = targets::emulated_module(kernel_with_call(c.declared, c.called), {"k"}, target);
    ASSERT_FALSE(made) << c.name;
    EXPECT_EQ(made.error().code, "PW0523");
    EXPECT_EQ(made.error().message, std::string("the emulator has no ") + c.name);
  }
}

}  // namespace
}  // namespace polyweft::emulator_test
