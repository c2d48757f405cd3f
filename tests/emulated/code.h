// What the code of kernels for vectors of another CPU looks like.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "polyweft/tuner.h"

namespace polyweft::emulated_test {

/// The first choice of a product keeps its sums in vector registers and spills none.
inline void expect_product_in_registers(const std::string& target) {
  SCOPED_TRACE(target);
  Tuner tuner(find_target(target).value(), TunerOptions{});
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

/// Assembly of rows of 37 elements by vectors of 256 bits, which end inside one.
inline std::string code_of_short_rows(const std::string& target, const std::string& type) {
  Tuner tuner(find_target(target).value(), TunerOptions{});
  const std::string lanes = type == "i8" ? "32" : type == "f64" ? "4" : "8";
  const auto program = parse_program("program rows(M = 5, N = 37)\nin X: " + type +
                                     "[M, N]\nout Y[i: M, j: N] = max(X[i, j], X[i, 0])\n");
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  TaskOptions options;
  options.trace = "trace 1\n  tile Y [j: " + lanes + "]\n  vectorize Y j " + lanes + "\n";
  const auto code = tuner.show(*program, options, ShowStage::assembly);
  EXPECT_TRUE(code) << (code ? "" : code.error().message);
  return code ? *code : "";
}

}  // namespace polyweft::emulated_test
