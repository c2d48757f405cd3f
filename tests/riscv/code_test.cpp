// What the code of first choices looks like: a product keeps its sums in vector registers and spills none, rows that
// end inside a vector are stored under a mask, not element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "polyweft/tuner.h"

namespace polyweft::riscv_test {
namespace {

TEST(FirstChoice, of_a_product_keeps_the_registers) {
  for (const char* level : {"riscv64-v128", "riscv64-v256"}) {
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
    EXPECT_GT(hot->cycles, 0);
  }
}

TEST(Masks, are_predicates_of_elements_of_all_sizes) {
  for (const char* type : {"f32", "f64", "i32", "i8"}) {
    SCOPED_TRACE(type);
    Tuner tuner(find_target("riscv64-v256").value(), TunerOptions{});
    const std::string lanes = type == std::string("i8") ? "32" : type == std::string("f64") ? "4" : "8";
    const auto program = parse_program("program rows(M = 5, N = 37)\nin X: " + std::string(type) +
                                       "[M, N]\nout Y[i: M, j: N] = max(X[i, j], X[i, 0])\n");
    ASSERT_TRUE(program) << program.error().message;
    TaskOptions options;
    options.trace = "trace 1\n  tile Y [j: " + lanes + "]\n  vectorize Y j " + lanes + "\n";
    const auto code = tuner.show(*program, options, ShowStage::assembly);
    ASSERT_TRUE(code) << code.error().message;
    const std::regex masked_store("\tvse(8|16|32|64)\\.v\t[^\n]*, v0\\.t");
    const std::regex first_lanes("\tvsetivli\tzero, (1|5), ");
    EXPECT_TRUE(std::regex_search(*code, masked_store) || std::regex_search(*code, first_lanes)) << *code;
    EXPECT_FALSE(std::regex_search(*code, std::regex("\t(sb|fsw|fsd)\t"))) << *code;
  }
}

}  // namespace
}  // namespace polyweft::riscv_test
