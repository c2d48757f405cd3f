// tune, show and build for AArch64 by a runner in an emulator.
#include "emulated/tune.h"

#include <gtest/gtest.h>

#include <chrono>

namespace polyweft::aarch64_test {
namespace {

using emulated_test::trials;
using emulated_test::tuned_product;

std::vector<std::string> emulated_runner() {
  return {PW_QEMU_AARCH64, "-cpu", "max", "-L", "/usr/aarch64-linux-gnu", PW_CROSS_RUNNER};
}

class EmulatedTune : public testing::Test {
 protected:
  Tuner tuner(const std::string& target, std::vector<std::string> runner = {}) const {
    return folder_.tuner(find_target(target).value(), std::move(runner));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  emulated_test::TuneFolder folder_;
};

Program smoothing() {
  return parse_program(
             "program smoothing(N = 502)\nin X: f32[N]\nout Y[i: N - 2] = 0.25 * X[i] + 0.5 * X[i + 1] + 0.25 * X[i + "
             "2]\n")
      .value();
}

void tune_show_and_build(Tuner& emulated, Tuner& builder, const Program& program) {
  const auto found = emulated.tune(program, trials(3));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->failed, 0) << "candidates agree with the base nest in the emulator";
  EXPECT_GT(found->measured, 0);
  EXPECT_TRUE(is_emulated(found->record.key));
  EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  EXPECT_GT(found->record.measurement.timing.median_ns, 0);
  const auto hit = emulated.tune(program, trials(3));
  ASSERT_TRUE(hit) << hit.error().message;
  EXPECT_TRUE(hit->hit);
  const auto shown = builder.show(program, {}, ShowStage::loops);
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(*shown, found->record.nest_text);
  for (const Emit emit : {Emit::object, Emit::shared, Emit::static_library, Emit::assembly}) {
    const auto built = builder.build(program, {}, emit, "");
    ASSERT_TRUE(built) << built.error().message;
    EXPECT_EQ(built->origin, "record #" + std::to_string(found->record.id) + ", expected");
  }
}

TEST_F(EmulatedTune, records_are_found_kept_and_used) {
  Tuner emulated = tuner("aarch64", emulated_runner()), builder = tuner("aarch64");
  tune_show_and_build(emulated, builder, tuned_product());
  tune_show_and_build(emulated, builder, smoothing());
  const auto other = tuner("aarch64-v8.6").best(tuned_product(), {});
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->has_value()) << "of another target";
}

TEST_F(EmulatedTune, bench_marks_times_of_an_emulator) {
  Tuner emulated = tuner("aarch64", emulated_runner());
  BenchRival plain;
  plain.name = "plain";
  plain.trace = "trace 1\n";
  const auto report = emulated.bench(tuned_product(), {}, std::chrono::milliseconds(40), {plain});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_emulated);
  EXPECT_GT(report->kernel.median_ns, 0);
  EXPECT_GT(report->reference.median_ns, 0);
  ASSERT_EQ(report->rivals.size(), 1u);
  EXPECT_GT(report->rivals[0].timing.median_ns, 0);
  EXPECT_EQ(report->peak_gflops, 0) << "of this machine";
  ASSERT_FALSE(report->warnings.empty());
  EXPECT_EQ(report->warnings[0],
            "an emulator runs the kernels: its times say nothing of the machine of target aarch64");
  const auto refused = tuner("aarch64").bench(tuned_product(), {}, std::chrono::milliseconds(40));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0517");
}

TEST_F(EmulatedTune, without_a_runner_nothing_is_measured) {
  const auto refused = tuner("aarch64").tune(tuned_product(), trials(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0517");
  EXPECT_EQ(refused.error().message, "a kernel for aarch64 does not run on this machine");
  EXPECT_EQ(refused.error().notes, std::vector<std::string>{"use build, tune with --runner, or --target host"});
}

TEST_F(EmulatedTune, a_runner_of_another_architecture_is_refused) {
  const auto refused = tuner("host", emulated_runner()).tune(tuned_product(), trials(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0613");
  EXPECT_EQ(refused.error().message,
            "the runner is for aarch64, and kernels for " + find_target("host")->architecture + " are to run");
  const auto back = tuner("aarch64", {PW_BINARY_DIR "/src/tools/polyweft-runner"}).tune(tuned_product(), trials(1));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, "PW0613");
}

// Features that the emulated CPU has not.
TEST_F(EmulatedTune, a_runner_without_the_features_refuses_the_kernels) {
  std::vector<std::string> older = emulated_runner();
  older[2] = "cortex-a57";
  const auto refused = tuner("aarch64-v8.6", older).tune(tuned_product(), trials(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0517");
  EXPECT_NE(refused.error().message.find("needs bf16 dotprod fullfp16 i8mm, which this CPU has not"), std::string::npos)
      << refused.error().message;
}

// A C program with the library: the runtime is inside.
TEST_F(EmulatedTune, a_program_in_C_runs_with_the_libraries) {
  Tuner builder = tuner("aarch64-v8.2");
  TaskOptions options;
  options.abi = Abi::c;
  options.threads = 2;
  folder_.write("product.h", builder.build(tuned_product(), options, Emit::header, "").value().bytes);
  folder_.write("libproduct.a", builder.build(tuned_product(), options, Emit::static_library, "").value().bytes);
  folder_.write("libproduct.so", builder.build(tuned_product(), options, Emit::shared, "").value().bytes);
  folder_.write(
      "main.c",
      "#include \"product.h\"\n#include <stdio.h>\n"
      "static float A[24 * 32], B[32 * 40], C[24 * 40];\n"
      "int main(void) {\n  int i, j, k, wrong = 0;\n"
      "  for (k = 0; k < 24 * 32; ++k) A[k] = (float)(k % 7 - 3);\n  for (k = 0; k < 32 * 40; ++k) B[k] = (float)(k "
      "% 5 - 2);\n"
      "  if (product(A, B, C) != 0) return 2;\n"
      "  for (i = 0; i < 24; ++i)\n    for (j = 0; j < 40; ++j) {\n      float sum = 0;\n      for (k = 0; k < 32; "
      "++k) sum += A[i * 32 + k] * B[k * 40 + j];\n"
      "      wrong += sum != C[i * 40 + j];\n    }\n  printf(\"wrong %d\\n\", wrong);\n  return wrong != 0;\n}\n");
  const std::string compile = std::string(PW_CROSS_CC) + " -O1 -I" + file("") + " " + file("main.c"),
                    run = std::string(PW_QEMU_AARCH64) + " -cpu max -L /usr/aarch64-linux-gnu ";
  ASSERT_EQ(std::system((compile + " " + file("libproduct.a") + " -lpthread -ldl -o " + file("static")).c_str()), 0);
  EXPECT_EQ(std::system((run + file("static") + " > /dev/null").c_str()), 0);
  ASSERT_EQ(std::system((compile + " -L" + file("") + " -lproduct -lpthread -ldl -Wl,-rpath," + file("") + " -o " +
                         file("shared"))
                            .c_str()),
            0);
  EXPECT_EQ(std::system((run + file("shared") + " > /dev/null").c_str()), 0);
}

}  // namespace
}  // namespace polyweft::aarch64_test
