// What the code of first choices looks like: a product keeps its sums in vector registers and spills none, rows that
// end inside a vector are stored under a mask, not element by element.
#include "emulated/code.h"

#include <gtest/gtest.h>

#include <regex>

namespace polyweft::riscv_test {
namespace {

TEST(FirstChoice, of_a_product_keeps_the_registers) {
  for (const char* level : {"riscv64-v128", "riscv64-v256"}) emulated_test::expect_product_in_registers(level);
}

TEST(Masks, are_predicates_of_elements_of_all_sizes) {
  for (const char* type : {"f32", "f64", "i32", "i8"}) {
    SCOPED_TRACE(type);
    const std::string code = emulated_test::code_of_short_rows("riscv64-v256", type);
    const std::regex masked_store("\tvse(8|16|32|64)\\.v\t[^\n]*, v0\\.t");
    const std::regex first_lanes("\tvsetivli\tzero, (1|5), ");
    EXPECT_TRUE(std::regex_search(code, masked_store) || std::regex_search(code, first_lanes)) << code;
    EXPECT_FALSE(std::regex_search(code, std::regex("\t(sb|fsw|fsd)\t"))) << code;
  }
}

}  // namespace
}  // namespace polyweft::riscv_test
