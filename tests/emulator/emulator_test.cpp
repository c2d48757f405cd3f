// Kernels of a GPU's grids on an emulator: bits of the interpreter for programs, operators and constructs of nests that
// the other backends are compared on, and for loops over blocks and threads, in whatever order threads run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>

#include "backend/bits.h"
#include "backend/python_cases.h"
#include "emulator/harness.h"
#include "emulator/waiting_nests.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "opencl/axis_nests.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::difference_from_interpreter;
using backend_test::inputs_of;
using backend_test::nest_of_text;
using backend_test::program_of_text;

TEST_F(Emulator, programs_give_the_bits_of_the_interpreter) {
  for (const auto& c : backend_test::program_cases()) {
    SCOPED_TRACE(c.name);
    const Program program = program_of_text(c.text);
    for (const NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc}) {
      const auto nest = poly::base_nest(program, cls);
      ASSERT_TRUE(nest) << nest.error().message;
      expect_bits(*nest, "sm_90a", {inputs_of(program, 1), inputs_of(program, 2)});
    }
  }
}

TEST_F(Emulator, operators_of_all_types_give_the_bits_of_the_interpreter) {
  for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    SCOPED_TRACE(type);
    const Program program = program_of_text(backend_test::operators_of(type));
    const auto nest = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    std::vector<std::vector<TensorData>> inputs;
    for (uint64_t seed = 1; seed <= 6; ++seed) inputs.push_back(inputs_of(program, seed));
    expect_bits(*nest, "sm_75", inputs);
    expect_bits(*nest, "sm_90a", inputs);
  }
}

TEST_F(Emulator, constructs_of_nests_give_the_bits_of_the_interpreter) {
  for (const auto& c : backend_test::nest_cases()) {
    SCOPED_TRACE(c.name);
    for (const char* type : {"f64", "f32"}) {
      const LoopNest nest = nest_of_text(std::regex_replace(c.text, std::regex("f64"), type));
      expect_bits(nest, "sm_80", {inputs_of(nest, 1), inputs_of(nest, 2)});
    }
  }
}

TEST_F(Emulator, loops_over_blocks_and_threads_give_the_bits_of_the_interpreter) {
  for (const auto& c : opencl_test::axis_nests()) {
    SCOPED_TRACE(c.name);
    const LoopNest nest = nest_of_text(c.text);
    expect_bits(nest, "sm_90a", {inputs_of(nest, 1), inputs_of(nest, 2), inputs_of(nest, 3)});
  }
}

TEST_F(Emulator, shared_memory_that_launches_ask_for_gives_the_bits_of_the_interpreter) {
  const LoopNest nest = nest_of_text(opencl_test::kLargeTiles);
  expect_bits(nest, "sm_75", {inputs_of(nest, 1)});
  const auto large = backend_->build(nest, emulated("sm_75", ""), {"kernel"});
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->plan.launches.front().dynamic_shared_bytes, 49408);
}

TEST_F(Emulator, broken_promises_are_told) {
  const LoopNest nest = backend_test::base_nest_of(backend_test::text_of_case("gather"));
  const auto kernel = loaded(nest, find_target("emulated:sm_90a").value());
  ASSERT_NE(kernel, nullptr);
  auto inputs = ir::seeded_inputs(program_of_text(backend_test::text_of_case("gather")), 1, ir::DataKind::random);
  inputs[0].set(2, ir::integer_literal(ElementType::i32, 10));
  std::vector<TensorData> out = {make_tensor(ElementType::f32, {4, 5})};
  EXPECT_EQ(backend_test::call(*kernel, inputs, out).value(), ir::kValueOutOfRange);
}

TEST_F(Emulator, the_runner_takes_its_kernels_and_says_whose_times_they_are) {
  Tuner tuner(find_target("emulated:sm_90a").value(), TunerOptions{});
  const auto program = parse_program(
      "program product(M = 24, N = 40, K = 32)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, "
      "k] * B[k, j]\n");
  ASSERT_TRUE(program) << program.error().message;
  const auto report = tuner.bench(*program, {}, std::chrono::milliseconds(40));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_emulated);
  EXPECT_GT(report->kernel.median_ns, 0);
}

TEST_F(Emulator, tuning_compares_results_and_expects_times) {
  const std::filesystem::path database =
      std::filesystem::temp_directory_path() / ("polyweft-emulated-" + std::to_string(getpid()) + ".db");
  TunerOptions options;
  options.database = database;
  Tuner tuner(find_target("emulated:sm_90a").value(), options);
  const auto program = parse_program(
      "program product(M = 40, N = 72, K = 33)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, "
      "k] * B[k, j]\n");
  ASSERT_TRUE(program) << program.error().message;
  TuneOptions trials;
  trials.trials = 6;
  trials.budget = TuneOptions::kNoLimit;
  const auto found = tuner.tune(*program, trials);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->failed, 0) << "candidates agree with the base nest";
  EXPECT_GT(found->measured, 0);
  EXPECT_TRUE(is_emulated(found->record.key));
  EXPECT_GT(found->record.measurement.timing.median_ns, 0);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(database.string() + suffix);
}

