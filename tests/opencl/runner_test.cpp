// polyweft-runner with a device: candidates on it are judged by a reference on the CPU, timed alone and in turns, and
// what goes wrong in the device's process is the candidate's outcome.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/bits.h"
#include "opencl/device.h"
#include "polyweft/tuner.h"
#include "support/hash.h"
#include "targets/registry.h"
#include "targets/workers/device_client.h"
#include "targets/workers/runner_client.h"

namespace polyweft::opencl_test {
namespace {

using backend_test::base_nest_of;

constexpr const char* kProduct =
    "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, "
    "j]\n";
constexpr const char* kLonger =
    "program p(M = 44, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, "
    "j]\n";
constexpr const char* kOther =
    "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] (A[i, k] + "
    "B[k, "
    "j])\n";
/// Its second argument is an output of the size of the product's second input.
constexpr const char* kWritesB =
    "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nout B[k: K, j: N] = A[0, k]\nout C[i: M, j: N] = A[i, 0]\n";

std::vector<int> children_of(int process) {
  std::vector<int> out;
  const std::string of = std::to_string(process);
  std::ifstream in("/proc/" + of + "/task/" + of + "/children");
  for (int child = 0; in >> child;) out.push_back(child);
  return out;
}

class DeviceRunner : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
    auto runner = targets::WorkerRunner::start(options());
    ASSERT_TRUE(runner) << runner.error().message;
    runner_ = std::move(*runner);
    const auto begun = runner_->begin(task());
    ASSERT_TRUE(begun) << begun.error().message;
  }

  static RunnerOptions options() {
    RunnerOptions out;
    out.command = {PW_BINARY_DIR "/src/tools/polyweft-runner"};
    out.device = "opencl";
    return out;
  }

