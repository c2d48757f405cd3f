// Programs whose seeded data make the reference infinite or NaN: candidates are judged where it is not, users are told,
// promises and given data are kept, and what comparisons of floats decide may come out either way.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

class SeededData : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-data-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    TunerOptions options;
    options.database = folder_ / "a.db";
    options.may_miss_database = true;
    options.helper_directory = PW_BINARY_DIR "/src/tools";
    options.notice = [this](const std::string& text) { notices_.push_back(text); };
    tuner_.emplace(find_target("host").value(), options);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static TuneOptions trials(int count) {
    TuneOptions options;
    options.trials = count;
    options.budget = TuneOptions::kNoLimit;
    return options;
  }
  static Program program(const std::string& text) {
    auto parsed = parse_program(text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return std::move(*parsed);
  }
  /// Backward induction: values grow until products overflow.
  static Program tree(const std::string& promise) {
    return program(
        "program tree(M = 32, N = 110)\nin k: f32[M]\nin p: f32[M]" + promise + "\nin d: f32[M]" + promise +
        "\nlet v[m: M, N, j: N+1]: f32 = k[m]\n"
        "let v[m: M, t: N, j: 0..t+1] = max(k[m], d[m] * (p[m] * v[m, t+1, j+1] + (1 - p[m]) * v[m, t+1, j]))"
        "\nout y[m: M] = v[m, 0, 0]\n");
  }
  bool is_said(const std::string& words) const {
    for (const std::string& notice : notices_)
      if (notice.find(words) != std::string::npos) return true;
    return false;
  }

  std::filesystem::path folder_;
  std::optional<Tuner> tuner_;
  std::vector<std::string> notices_;
};

TEST_F(SeededData, candidates_of_a_program_that_overflows_are_right_and_the_data_are_spoken_of) {
  const auto report = tuner_->tune(tree(""), trials(5));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->failed, 0);
  EXPECT_NE(report->record.measurement.strategy, "base") << "what was served before is several times faster";
  EXPECT_TRUE(is_said("by the equation of v in line 6")) << (notices_.empty() ? "" : notices_.front());
  EXPECT_TRUE(is_said("of the elements are finite and judged"));
}

TEST_F(SeededData, a_promise_of_values_that_make_sense_leaves_nothing_to_say) {
  const auto report = tuner_->tune(tree(" values 0.25..0.75"), trials(3));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->failed, 0);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

