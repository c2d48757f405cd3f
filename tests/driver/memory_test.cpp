// What no machine holds is said before anything is allocated; it can be built all the same.
#include <gtest/gtest.h>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

const char* kLarge = "program large(P = 1000000)\nin X: f32[P, P, P]\nout Y[i: P] = X[i, i, i]\n";

TEST(Memory, inputs_that_no_machine_holds_are_refused_by_name) {
  Tuner tuner(*find_target("host"), {});
  const auto program = parse_program(kLarge);
  ASSERT_TRUE(program);
  const auto inputs = tuner.make_inputs(*program, {}, InputSet::random, 1);
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().code, "PW0814");
  EXPECT_NE(inputs.error().message.find("2 copies of its inputs and outputs take over 10^8 GiB"), std::string::npos)
      << inputs.error().message;
  TuneOptions options;
  options.trials = 1;
  const auto tuned = tuner.tune(*program, options);
  ASSERT_FALSE(tuned);
  EXPECT_EQ(tuned.error().code, "PW0814");
}

TEST(Memory, small_sizes_of_the_same_program_are_run) {
  Tuner tuner(*find_target("host"), {});
  const auto program = parse_program(kLarge);
  ASSERT_TRUE(program);
  TaskOptions options;
  options.parameters["P"] = 5;
  EXPECT_TRUE(tuner.make_inputs(*program, options, InputSet::random, 1));
}

}  // namespace
}  // namespace polyweft