  static LoadableKernel kernel(const targets::Backend& backend, const Target& target, const LoopNest& nest) {
    const auto made = backend.build(nest, target, {"kernel", targets::Caller::lab});
    PW_CHECK(made.ok());
    return {made->kind, made->bytes, made->kernels.front(), made->id, 0, made->features, true};
  }
  LoadableKernel kernel(const char* text) const { return kernel(*device_, target_, base_nest_of(text)); }
  /// Launched as `text`'s nest says, by a module of another nest.
  LoadableKernel with_module_of(const char* text, const char* of) const {
    const auto module = device_->emit(base_nest_of(of), target_, Emit::artifact, {"kernel", targets::Caller::lab});
    PW_CHECK(module.ok());
    return with_module(text, {reinterpret_cast<const char*>(module->data()), module->size()});
  }
  static LoadableKernel with_module(const char* text, std::string_view module) {
    const std::string bytes = targets::device_kernels(print(base_nest_of(text)), "kernel", module);
    return {kDeviceKernels, {bytes.begin(), bytes.end()}, "kernel_k0", hex(blake2b_128(bytes)), 0, {}, true};
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
    const Target host = find_target("host").value();
    out.reference = kernel(*targets::backend_for(host).value(), host, base_nest_of(kProduct));
    out.bit_exact = true;
    return out;
  }
  RunOutcome run(LoadableKernel candidate, bool is_timed = false) {
    RunRequest request;
    request.candidate = std::move(candidate);
    request.time_budget = std::chrono::milliseconds(is_timed ? 50 : 0);
    request.pair_with_incumbent = is_timed;
    auto outcome = runner_->run(request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : RunOutcome{};
  }

  const targets::Backend* device_ = targets::backend_of("spirv64");
  Target target_ = find_target("opencl").value();
  std::unique_ptr<targets::WorkerRunner> runner_;
};

TEST_F(DeviceRunner, says_which_device_it_has) {
  const auto& description = runner_->description();
  ASSERT_EQ(description.devices.size(), 1u);
  EXPECT_NE(description.devices[0].find(", driver "), std::string::npos) << description.devices[0];
  EXPECT_EQ(description.kinds, (std::vector<std::string>{kElfShared, kDeviceKernels}));
  EXPECT_NE(description.weaker.find("without walls"), std::string::npos) << description.weaker;
}

TEST_F(DeviceRunner, right_kernels_are_timed_alone_and_in_turns) {
  const RunOutcome alone = run(kernel(kProduct), true);
  ASSERT_EQ(alone.status, RunStatus::ok) << alone.detail;
  EXPECT_GT(alone.timing.median_ns, 0);
  EXPECT_GE(alone.timing.samples, 3);
  ASSERT_TRUE(runner_->set_incumbent(kernel(kProduct)));
  const RunOutcome in_turns = run(kernel(kProduct), true);
  ASSERT_EQ(in_turns.status, RunStatus::ok) << in_turns.detail;
  EXPECT_GT(in_turns.timing.ratio, 0.2);
  EXPECT_LT(in_turns.timing.ratio, 5);
  EXPECT_EQ(in_turns.timing.beside_ns.size(), in_turns.timing.samples_ns.size());
}

TEST_F(DeviceRunner, wrong_kernels_are_told_apart) {
  const RunOutcome wrong = run(kernel(kOther));
  EXPECT_EQ(wrong.status, RunStatus::wrong_result);
  EXPECT_NE(wrong.detail.find("C[0,0]"), std::string::npos) << wrong.detail;
  const RunOutcome outside = run(with_module_of(kProduct, kLonger));
  EXPECT_EQ(outside.status, RunStatus::out_of_bounds) << outside.detail;
  EXPECT_EQ(outside.detail, "the kernel writes behind C");
  const RunOutcome overwritten = run(with_module_of(kProduct, kWritesB));
  EXPECT_EQ(overwritten.status, RunStatus::input_overwritten) << overwritten.detail;
  EXPECT_EQ(overwritten.detail, "the kernel writes into its input B");
  const RunOutcome right = run(kernel(kProduct));
  EXPECT_EQ(right.status, RunStatus::ok) << right.detail;
}

TEST_F(DeviceRunner, what_does_not_load_is_said) {
  const RunOutcome garbage = run(with_module(kProduct, "no module"));
  EXPECT_EQ(garbage.status, RunStatus::build_failed);
  EXPECT_NE(garbage.detail.find("device"), std::string::npos) << garbage.detail;
  const RunOutcome other_sizes = run(kernel(kLonger));
  EXPECT_EQ(other_sizes.status, RunStatus::build_failed);
  EXPECT_EQ(other_sizes.detail, "the kernel's arguments are not those of the task");
  EXPECT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
}

TEST_F(DeviceRunner, a_device_process_that_ends_takes_one_trial_along_at_most) {
  ASSERT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
  const std::vector<int> children = children_of(runner_->worker().pid());
  ASSERT_EQ(children.size(), 1u);
  ASSERT_EQ(kill(children[0], SIGKILL), 0);
  run(kernel(kProduct));
  EXPECT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
}

TEST_F(DeviceRunner, a_slow_kernel_is_stopped_at_its_deadline) {
  constexpr const char* kSlow =
      "program p(M = 40, N = 48, K = 24, R = 3000000)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "(A[i, k] * B[k, j] + sum[r: R] A[(i + r) % M, k] * B[k, (j + r) % N])\n";
  RunRequest request;
  request.candidate = kernel(kSlow);
  request.time_budget = std::chrono::milliseconds(0);
  request.deadline = std::chrono::milliseconds(200);
  const auto outcome = runner_->run(request);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, RunStatus::slower) << outcome->detail;
  EXPECT_EQ(run(kernel(kProduct)).status, RunStatus::ok);
}

TEST_F(DeviceRunner, kernels_of_two_kinds_do_not_race) {
  ASSERT_TRUE(runner_->set_incumbent(kernel(kProduct)));
  RunRequest request;
  request.candidate = task().reference;
  request.pair_with_incumbent = true;
  const auto outcome = runner_->run(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, "PW0610");
  EXPECT_NE(outcome.error().message.find("beside an incumbent of kind device-kernels"), std::string::npos);
}

TEST_F(DeviceRunner, other_devices_and_runners_without_one_are_refused) {
  RunnerOptions other = options();
  other.device = "abacus";
  const auto none = targets::WorkerRunner::start(other);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "PW0517");
  EXPECT_NE(none.error().message.find("'abacus' is no kind of device"), std::string::npos);
  RunnerOptions without = options();
  without.device.clear();
  auto plain = targets::WorkerRunner::start(without);
  ASSERT_TRUE(plain);
  ASSERT_TRUE((*plain)->begin(task()));
  RunRequest request;
  request.candidate = kernel(kProduct);
  const auto outcome = (*plain)->run(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, "PW0612");
}

TEST_F(DeviceRunner, a_search_ends_with_a_record) {
  std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-opencl-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  TunerOptions options;
  options.database = std::filesystem::path(pattern) / "a.db";
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  TuneOptions trials;
  trials.trials = 4;
  trials.budget = TuneOptions::kNoLimit;
  {
    Tuner tuner(target_, options);
    const Program program = parse_program(kProduct).value();
    const auto found = tuner.tune(program, trials);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
    EXPECT_GT(found->record.measurement.timing.median_ns, 0);
    const auto again = tuner.tune(program, trials);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->hit);
  }
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace polyweft::opencl_test
