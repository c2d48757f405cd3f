// polyweft-runner with kernels in WebAssembly: judged by a reference on the CPU, timed alone and in turns; what a
// kernel does wrong stays in the engine's memory and is told apart. tune and bench by the same process.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "backend/bits.h"
#include "polyweft/tuner.h"
#include "support/hash.h"
#include "targets/registry.h"
#include "targets/workers/device_client.h"
#include "targets/workers/runner_client.h"
#include "wasm/engine.h"

namespace polyweft::wasm_test {
namespace {

using backend_test::base_nest_of;

std::string product(int rows) {
  return "program p(M = " + std::to_string(rows) +
         ", N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n";
}
const std::string kProduct = product(40);
const std::string kOther =
    "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] (A[i, k] + "
    "B[k, j])\n";
/// Its second argument is an output of the size of the product's second input.
const std::string kWritesB =
    "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nout B[k: K, j: N] = A[0, k]\nout C[i: M, j: N] = A[i, 0]\n";
const std::string kSlow =
    "program p(M = 40, N = 48, K = 24, R = 3000000)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
    "(A[i, k] * B[k, j] + sum[r: R] A[(i + r) % M, k] * B[k, (j + r) % N])\n";

class EngineRunner : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_engine(); !why.empty()) GTEST_SKIP() << why;
    RunnerOptions options;
    options.command = {PW_BINARY_DIR "/src/tools/polyweft-runner"};
    options.device = "wasm";
    auto runner = targets::WorkerRunner::start(options);
    ASSERT_TRUE(runner) << runner.error().message;
    runner_ = std::move(*runner);
    const auto begun = runner_->begin(task());
    ASSERT_TRUE(begun) << begun.error().message;
  }

  static LoadableKernel kernel(const Target& target, const std::string& text) {
    const auto made =
        targets::backend_for(target).value()->build(base_nest_of(text), target, {"kernel", targets::Caller::lab});
    PW_CHECK(made.ok());
    return {made->kind, made->bytes, made->kernels.front(), made->id, 0, made->features, true};
  }
  LoadableKernel kernel(const std::string& text) const { return kernel(target_, text); }
  /// Arguments of the product, a module of its own.
  static LoadableKernel with_module(std::string_view module) {
    const std::string bytes = targets::device_kernels("3840 in A\n4608 in B\n7680 out C\n", "kernel", module);
    return {kDeviceKernels, {bytes.begin(), bytes.end()}, "kernel", hex(blake2b_128(bytes)), 0, {}, true};
  }
  LoadableKernel with_module_of(const std::string& text) const {
    const auto module = targets::backend_for(target_).value()->emit(base_nest_of(text), target_, Emit::artifact,
                                                                    {"kernel", targets::Caller::lab});
    PW_CHECK(module.ok());
    return with_module({reinterpret_cast<const char*>(module->data()), module->size()});
  }

  static RunnerTask task() {
    const auto spec = [](const char* name, std::vector<int64_t> extents, bool is_output) {
      ArgumentSpec out;
      out.name = name, out.extents = std::move(extents), out.is_output = is_output;
      return out;
    };
    RunnerTask out;
    out.id = "product";
    out.arguments = {spec("A", {40, 24}, false), spec("B", {24, 48}, false), spec("C", {40, 48}, true)};
    out.reference = kernel(find_target("host").value(), kProduct);
    out.bit_exact = true;
    return out;
  }
  RunOutcome run(LoadableKernel candidate, bool is_timed = false, int deadline_ms = 0) {
    RunRequest request;
    request.candidate = std::move(candidate);
    request.time_budget = std::chrono::milliseconds(is_timed ? 50 : 0);
    request.pair_with_incumbent = is_timed;
    request.deadline = std::chrono::milliseconds(deadline_ms);
    auto outcome = runner_->run(request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : RunOutcome{};
  }

  Target target_ = find_target("wasm").value();
  std::unique_ptr<targets::WorkerRunner> runner_;
};