TEST_F(SeededData, promised_floats_are_checked_when_the_kernel_is_called) {
  for (const char* type : {"f64", "f32", "f16", "bf16"}) {
    const Program p =
        program(std::string("program p(N = 37)\nin X: ") + type + "[N] values -0.5..2.0\nout Y[i: N] = X[i] + X[i]\n");
    auto kernel = tuner_->compile(p, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    auto inputs = tuner_->make_inputs(p, {}, InputSet::random, 1);
    ASSERT_TRUE(inputs.ok());
    const auto code_with = [&](int64_t at, double value) {
      std::vector<TensorData> changed = *inputs;
      changed[0].set(at, {changed[0].type, value, 0});
      const auto done = kernel->run(changed);
      return done ? std::string() : done.error().code;
    };
    EXPECT_EQ(code_with(0, -0.5), "") << type;
    for (const int64_t at : {0, 15, 36}) {
      for (const double inside : {-0.5, 2.0, 0.0, -0.0, 1.0}) EXPECT_EQ(code_with(at, inside), "") << type << inside;
      for (const double outside : {-0.51, 2.02, 1e4, -1e4, double{INFINITY}, -double{INFINITY}, std::nan("")})
        EXPECT_EQ(code_with(at, outside), "PW0161") << type << " " << outside << " at " << at;
    }
  }
}

TEST_F(SeededData, given_data_is_what_candidates_are_compared_on) {
  const Program p = program("program p(N = 64)\nin A: f32[N]\nin B: f32[N]\nout Y[i: N] = A[i] / B[i]\n");
  TuneOptions options = trials(2);
  TensorData zeros = make_tensor(ElementType::f32, {64});
  options.inputs["B"] = zeros;
  ASSERT_TRUE(tuner_->tune(p, options).ok());
  EXPECT_TRUE(is_said("; 0 % of the elements are finite and judged"));
  options.inputs = {{"Z", zeros}};
  EXPECT_EQ(tuner_->tune(p, options).error().code, "PW0005");
  options.inputs = {{"A", make_tensor(ElementType::f32, {63})}};
  EXPECT_EQ(tuner_->tune(p, options).error().code, "PW0006");
}

TEST_F(SeededData, ones_and_zeros_that_hang_on_a_rounding_are_no_exact_integers) {
  const Program p = program(
      "program mask(N = 300)\nin a: f32[N]\nin b: f32[N]\n"
      "out o[i: N] = select(a[i]*b[i] - 1 > 0, 1.0, f32(0))\nout one[i: N] = a[i] * (1 / a[i])\n");
  TuneOptions options = trials(4);
  TensorData a = make_tensor(ElementType::f32, {300}), b = a;
  for (int64_t i = 0; i < 300; ++i) {
    const auto x = static_cast<float>(i + 3);
    b.set(i, {ElementType::f32, x, 0});
    a.set(i, {ElementType::f32, 1 / x, 0});
  }
  options.inputs = {{"a", a}, {"b", b}};
  const auto report = tuner_->tune(p, options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->failed, 0);
  EXPECT_NE(report->record.measurement.strategy, "base");
}

TEST_F(SeededData, what_a_rounding_decides_is_not_laid_on_the_data) {
  const std::string inputs = "program p(N = 16, K = 9)\nin x: f32[N, K]\nin W: f32[5]\n";
  const auto report = tuner_->tune(program(inputs + "let s[i: N] = sum[k: K] x[i, k]\n"
                                                    "out y[i: N] = W[clamp(i32(floor(s[i] * 0.0)), 0, 3)]\n"),
                                   trials(1));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(
      is_said("a rounding may change such elements by any amount; other data (--input NAME=FILE.npy) or class strict"));
  EXPECT_FALSE(is_said("better data"));
}

TEST_F(SeededData, gathers_by_indices_that_no_rounding_can_change_are_judged) {
  const Program p = program(
      "program p(N = 16, K = 9)\nin x: f32[N, K]\nin G: f32[5, K]\nin W: f32[5]\n"
      "let c[i: N] = argmax[e: 5] sum[k: K] x[i, k] * G[e, k]\nout y[i: N] = W[clamp(c[i], 0, 4)]\n");
  auto inputs = tuner_->make_inputs(p, {}, InputSet::random, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  const auto compared = tuner_->verify(p, {}, *inputs);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  EXPECT_TRUE(compared->equal && compared->is_tested) << compared->detail;
  EXPECT_EQ(compared->detail.find("16 elements of "), 0u) << compared->detail;
  const auto report = tuner_->tune(p, trials(1));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

TEST_F(SeededData, escape_counts_differ_by_no_more_than_a_comparison_decides) {
  const Program p = program(
      "program mandel(H = 48, W = 64, T = 24)\nin cx: f32[W] values -2.0..0.6\nin cy: f32[H] values -1.2..1.2\n"
      "let zr[0, y: H, x: W] = 0.0\nlet zi[0, y: H, x: W] = 0.0\n"
      "let zr[t: 1..T+1, y: H, x: W]: f32 = zr[t-1, y, x] * zr[t-1, y, x] - zi[t-1, y, x] * zi[t-1, y, x] + cx[x]\n"
      "let zi[t: 1..T+1, y: H, x: W]: f32 = 2 * zr[t-1, y, x] * zi[t-1, y, x] + cy[y]\n"
      "out n[y: H, x: W]: i32 = sum[t: T] select(zr[t, y, x] * zr[t, y, x] + zi[t, y, x] * zi[t, y, x] <= 4, 1, 0)\n");
  for (const uint64_t seed : {1u, 2u, 3u, 4u}) {
    const auto inputs = tuner_->make_inputs(p, {}, InputSet::random, seed);
    ASSERT_TRUE(inputs.ok());
    const auto verified = tuner_->verify(p, {}, *inputs);
    ASSERT_TRUE(verified.ok()) << verified.error().message;
    EXPECT_TRUE(verified->equal) << verified->detail;
    EXPECT_TRUE(verified->is_tested);
  }
  const auto report = tuner_->tune(p, trials(3));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->failed, 0);
}

}  // namespace
}  // namespace polyweft
