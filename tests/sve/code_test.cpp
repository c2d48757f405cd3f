// What the code for scalable vectors looks like, and who may run it.
#include "emulated/code.h"

#include <gtest/gtest.h>

#include <regex>

#include "emulated/tune.h"
#include "sve/emulator.h"

namespace polyweft::sve_test {
namespace {

TEST(FirstChoice, of_a_product_keeps_the_registers) {
  for (const char* level : {"aarch64-sve2-128", "aarch64-sve-256", "aarch64-sve2-256", "aarch64-sve2-512"})
    emulated_test::expect_product_in_registers(level);
}

TEST(Masks, are_predicates_of_elements_of_all_sizes) {
  for (const char* type : {"f32", "f64", "i32", "i8"}) {
    SCOPED_TRACE(type);
    const std::string code = emulated_test::code_of_short_rows("aarch64-sve2-256", type);
    EXPECT_TRUE(std::regex_search(code, std::regex("\tst1[bhwd]\t\\{ z[0-9]+\\.[bhsd] \\}, p[0-9]+, "))) << code;
    EXPECT_FALSE(std::regex_search(code, std::regex("\tst1\t\\{ v[^\n]*\\}\\["))) << "lane by lane\n" << code;
  }
}

class EmulatedTune : public testing::Test {
 protected:
  Result<TuneReport> tuned(const std::string& target, int runner_bits) const {
    std::vector<std::string> runner = emulator(runner_bits);
    runner.push_back(PW_CROSS_RUNNER);
    return folder_.tuner(find_target(target).value(), runner)
        .tune(emulated_test::tuned_product(), emulated_test::trials(2));
  }

  emulated_test::TuneFolder folder_;
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
