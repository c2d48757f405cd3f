// tune and the libraries for RISC-V by a runner in an emulator, for both lengths of vector registers.
#include "emulated/tune.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "riscv/emulator.h"

namespace polyweft::riscv_test {
namespace {

using emulated_test::trials;
using emulated_test::tuned_product;

std::vector<std::string> emulated_runner(int vector_bits) {
  std::vector<std::string> words = emulator(vector_bits);
  words.push_back(PW_CROSS_RUNNER);
  return words;
}

class EmulatedTune : public testing::Test {
 protected:
  Tuner tuner(const std::string& target, std::vector<std::string> runner = {}) const {
    return folder_.tuner(find_target(target).value(), std::move(runner));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  emulated_test::TuneFolder folder_;
};

TEST_F(EmulatedTune, records_are_expected_and_proven) {
  for (const int bits : {128, 256}) {
    Tuner emulated = tuner("riscv64-v" + std::to_string(bits), emulated_runner(bits));
    const auto found = emulated.tune(tuned_product(), trials(3));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->failed, 0) << "candidates agree with the base nest in the emulator";
    EXPECT_GT(found->measured, 0);
    EXPECT_TRUE(is_emulated(found->record.key));
    EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
    EXPECT_GT(found->record.measurement.timing.median_ns, 0);
  }
}

TEST_F(EmulatedTune, kernels_run_where_registers_are_longer) {
  const auto found = tuner("riscv64-v128", emulated_runner(256)).tune(tuned_product(), trials(2));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->failed, 0);
}

TEST_F(EmulatedTune, a_runner_with_shorter_registers_refuses_the_kernels) {
  const auto refused = tuner("riscv64-v256", emulated_runner(128)).tune(tuned_product(), trials(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0517");
  EXPECT_NE(refused.error().message.find("needs zvl256b, which this CPU has not"), std::string::npos)
      << refused.error().message;
  std::vector<std::string> without = emulated_runner(128);
  without[2] = "rv64,v=false";
  const auto other = tuner("riscv64-v128", without).tune(tuned_product(), trials(1));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, "PW0517");
  EXPECT_NE(other.error().message.find("needs v zvl128b, which this CPU has not"), std::string::npos)
      << other.error().message;
}

// The runtime is inside the library.
TEST_F(EmulatedTune, a_program_in_C_runs_with_the_library) {
  Tuner builder = tuner("riscv64-v256");
  TaskOptions options;
  options.abi = Abi::c;
  options.threads = 2;
  folder_.write("product.h", builder.build(tuned_product(), options, Emit::header, "").value().bytes);
  folder_.write("libproduct.a", builder.build(tuned_product(), options, Emit::static_library, "").value().bytes);
  std::ofstream(file("main.c"))
      << "#include \"product.h\"\nstatic float A[24 * 32], B[32 * 40], C[24 * 40];\n"
         "int main(void) {\n  int i, j, k, wrong = 0;\n"
         "  for (k = 0; k < 24 * 32; ++k) A[k] = (float)(k % 7 - 3);\n"
         "  for (k = 0; k < 32 * 40; ++k) B[k] = (float)(k % 5 - 2);\n  if (product(A, B, C) != 0) return 2;\n"
         "  for (i = 0; i < 24; ++i)\n    for (j = 0; j < 40; ++j) {\n      float sum = 0;\n"
         "      for (k = 0; k < 32; ++k) sum += A[i * 32 + k] * B[k * 40 + j];\n"
         "      wrong += sum != C[i * 40 + j];\n    }\n  return wrong != 0;\n}\n";
  ASSERT_EQ(std::system((std::string(PW_CROSS_CC) + " -O1 -I" + file("") + " " + file("main.c") + " " +
                         file("libproduct.a") + " -lpthread -ldl -o " + file("program"))
                            .c_str()),
            0);
  std::string run;
  for (const std::string& word : emulator(256)) run += word + " ";
  EXPECT_EQ(std::system((run + file("program")).c_str()), 0);
}

}  // namespace
}  // namespace polyweft::riscv_test
