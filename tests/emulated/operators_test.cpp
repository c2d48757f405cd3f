// Each operator of each type, conversions among them, and what base nests do not use, for each level of the suite.
#include <gtest/gtest.h>

#include <regex>

#include "backend/bits.h"
#include "backend/python_cases.h"
#include "emulated/emulated.h"
#include "poly/base_nest.h"

namespace polyweft::emulated_test {
namespace {

TEST(EmulatedOperators, of_all_types_give_the_bits_of_the_interpreter) {
  if (const std::string why = missing_emulator(); !why.empty()) GTEST_SKIP() << why;
  for (const EmulatedLevel& level : emulated_levels()) {
    const Target target = find_target(level.level).value();
    for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
      SCOPED_TRACE(std::string(level.level) + ", " + type);
      const auto nest =
          poly::base_nest(backend_test::program_of_text(backend_test::operators_of(type)), NumericsClass::strict);
      ASSERT_TRUE(nest) << nest.error().message;
      for (uint64_t seed = 1; seed <= 2; ++seed) EXPECT_EQ(emulated_difference(*nest, target, seed), "");
    }
  }
}

TEST(EmulatedOperators, in_constructs_of_nests_give_the_bits_of_the_interpreter) {
  if (const std::string why = missing_emulator(); !why.empty()) GTEST_SKIP() << why;
  for (const EmulatedLevel& level : emulated_levels()) {
    const Target target = find_target(level.level).value();
    for (const auto& c : backend_test::nest_cases())
      for (const char* type : {"f64", "f32", "i32"}) {
        if (type == std::string("i32") && c.text != std::regex_replace(c.text, std::regex("\\d\\.|NaN|inf|fused"), ""))
          continue;  // its constants or operators are of floats
        SCOPED_TRACE(std::string(level.level) + ", " + c.name + ", " + type);
        const LoopNest nest = backend_test::nest_of_text(std::regex_replace(c.text, std::regex("f64"), type));
        EXPECT_EQ(emulated_difference(nest, target, 1), "");
      }
  }
}

}  // namespace
}  // namespace polyweft::emulated_test
