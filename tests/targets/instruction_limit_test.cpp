// Nests whose unrolled code is too long are refused before all of it is made.
#include <gtest/gtest.h>

#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"

namespace polyweft::targets_test {
namespace {

// A million loads and stores, where each store asks all loads before it, would take hours.
TEST(InstructionLimit, code_that_is_far_too_long_is_refused_at_once) {
  auto nest = parse_loop_nest(
      "nest 1 t class reassoc\nloops i, j, k\nbuffer A: f32[100, 100] argument align 4\nbuffer C: f32[100, 100] "
      "argument align 4 output\narguments A, C\nbody {\n  for i in 0 .. 100 unroll {\n    for j in 0 .. 100 unroll {\n"
      "      compute 0(i, j) init sum: C[i, j]\n      for k in 0 .. 100 unroll {\n        compute 0(i, j, k) "
      "accumulate "
      "sum: C[i, j] <- A[i, k]\n      }\n    }\n  }\n}\n");
  ASSERT_TRUE(nest) << nest.error().message;
  const auto object = targets::compile_object(*nest, *find_target("x86-64-v3"));
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, "PW0502");
  EXPECT_EQ(object.error().message.substr(0, 22), "the unrolled code has ");
}

}  // namespace
}  // namespace polyweft::targets_test
