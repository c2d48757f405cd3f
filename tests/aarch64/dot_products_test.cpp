// Dot products and products of small matrices of NEON by the step tensorize: proven by the checker, the instruction is
// in the code, and it gives the interpreter's bits in the emulator; bf16 where sums are exact.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "emulated/emulated.h"
#include "polyweft/tuner.h"

namespace polyweft::aarch64_test {
namespace {

using emulated_test::emulated_difference;
using emulated_test::Values;

std::string filled_in(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

struct Product {
  const char *instruction, *left, *right, *sum;  ///< types
  int64_t group;                                 ///< values of k at once
};

std::string sized(std::string text, const Product& p, int64_t m, int64_t n, int64_t k) {
  text = filled_in(filled_in(filled_in(text, "LEFT", p.left), "RIGHT", p.right), "SUM", p.sum);
  return filled_in(filled_in(filled_in(text, "MM", std::to_string(m)), "NN", std::to_string(n)), "KK",
                   std::to_string(k));
}

struct Seen {
  std::string difference;
  bool has_instruction = false;
};

/// The trace for the program, on `target`: replayed, proven, run.
Seen seen(const std::string& program, const std::string& trace, const Product& product, const char* target) {
  Tuner tuner(find_target(target).value(), TunerOptions{});
  TaskOptions options;
  options.trace = trace;
  const auto parsed = parse_program(program);
  if (!parsed) return {parsed.error().message};
  const auto loops = tuner.show(*parsed, options, ShowStage::loops);
  if (!loops) return {loops.error().code + " " + loops.error().message + "\n" + trace};
  const auto code = tuner.show(*parsed, options, ShowStage::assembly);
  if (!code) return {code.error().code + " " + code.error().message};
  const bool is_exact = std::string(product.sum) == "i32";
  Seen out{
      emulated_difference(*parse_loop_nest(*loops), tuner.target(), 3, is_exact ? Values::any : Values::small_whole)};
  out.has_instruction = code->find(std::string("\t") + product.instruction + "\t") != std::string::npos;
  return out;
}

constexpr const char* kRowsTimesColumns =
    "program g(M = MM, N = NN, K = KK)\nin A: LEFT[M, K]\nin B: RIGHT[K, N]\nout C[i: M, j: N] = sum[k: K] SUM(A[i, "
    "k]) * SUM(B[k, j])\n";

TEST(DotProducts, give_the_bits_of_the_interpreter) {
  const char* trace =
      "trace 1\n  tile C [k: 8, j: 8, i: 3, k: GROUP]\n  permute C [k.1, j.1, i.1, k.2, k, i, j]\n"
      "  promote B in C at j.1 heap layout [d1 / 8, d0 / GROUP, d1 % 8, d0 % GROUP]\n"
      "  accumulate C at i.1 reg\n  unroll C i\n  vectorize C j 4\n  tensorize C k by NAME\n";
  for (const Product& p : {Product{"sdot", "i8", "i8", "i32", 4},
                           {"udot", "u8", "u8", "i32", 4},
                           {"usdot", "u8", "i8", "i32", 4},
                           {"usdot", "i8", "u8", "i32", 4},
                           {"bfdot", "bf16", "bf16", "f32", 2}})
    for (int64_t n : {15, 32})
      for (int64_t k : {1, 8, 23}) {
        SCOPED_TRACE(std::string(p.instruction) + " of " + p.left + " and " + p.right + ", N " + std::to_string(n) +
                     ", K " + std::to_string(k));
        const Seen what = seen(sized(kRowsTimesColumns, p, 7, n, k),
                               filled_in(filled_in(trace, "GROUP", std::to_string(p.group)), "NAME", p.instruction), p,
                               "aarch64-v8.6");
        EXPECT_EQ(what.difference, "");
        EXPECT_EQ(what.has_instruction, k >= p.group);
      }
}

// Both operands by rows, as they lie; and the right one packed.
TEST(SmallMatrices, give_the_bits_of_the_interpreter) {
  const char* rows_times_rows =
      "program g(M = MM, N = NN, K = KK)\nin A: LEFT[M, K]\nin B: RIGHT[N, K]\nout C[i: M, j: N] = sum[k: K] SUM(A[i, "
      "k]) * SUM(B[j, k])\n";
  const std::string block =
      "  permute C [i.1, j.1, k.1, i.2, j.2, i, j, k]\nPACKED  accumulate C at j.1 stack\n  tensorize C i, j, k by "
      "NAME\n  unroll C i.2, j.2\n";
  const std::string trace = "trace 1\n  tile C [i: 4, j: 6, i: 2, j: 2, k: GROUP]\n" + block;
  for (const Product& p : {Product{"smmla", "i8", "i8", "i32", 8},
                           {"ummla", "u8", "u8", "i32", 8},
                           {"usmmla", "u8", "i8", "i32", 8},
                           {"bfmmla", "bf16", "bf16", "f32", 4}})
    for (const bool is_packed : {false, true})
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{8, 12, 16}, {7, 13, 21}}) {
        SCOPED_TRACE(std::string(p.instruction) + (is_packed ? ", packed, M " : ", M ") + std::to_string(m));
        const std::string group = std::to_string(p.group);
        const std::string steps = filled_in(
            filled_in(
                filled_in(
                    trace, "PACKED",
                    is_packed ? "  promote B in C at root heap layout [d1 / 2, d0 / GROUP, d1 % 2, d0 % GROUP]\n" : ""),
                "GROUP", group),
            "NAME", p.instruction);
        const Seen what =
            seen(sized(is_packed ? kRowsTimesColumns : rows_times_rows, p, m, n, k), steps, p, "aarch64-v8.6");
        EXPECT_EQ(what.difference, "");
        EXPECT_TRUE(what.has_instruction);
      }
}

TEST(DotProducts, need_their_features) {
  const Product p{"sdot", "i8", "i8", "i32", 4};
  const Seen what = seen(sized(kRowsTimesColumns, p, 4, 16, 8),
                         "trace 1\n  tile C [j: 8, k: 4]\n  permute C [j.1, k.1, i, k, j]\n  promote B in C at root "
                         "heap layout [d1 / 8, d0 / 4, d1 % 8, d0 % 4]\n"
                         "  vectorize C j 4\n  tensorize C k by sdot\n",
                         p, "aarch64");
  EXPECT_EQ(what.difference, "PW0518 instruction sdot needs dotprod, which target aarch64 has not");
}

// Round-to-odd and flushed numbers are outside of strict sums.
TEST(DotProducts, of_bf16_are_for_class_reassoc_alone) {
  Tuner tuner(find_target("aarch64-v8.6").value(), TunerOptions{});
  const Product p{"bfdot", "bf16", "bf16", "f32", 2};
  TaskOptions options;
  options.cls = NumericsClass::contract;
  options.trace =
      "trace 1\n  tile C [j: 8, k: 2]\n  permute C [j.1, k.1, i, k, j]\n  promote B in C at root heap layout [d1 / 8, "
      "d0 / 2, d1 % 8, d0 % 2]\n  vectorize C j 4\n  tensorize C k by bfdot\n";
  const auto refused =
      tuner.show(parse_program(sized(kRowsTimesColumns, p, 4, 16, 8)).value(), options, ShowStage::loops);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0307");
}

}  // namespace
}  // namespace polyweft::aarch64_test
