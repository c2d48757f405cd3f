// The systems of examples/recurrences: evaluator, compiled base nests of all classes and the model's first choices
// against plain loops.
#include <filesystem>

#include "polybench/kernel_test.h"
#include "recurrences/oracles.h"
#include "samples.h"

namespace polyweft::recurrences {
namespace {

using namespace polybench;
using polybench::Kernel;

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> out;
  for (const auto& more : {network_kernels(), sequence_kernels(), grid_kernels(), image_kernels()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// Planned anew, since the class is another: a sample is enough.
std::vector<Case> strict_cases() {
  test::Sample sample(2);
  std::vector<Case> out = default_cases(all_kernels());
  std::erase_if(out, [&](const Case&) { return !sample.takes(); });
  return out;
}

using Recurrence = EvaluatedKernelTest;

TEST_P(Recurrence, evaluator_agrees_with_plain_loops) {
  expect_plain(evaluation_.tensors, 0, "evaluator");
}

TEST_P(Recurrence, base_nest_agrees_with_plain_loops) {
  run_and_compare(base_order(), "base nest");
}

class RecurrenceChoice : public Recurrence {};

TEST_P(RecurrenceChoice, contract_base_nest_agrees_with_plain_loops) {
  run_and_compare(base_order(NumericsClass::contract), "contract base nest");
}

TEST_P(RecurrenceChoice, strict_base_nest_has_the_bits_of_the_evaluator) {
  const std::string name = GetParam().kernel.name;
  expect_bits_of_the_evaluator(name == "gru" || name == "stacked_lstm" ? 1e-5
                                                                       : 0);  // sigmoid and tanh have some ULP to spare
}

TEST_P(RecurrenceChoice, first_choices_agree_with_plain_loops) {
  TaskOptions options;
  run_and_compare(options, "first choice");
  options.threads = 2;
  run_and_compare(options, "first choice for two threads");
}

using RecurrenceStrictChoice = RecurrenceChoice;

TEST_P(RecurrenceStrictChoice, agrees_with_plain_loops) {
  TaskOptions options;
  options.cls = NumericsClass::strict;
  run_and_compare(options, "strict first choice");
}

INSTANTIATE_TEST_SUITE_P(Sizes, Recurrence, testing::ValuesIn(all_cases(all_kernels())), polybench::name_of_case);
INSTANTIATE_TEST_SUITE_P(Files, RecurrenceChoice, testing::ValuesIn(default_cases(all_kernels())),
                         polybench::name_of_case);
INSTANTIATE_TEST_SUITE_P(Files, RecurrenceStrictChoice, testing::ValuesIn(strict_cases()), polybench::name_of_case);

TEST(RecurrenceFiles, every_file_is_tested_and_passes_all_checks) {
  Tuner tuner = patient_tuner();
  std::set<std::string> tested, there;
  for (const auto& kernel : all_kernels()) {
    tested.insert(kernel.name);
    const auto program = program_of(kernel);
    ASSERT_TRUE(program) << kernel.name << ": " << program.error().message;
    EXPECT_EQ(named_sizes(*program, "LARGE").size(), program->parameters.size()) << kernel.name;
    const auto report = tuner.check(*program);
    EXPECT_TRUE(report.errors.empty()) << kernel.name << ": " << report.errors.front().text;
    EXPECT_TRUE(report.warnings.empty()) << kernel.name << ": " << report.warnings.front().text;
  }
  for (const auto& entry : std::filesystem::directory_iterator(std::string(PW_SOURCE_DIR) + "/examples/recurrences"))
    there.insert(entry.path().stem());
  EXPECT_EQ(tested, there);
}

TEST(RecurrenceLarge, base_nests_are_built) {
  Tuner tuner = patient_tuner();
  TaskOptions options = base_order();
  for (const auto& kernel : all_kernels()) {
    const auto program = program_of(kernel);
    ASSERT_TRUE(program) << kernel.name;
    options.parameters = named_sizes(*program, "LARGE");
    const auto built = tuner.build(*program, options, Emit::object, "kernel");
    EXPECT_TRUE(built) << kernel.name << ": " << built.error().code << " " << built.error().message;
  }
}

}  // namespace
}  // namespace polyweft::recurrences