TEST_F(Emulator, products_for_programs_hold_the_runtime) {
  const LoopNest nest = nest_of_text(opencl_test::axis_nest("product through shared tiles"));
  for (const Emit what : {Emit::object, Emit::shared, Emit::static_library, Emit::artifact}) {
    const auto made = backend_->emit(nest, find_target("emulated:sm_80").value(), what, {"kernel"});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_GT(made->size(), 1000u);
  }
  const auto header = backend_->emit(nest, find_target("emulated:sm_80").value(), Emit::header, {"kernel"});
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_NE(std::string(header->begin(), header->end()).find("int kernel(struct halide_buffer_t"), std::string::npos);
}

TEST_F(Emulator, features_are_a_machine_and_an_order) {
  for (const char* features : {"\"random\"", "\"random\", \"reverse\", \"sm_80\"", "\"sm_80\", \"sm_90a\""}) {
    const auto target =
        parse_target(std::string("architecture = \"emulated-nvptx64\"\nfeatures = [") + features + "]\n", "e.toml");
    ASSERT_FALSE(target) << features;
    EXPECT_EQ(target.error().code, "PW0511");
  }
}

// ---- what it finds ----

TEST_F(Emulator, nests_whose_threads_wait_give_the_bits_of_the_interpreter) {
  for (const auto& [name, text] : waiting_nests()) {
    SCOPED_TRACE(name);
    const LoopNest nest = nest_of_text(text);
    expect_bits(nest, "sm_80", {inputs_of(nest, 1)});
  }
}

TEST_F(Emulator, a_barrier_that_is_missing_shows_in_some_order) {
  Mutants mutants;
  for (const auto& c : opencl_test::axis_nests()) drop_each_call(c.name, nest_of_text(c.text), mutants);
  for (const auto& [name, text] : waiting_nests()) drop_each_call(name, nest_of_text(text), mutants);
  std::printf("%d barriers dropped, %d found: forward %d, reverse %d, random %d\n", mutants.made, mutants.found,
              mutants.by_order["forward"], mutants.by_order["reverse"], mutants.by_order["random"]);
  EXPECT_GE(mutants.made, 70);
  // Equivalent: of two barriers with one thread's work between them one is enough. The last step of a scan leaves the
  // cells as they are that it reads from others, and all of it the first one.
  const std::vector<std::string> expected = {"work beside loops over threads: call 0",
                                             "work beside loops over threads: call 1",
                                             "scan 8: call 5",
                                             "scan 8: call 6",
                                             "scan 32: call 9",
                                             "scan 32: call 10",
                                             "scan 256: call 15",
                                             "scan 256: call 16"};
  EXPECT_EQ(mutants.equivalent, expected);
}

/// First choices of the rules for machines with blocks and threads: tiles in shared memory, sums by many threads.
constexpr const char* kTiledPrograms[] = {
    "program product(M = 70, N = 72, K = 66)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] "
    "* B[k, j]\n",
    "program products(P = 3, M = 33, N = 40, K = 35)\nin A: f32[P, M, K]\nin B: f32[P, K, N]\nout C[p: P, i: M, j: N] "
    "= "
    "sum[k: K] A[p, i, k] * B[p, k, j]\n",
    "program rows(M = 24, N = 300)\nin A: f32[M, N]\nout S[i: M] = sum[j: N] A[i, j]\n",
    "program columns(M = 300, N = 24)\nin A: f32[M, N]\nout S[j: N] = sum[i: M] A[i, j]\n",
    "program total(M = 40, N = 50)\nin A: f32[M, N]\nout s = sum[i: M, j: N] A[i, j]\n",
    "program transposed(M = 40, N = 72)\nin A: f32[M, N]\nout B[j: N, i: M] = A[i, j]\n",
    "program normalized(M = 12, N = 130)\nin A: f32[M, N]\nlet m[i: M] = max[j: N] A[i, j]\nout B[i: M, j: N] = A[i, "
    "j] - "
    "m[i]\n",
};

TEST_F(Emulator, a_barrier_of_the_rules_that_is_missing_shows_in_some_order) {
  Mutants mutants;
  int with_barriers = 0;
  for (const char* text : kTiledPrograms) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << program.error().message;
    Tuner tuner(find_target("emulated:sm_80").value(), TunerOptions{});
    const auto shown = tuner.show(*program, {}, ShowStage::loops);
    ASSERT_TRUE(shown) << shown.error().message;
    const LoopNest nest = nest_of_text(*shown);
    expect_bits(nest, "sm_80", {integer_inputs_of(nest)});
    const int before = mutants.made;
    drop_each_call(program->name, nest, mutants);
    with_barriers += mutants.made > before;
  }
  std::printf("%d first choices with barriers, %d barriers dropped, %d found\n", with_barriers, mutants.made,
              mutants.found);
  for (const std::string& one : mutants.equivalent) std::printf("not found: %s\n", one.c_str());
  EXPECT_GE(with_barriers, 2);
  // Equivalent: the last two barriers of a tree of sums, whose result the first thread writes and reads.
  EXPECT_GE(mutants.found * 3, mutants.made * 2);
}

}  // namespace
}  // namespace polyweft::emulator_test
