// tune, show and build by the runner that runs programs in an emulator; what goes wrong in one is its outcome.
#include "emulated/tune.h"

#include <chrono>

#include "backend/bits.h"
#include "hexagon/emulated.h"
#include "support/hash.h"
#include "targets/registry.h"
#include "targets/workers/device_client.h"

namespace polyweft::hexagon_test {
namespace {

class HexagonTune : public Hexagon {
 protected:
  Tuner tuner() const { return folder_.tuner(target_); }

  emulated_test::TuneFolder folder_;
};

TEST_F(HexagonTune, records_are_expected_kept_and_used) {
  const auto program = parse_program(
      "program g(M = 24, N = 70, K = 40)\nin A: u8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
      "i32(B[k, j])\n");
  ASSERT_TRUE(program) << program.error().message;
  Tuner emulated = tuner();
  const auto found = emulated.tune(*program, emulated_test::trials(4));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->failed, 0);
  EXPECT_GT(found->measured, 0);
  EXPECT_TRUE(is_emulated(found->record.key));
  EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  EXPECT_GT(found->record.measurement.timing.median_ns, 0);
  const auto hit = tuner().tune(*program, emulated_test::trials(4));
  ASSERT_TRUE(hit) << hit.error().message;
  EXPECT_TRUE(hit->hit);
  for (const Emit emit : {Emit::object, Emit::assembly, Emit::llvm, Emit::artifact, Emit::header}) {
    const auto built = emulated.build(*program, {}, emit, "");
    ASSERT_TRUE(built) << built.error().message;
    EXPECT_EQ(built->origin, "record #" + std::to_string(found->record.id) + ", expected");
  }
}

class HexagonRunner : public Hexagon {
 protected:
  static constexpr const char* kSum = "program p(N = 100)\nin A: i32[N]\nin B: i32[N]\nout C[i: N] = A[i] + B[i]\n";

  void SetUp() override {
    Hexagon::SetUp();
    if (IsSkipped()) return;
    RunnerOptions options;
    options.command = {PW_BINARY_DIR "/src/tools/polyweft-runner"};
    options.emulated_call_deadline = std::chrono::milliseconds(2000);
    auto runner = backend_.start_runner(options);
    ASSERT_TRUE(runner) << runner.error().message;
    runner_ = std::move(*runner);
    RunnerTask task;
    task.id = "sum";
    for (const char* name : {"A", "B", "C"}) {
      ArgumentSpec spec;
      spec.name = name, spec.type = ElementType::i32, spec.extents = {100}, spec.is_output = name == std::string("C");
      task.arguments.push_back(spec);
    }
    const Target host = find_target("host").value();
    task.reference = kernel(*targets::backend_for(host).value(), host, backend_test::base_nest_of(kSum));
    task.bit_exact = true;
    const Status begun = runner_->begin(task);
    ASSERT_TRUE(begun) << begun.error().message;
  }
  static LoadableKernel kernel(const targets::Backend& backend, const Target& target, const LoopNest& nest) {
    const auto made = backend.build(nest, target, {"kernel", targets::Caller::lab});
    PW_CHECK(made.ok());
    return {made->kind, made->bytes, made->kernels.front(), made->id, 0, made->features, true};
  }
  /// The program of `of`, called as `text`'s nest says.
  LoadableKernel with_program_of(const char* text, const char* of) const {
    const auto made = backend_.build(backend_test::base_nest_of(of), target_,
                                     {"kernel", targets::Caller::lab, targets::Loader::process});
    PW_CHECK(made.ok());
    const std::string bytes =
        targets::device_kernels(print(backend_test::base_nest_of(text)), "kernel",
                                {reinterpret_cast<const char*>(made->bytes.data()), made->bytes.size()});
    return {kDeviceKernels, {bytes.begin(), bytes.end()}, "kernel", hex(blake2b_128(bytes)), 0, {}, true};
  }
  RunOutcome run(LoadableKernel candidate, std::chrono::milliseconds deadline = {}) {
    RunRequest request;
    request.candidate = std::move(candidate);
    request.time_budget = std::chrono::milliseconds(0);
    request.deadline = deadline;
    const auto outcome = runner_->run(request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : RunOutcome{};
  }
  std::unique_ptr<Runner> runner_;
};

TEST_F(HexagonRunner, right_and_wrong_kernels_are_told_apart) {
  EXPECT_TRUE(runner_->is_emulated());
  const RunOutcome right = run(with_program_of(kSum, kSum));
  EXPECT_EQ(right.status, RunStatus::ok) << right.detail;
  const RunOutcome wrong =
      run(with_program_of(kSum, "program p(N = 100)\nin A: i32[N]\nin B: i32[N]\nout C[i: N] = A[i] - B[i]\n"));
  EXPECT_EQ(wrong.status, RunStatus::wrong_result) << wrong.detail;
  const RunOutcome behind =
      run(with_program_of(kSum, "program p(N = 101)\nin A: i32[N]\nin B: i32[N]\nout C[i: N] = A[i] + B[i]\n"));
  EXPECT_EQ(behind.status, RunStatus::out_of_bounds) << behind.detail;
}

TEST_F(HexagonRunner, crashes_and_slow_kernels_are_told) {
  const RunOutcome crash =
      run(with_program_of(kSum, "program p(N = 1000000)\nin A: i32[N]\nin B: i32[N]\nout C[i: N] = A[i] + B[i]\n"));
  EXPECT_EQ(crash.status, RunStatus::crash) << crash.detail;
  const RunOutcome slow = run(
      with_program_of(kSum,
                      "program p(N = 100, R = 100000, S = 1000)\nin A: i32[N]\nin B: i32[N]\nout C[i: N] = sum[s: S, "
                      "r: R] A[(i + r * s) % N] * B[i]\n"),
      std::chrono::milliseconds(300));
  EXPECT_EQ(slow.status, RunStatus::timed_out) << slow.detail;
  EXPECT_EQ(run(with_program_of(kSum, kSum)).status, RunStatus::ok);
}

}  // namespace
}  // namespace polyweft::hexagon_test
