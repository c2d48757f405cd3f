// A target that this CPU does not run: whatever would execute its code says so before it starts, and whatever only
// writes code goes on.
#include <gtest/gtest.h>

#include "polyweft/tuner.h"
#include "support/cpu_features.h"

namespace polyweft {
namespace {

class ForeignTarget : public testing::Test {
 protected:
  void SetUp() override {
    before_ = held_cpu_level();
    ASSERT_TRUE(hold_host("x86-64-v2").ok());
    program_ = parse_program(
                   "program product(M = 20, N = 20, K = 20)\nin A: f32[M, K]\nconst in B: f32[K, N]\nout C[i: M, j: N] "
                   "= sum[k: K] A[i, k] * B[k, j]\n")
                   .value();
    tuner_ = std::make_unique<Tuner>(find_target("x86-64-v3").value(), TunerOptions{});
  }
  void TearDown() override { ASSERT_TRUE(hold_cpu(before_).ok()); }

  template <class T>
  static void expect_refused(const Result<T>& result) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, "PW0517");
    EXPECT_EQ(result.error().message,
              "a kernel for x86-64-v3 needs avx avx2 bmi bmi2 f16c fma lzcnt movbe, which this CPU, held to x86-64-v2, "
              "has not");
    EXPECT_EQ(result.error().notes, std::vector<std::string>{"use build, or --target host"});
    EXPECT_EQ(kind_of(result.error().code), ErrorKind::bad_input);
  }

  std::string before_;
  Program program_;
  std::unique_ptr<Tuner> tuner_;
};

TEST_F(ForeignTarget, nothing_runs) {
  TuneOptions options;
  options.trials = 2;
  expect_refused(tuner_->tune(program_, options));
  expect_refused(tuner_->compile(program_, options));
  expect_refused(tuner_->bench(program_, options, std::chrono::milliseconds(10)));
  auto inputs = tuner_->make_inputs(program_, options, InputSet::random, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  expect_refused(tuner_->verify(program_, options, *inputs));
}

TEST_F(ForeignTarget, a_record_of_it_is_not_loaded) {
  Tuner here(find_target("x86-64-v2").value(), TunerOptions{});
  TuneOptions options;
  options.trials = 1;
  auto tuned = here.tune(program_, options);
  ASSERT_TRUE(tuned.ok()) << tuned.error().message;
  EXPECT_TRUE(here.compile(tuned->record).ok());
  expect_refused(tuner_->compile(tuned->record));
}

TEST_F(ForeignTarget, code_is_written) {
  for (const Emit emit : {Emit::object, Emit::assembly, Emit::llvm, Emit::shared, Emit::static_library, Emit::header,
                          Emit::c, Emit::artifact}) {
    auto built = tuner_->build(program_, {}, emit, "");
    EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.error().message);
  }
  EXPECT_TRUE(tuner_->assembly(program_, {}).ok());
}

}  // namespace
}  // namespace polyweft
