// The running error bound of LANGUAGE.md section 4, as a kernel, judges candidates in the lab: a kernel that is wrong
// by more is wrong, one within is right.
#include <gtest/gtest.h>

#include <string>

#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/rule_of_thumb.h"
#include "driver/task.h"

namespace polyweft {
namespace {

struct BoundCase {
  const char* name;
  const char* before;  ///< of the result's expression, then "* FACTOR", then `after`: a candidate is the same program
                       ///< with another factor
  const char* after;
};
const BoundCase kBoundCases[] = {
    {"gemm",
     "program p(M = 48, N = 32, K = 64)\nin A: f32[M, K]\nin B: f32[K, N]\nlet S[i: M, j: N] = sum[k: K] A[i, k] * "
     "B[k, j]\nout C[i: M, j: N] = S[i, j]",
     "\n"},
    {"softmax",
     "program p(M = 16, N = 64)\nin X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = exp(X[i, j] - "
     "m[i])\nlet s[i: M] = sum[j: N] e[i, j]\n"
     "out Y[i: M, j: N] = e[i, j] / s[i]",
     "\n"},
    {"conv",
     "program p(H = 12, W = 12, C = 16, F = 16)\nin X: f32[H+2, W+2, C]\nin K: f32[3, 3, C, F]\n"
     "let Y[y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] X[y+r, x+s, c] * K[r, s, c, f]\nout Z[y: H, x: W, f: F] = "
     "max(Y[y, x, f]",
     ", 0)\n"},
};

class ErrorBounds : public ::testing::TestWithParam<BoundCase> {
 protected:
  static void SetUpTestSuite() {
    IslClient::Options options;
    options.helper = PW_BINARY_DIR "/src/tools/polyweft-isl";
    isl_ = new IslClient(options);
    compiler_ = new CompileService(find_target("host").value());
  }
  static void TearDownTestSuite() {
    delete isl_;
    delete compiler_;
  }

  static Task task_with(const BoundCase& c, const std::string& factor) {
    auto program = parse_program(std::string(c.before) + " * " + factor + c.after);
    EXPECT_TRUE(program) << program.error().message;
    return make_task(*program, {}, compiler_->target()).value();
  }
  static LoadableKernel kernel_of(const Result<LoopNest>& nest) {
    EXPECT_TRUE(nest) << nest.error().message;
    auto kernel = compiler_->for_runner(*nest);
    EXPECT_TRUE(kernel) << kernel.error().message;
    return std::move(kernel).value();
  }

  /// The verdict on the program times `factor` where the program itself is asked for.
  static RunOutcome judged(const BoundCase& c, const std::string& factor) {
    const Task task = task_with(c, "1.0");
    const auto base = isl_->base_nest(task);
    RunnerTask lab;
    lab.reference = kernel_of(base);
    lab.bound = kernel_of(isl_->bound_nest(task));
    lab.arguments = argument_specs(*base, task.program);
    lab.id = lab.reference.id;
    lab.relative_bound = 1e6;  // were the rule of thumb asked, it would allow anything
    auto runner = start_local_runner({.command = {PW_BINARY_DIR "/src/tools/polyweft-runner"}});
    EXPECT_TRUE(runner) << runner.error().message;
    EXPECT_TRUE((*runner)->begin(lab));
    RunRequest request;
    request.candidate = kernel_of(isl_->base_nest(task_with(c, factor)));
    request.compare_on = {InputSet::random};
    request.time_budget = std::chrono::milliseconds(0);
    auto outcome = (*runner)->run(request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *outcome;
  }

  static IslClient* isl_;
  static CompileService* compiler_;
};
IslClient* ErrorBounds::isl_ = nullptr;
CompileService* ErrorBounds::compiler_ = nullptr;

TEST_P(ErrorBounds, one_rounding_more_is_within) {
  const RunOutcome outcome = judged(GetParam(), "1.00000012");  // 1 + 2^-23: what a last place is
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
}

TEST_P(ErrorBounds, a_part_in_a_thousand_is_wrong) {
  for (const char* factor : {"1.001", "0.999", "2.0"}) {
    const RunOutcome outcome = judged(GetParam(), factor);
    EXPECT_EQ(outcome.status, RunStatus::wrong_result) << factor << " " << outcome.detail;
    EXPECT_NE(outcome.detail.find("outside the error bound"), std::string::npos) << outcome.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(programs, ErrorBounds, ::testing::ValuesIn(kBoundCases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Where no kernel of bounds can be had: terms of sums and steps of recurrences round, each time.
TEST(RuleOfThumb, grows_with_sums_and_with_steps) {
  const auto bound = [](const std::string& text) {
    auto program = parse_program(text);
    EXPECT_TRUE(program) << program.error().message;
    RunnerTask out;
    set_rule_of_thumb(make_task(*program, {}, find_target("host").value()).value(), out);
    return out.relative_bound;
  };
  const auto waves = [&](const std::string& steps) {
    return bound("program waves(T = " + steps +
                 ", N = 9)\nin X: f64[N]\nlet u[0, i: N] = X[i]\n"
                 "let u[t: 1..T+1, i: N] = u[t-1, i] - 0.5 * (u[t-1, clamp(i+1, 0, N-1)] - u[t-1, clamp(i-1, 0, "
                 "N-1)])\nout Y[i: N] = u[T, i]\n");
  };
  const double once = bound("program once(N = 9)\nin X: f64[N]\nout Y[i: N] = X[i] * 0.5\n");
  EXPECT_GT(bound("program sums(N = 9, K = 500)\nin X: f64[N, K]\nout Y[i: N] = sum[k: K] X[i, k]\n"), 20 * once);
  EXPECT_GT(waves("500"), 20 * once);
  EXPECT_LT(waves("5"), 5 * once);
  EXPECT_LT(waves("500"), 1e-12);
}

}  // namespace
}  // namespace polyweft
