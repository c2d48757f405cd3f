// What the code for scalable vectors looks like, and who may run it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "polyweft/tuner.h"
#include "sve/emulator.h"

namespace polyweft::sve_test {
namespace {

TEST(FirstChoice, of_a_product_keeps_the_registers) {
  for (const char* level : {"aarch64-sve2-128", "aarch64-sve-256", "aarch64-sve2-256", "aarch64-sve2-512"}) {
    SCOPED_TRACE(level);
    Tuner tuner(find_target(level).value(), TunerOptions{});
    const auto program = load_program(PW_SOURCE_DIR "/examples/01_gemm.weft");
    ASSERT_TRUE(program) << program.error().message;
    const auto assembly = tuner.assembly(*program, {});
    ASSERT_TRUE(assembly) << assembly.error().message;
    const auto hot =
        std::find_if(assembly->loops.begin(), assembly->loops.end(), [](const LoopCost& loop) { return loop.hot; });
    ASSERT_NE(hot, assembly->loops.end());
    EXPECT_GE(hot->fmas, 12);
    EXPECT_EQ(hot->spills, 0);
    EXPECT_EQ(hot->stores, 0);
  }
}

TEST(Masks, are_predicates_of_elements_of_all_sizes) {
  for (const char* type : {"f32", "f64", "i32", "i8"}) {
    SCOPED_TRACE(type);
    Tuner tuner(find_target("aarch64-sve2-256").value(), TunerOptions{});
    const std::string lanes = type == std::string("i8") ? "32" : type == std::string("f64") ? "4" : "8";
    const auto program = parse_program("program rows(M = 5, N = 37)\nin X: " + std::string(type) +
                                       "[M, N]\nout Y[i: M, j: N] = max(X[i, j], X[i, 0])\n");
    ASSERT_TRUE(program) << program.error().message;
    TaskOptions options;
    options.trace = "trace 1\n  tile Y [j: " + lanes + "]\n  vectorize Y j " + lanes + "\n";
    const auto code = tuner.show(*program, options, ShowStage::assembly);
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_TRUE(std::regex_search(*code, std::regex("\tst1[bhwd]\t\\{ z[0-9]+\\.[bhsd] \\}, p[0-9]+, "))) << *code;
    EXPECT_FALSE(std::regex_search(*code, std::regex("\tst1\t\\{ v[^\n]*\\}\\["))) << "lane by lane\n" << *code;
  }
}

class EmulatedTune : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-sve-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<TuneReport> tuned(const std::string& target, int runner_bits) const {
    TunerOptions options;
    options.database = folder_ / "s.db";
    options.runner = emulator(runner_bits);
    options.runner.push_back(PW_CROSS_RUNNER);
    TuneOptions few;
    few.trials = 2;
    few.budget = TuneOptions::kNoLimit;
    Tuner tuner(find_target(target).value(), options);
    return tuner.tune(parse_program("program product(M = 24, N = 40, K = 32)\nin A: f32[M, K]\nin B: f32[K, N]\nout "
                                    "C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n")
                          .value(),
                      few);
  }

  std::filesystem::path folder_;
};

TEST_F(EmulatedTune, runs_kernels_of_its_own_length) {
  for (const int bits : {128, 256, 512}) {
    const auto found = tuned("aarch64-sve2-" + std::to_string(bits), bits);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->failed, 0);
    EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  }
  const auto plain = tuned("aarch64-v8.6", 512);
  EXPECT_TRUE(plain) << "vectors of 128 bits run with any length";
}

TEST_F(EmulatedTune, a_runner_of_another_length_refuses_the_kernels) {
  for (const int bits : {128, 512}) {
    const auto refused = tuned("aarch64-sve2-256", bits);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "PW0517");
    EXPECT_NE(refused.error().message.find("needs vl256, which this CPU has not"), std::string::npos)
        << refused.error().message;
  }
}

}  // namespace
}  // namespace polyweft::sve_test