TEST_F(EngineRunner, right_kernels_are_timed_alone_and_in_turns) {
  const RunOutcome alone = run(kernel(kProduct), true);
  ASSERT_EQ(alone.status, RunStatus::ok) << alone.detail;
  EXPECT_GT(alone.timing.median_ns, 0);
  ASSERT_TRUE(runner_->set_incumbent(kernel(kProduct)));
  const RunOutcome in_turns = run(kernel(kProduct), true);
  ASSERT_EQ(in_turns.status, RunStatus::ok) << in_turns.detail;
  EXPECT_EQ(in_turns.timing.beside_ns.size(), in_turns.timing.samples_ns.size());
  EXPECT_FALSE(runner_->description().is_emulated) << "its times are this machine's";
}

TEST_F(EngineRunner, wrong_kernels_are_told_apart) {
  const RunOutcome wrong = run(kernel(kOther));
  EXPECT_EQ(wrong.status, RunStatus::wrong_result);
  EXPECT_NE(wrong.detail.find("C[0,0]"), std::string::npos) << wrong.detail;
  const RunOutcome behind = run(with_module_of(product(44)));
  EXPECT_EQ(behind.status, RunStatus::out_of_bounds);
  EXPECT_EQ(behind.detail, "the kernel writes behind C");
  const RunOutcome overwritten = run(with_module_of(kWritesB));
  EXPECT_EQ(overwritten.status, RunStatus::input_overwritten);
  EXPECT_EQ(overwritten.detail, "the kernel writes into its input B");
  EXPECT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
}

TEST_F(EngineRunner, what_leaves_its_memory_traps) {
  const RunOutcome outside = run(with_module_of(product(40000)));
  EXPECT_EQ(outside.status, RunStatus::out_of_bounds) << outside.detail;
  EXPECT_EQ(outside.detail, "the kernel writes outside of its memory");
  EXPECT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
}

TEST_F(EngineRunner, what_does_not_load_is_said) {
  const RunOutcome garbage = run(with_module("no module"));
  EXPECT_EQ(garbage.status, RunStatus::build_failed);
  EXPECT_NE(garbage.detail.find("the engine refuses the module"), std::string::npos) << garbage.detail;
  const RunOutcome other_sizes = run(kernel(product(44)));
  EXPECT_EQ(other_sizes.status, RunStatus::build_failed);
  EXPECT_EQ(other_sizes.detail, "the kernel's arguments are not those of the task");
}

TEST_F(EngineRunner, a_slow_kernel_is_stopped_at_its_deadline) {
  const RunOutcome slow = run(kernel(kSlow), false, 300);
  EXPECT_EQ(slow.status, RunStatus::slower) << slow.detail;
  EXPECT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
}

TEST(Engine, tune_and_bench_take_its_times) {
  if (const std::string why = why_no_engine(); !why.empty()) GTEST_SKIP() << why;
  std::string folder = (std::filesystem::temp_directory_path() / "polyweft-wasm-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  TunerOptions options;
  options.database = folder + "/w.db";
  Tuner tuner(find_target("wasm").value(), options);
  const Program program = parse_program(kProduct).value();
  TuneOptions few;
  few.trials = 3;
  few.budget = TuneOptions::kNoLimit;
  const auto found = tuner.tune(program, few);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->failed, 0);
  EXPECT_FALSE(is_emulated(found->record.key));
  EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  const auto report = tuner.bench(program, {}, std::chrono::milliseconds(40));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->is_emulated);
  EXPECT_GT(report->kernel.median_ns, 0);
  std::filesystem::remove_all(folder);
}

TEST(Engine, products_for_files_are_modules_and_headers) {
  Tuner tuner(find_target("wasm").value(), TunerOptions{});
  const Program program = parse_program(kProduct).value();
  const auto module = tuner.build(program, {}, Emit::artifact, "");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(std::string(module->bytes.begin(), module->bytes.begin() + 4), std::string("\0asm", 4));
  EXPECT_TRUE(tuner.build(program, {}, Emit::header, ""));
  EXPECT_TRUE(tuner.build(program, {}, Emit::object, ""));
  EXPECT_TRUE(tuner.build(program, {}, Emit::assembly, ""));
  const auto shared = tuner.build(program, {}, Emit::shared, "");
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error().code, "PW0523");
}

}  // namespace
}  // namespace polyweft::wasm_test
