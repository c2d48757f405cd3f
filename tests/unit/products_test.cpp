// Products and convolutions by units of two machines: the bits of the interpreter, at whole tiles and edges, with one
// to three slots; proven; copies that are not waited for; what does not fit.
#include <array>
#include <cstdio>
#include <map>

#include "backend/bits.h"
#include "emulated/emulated.h"
#include "ir/nests/asynchronous.h"
#include "poly/check/checker.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "unit/machines.h"

namespace polyweft::unit_test {
namespace {

using emulated_test::emulated_difference;

using backend_test::program_of_text;

Program product_of_bytes(int64_t m, int64_t n, int64_t k) {
  const auto text = [](int64_t number) { return std::to_string(number); };
  return program_of_text(
      "program mm(M = " + text(m) + ", N = " + text(n) + ", K = " + text(k) +
      ")\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n");
}

std::string text_with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class UnitProducts : public UnitMachine {};

TEST_P(UnitProducts, blocks_give_the_bits_of_the_interpreter) {
  int runs = 0;
  for (const int slots : {1, 2, 3})
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{32, 32, 96}, {33, 20, 70}, {7, 5, 40}}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", slots " +
                   std::to_string(slots));
      const Program program = product_of_bytes(m, n, k);
      const LoopNest nest = unit_nest(program, unit_trace(target_, 16, 16, 32, slots));
      EXPECT_NE(print(nest).find("tensor \"unit_"), std::string::npos) << print(nest);
      EXPECT_EQ(ir::has_async_copies(nest), slots > 1);
      const auto check = poly::check_nest(program, nest);
      EXPECT_EQ(check.verdict, Verdict::proven) << check.message << print(nest);
      EXPECT_EQ(emulated_difference(nest, target_, 5), "") << print(nest);
      ++runs;
    }
  EXPECT_EQ(runs, 9);
}

/// What the rule proposes.
const char* kOfUnit[] = {
    "program mm(M = 40, N = 24, K = 64)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
    "i32(B[k, j])\n",
    "program conv(N = 1, H = 3, W = 18, C = 40, F = 24)\nin X: i8[N, H+2, W+2, C]\nin K: i8[3, 3, C, F]\nout Y[n: N, "
    "y: "
    "H, x: W, f: F] = sum[r: 3, s: 3, c: C] i32(X[n, y+r, x+s, c]) * i32(K[r, s, c, f])\n",
    "program layer(M = 20, N = 24, K = 64)\nin A: i8[M, K]\nin B: i8[K, N]\nin b: i32[N]\nlet C[i: M, j: N] = sum[k: "
    "K] "
    "i32(A[i, k]) * i32(B[k, j])\nout Y[i: M, j: N] = sat_i8((max(C[i, j] + b[j], 0) * 5 + 64) >> 7)\n",
};

TEST_P(UnitProducts, sketches_give_the_bits_of_the_interpreter) {
  int products = 0;
  for (const char* text : kOfUnit) {
    const Program program = program_of_text(text);
    for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, target_.machine)) {
      if (trace.text().find("by unit_") == std::string::npos) continue;
      SCOPED_TRACE(trace.text());
      const LoopNest nest = unit_nest(program, trace.text());
      EXPECT_EQ(poly::check_nest(program, nest).verdict, Verdict::proven) << print(nest);
      EXPECT_EQ(emulated_difference(nest, target_, 7), "") << print(nest);
      ++products;
    }
  }
  std::printf("%d sketches with products\n", products);
  EXPECT_EQ(products, 10);
}

TEST_P(UnitProducts, a_copy_that_is_not_waited_for_shows) {
  const Program program = product_of_bytes(16, 16, 128);
  const std::string text = print(unit_nest(program, unit_trace(target_, 16, 16, 32, 2)));
  int shown = 0;
  for (const auto& [from, to] : {std::pair("sync async_wait 1", "seq {\n}"),
                                 {"sync async_wait 1", "sync async_wait 2"},
                                 {"A.p[k.1, ", "A.p[k.1 + 1, "}}) {
    const auto mutant = parse_loop_nest(text_with(text, from, to));
    ASSERT_TRUE(mutant) << mutant.error().message;
    const LoopNest right = *parse_loop_nest(text);
    EXPECT_EQ(poly::check_nest(program, *mutant).verdict, Verdict::refuted) << from;
    if (std::string(from).starts_with("sync")) {
      EXPECT_NE(emulated_difference(*mutant, target_, 3), "") << from;
      ++shown;
    }
  }
  EXPECT_EQ(shown, 2);
  EXPECT_EQ(emulated_difference(*parse_loop_nest(text), target_, 3), "");
}

TEST_P(UnitProducts, what_the_unit_does_not_hold_is_refused) {
  const Program program = product_of_bytes(4096, 4096, 4096);
  EXPECT_EQ(refusal(unit_nest(program, unit_trace(target_, 64, 64, 1024, 4)), target_).substr(0, 6), "PW0527");
  EXPECT_EQ(refusal(unit_nest(program, unit_trace(target_, 256, 256, 32, 1)), target_).substr(0, 6), "PW0527");
  const Program small = product_of_bytes(32, 32, 64);
  const LoopNest nest = unit_nest(small, unit_trace(target_, 32, 32, 32, 2));
  EXPECT_EQ(refusal(nest, find_target("riscv64-v128").value()),
            "PW0523 buffer C.a lies in the " +
                std::string(target_.machine.unit.accumulator_bytes.value > 0 ? "accumulator" : "scratchpad") +
                " of a unit, and target riscv64-v128 has none");
}

INSTANTIATE_TEST_SUITE_P(Machines, UnitProducts, testing::Values(kGemmini, kMadeUp),
                         [](const auto& info) { return info.index == 0 ? "gemmini" : "made_up"; });

TEST(UnitRefusals, what_commands_do_not_do_is_said) {
  const Target target = machine_of(kGemmini);
  const Program program = product_of_bytes(32, 32, 256);
  const std::string trace = unit_trace(target, 32, 32, 128, 1);
  const std::string a = " layout [d1 / 16, d0, d1 % 16]\n  promote B";
  const auto said = [&](const Program& of, const std::string& text) { return refusal(unit_nest(of, text), target); };
  EXPECT_EQ(said(program, trace), "");
  EXPECT_EQ(said(program, text_with(trace, a, "\n  promote B")),
            "PW0528 rows of 128 bytes in a copy of A.p: the unit's copies take 64");
  EXPECT_EQ(said(program, text_with(unit_trace(target, 32, 32, 32, 1), a, "\n  promote B")),
            "PW0528 rows of A.p lie 32 bytes apart: the unit has them 16 apart");
  const std::string b = "  promote B in C at k.1 scratchpad layout [d1 / 16, d0, d1 % 16]\n";
  EXPECT_EQ(said(program, text_with(trace, b, "")),
            "PW0528 operand B of unit_16x16x16_s8 does not lie in the unit's memory");
  EXPECT_EQ(said(product_of_bytes(64, 32, 256), trace + "  parallel C i.1\n"),
            "PW0528 a loop of tasks around the unit's work: there is one unit");
  EXPECT_EQ(said(product_of_bytes(32, 32, 16), "trace 1\n  tile C [i: 16]\n  promote A in C at i.1 scratchpad\n"),
            "PW0528 equation 0 is computed by the CPU, and C.c or what it reads lies in the unit's memory");
  const Program greatest =
      program_of_text("program g(M = 8, N = 8)\nin A: i32[M, N]\nout m[i: M] = max[k: N] A[i, k]\n");
  EXPECT_EQ(said(greatest, "trace 1\n  accumulate m at root accumulator\n"),
            "PW0528 the unit adds up integers, and begins with zeros");
}

TEST(UnitCycles, double_buffering_keeps_the_unit_busy) {
  if (const std::string why = why_no_unit(); !why.empty()) GTEST_SKIP() << why;
  const Target target = machine_of(kGemmini);
  const Program program = product_of_bytes(512, 512, 512);
  const double products = 512.0 * 512 * 512 / (16 * 16);
  std::map<std::string, double> share;  // by slots, in sizes that the rule has derived
  for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, target.machine)) {
    if (trace.text().find("by unit_") == std::string::npos) continue;
    const size_t at = trace.text().find("pipeline C k.1 by ");
    if (at == std::string::npos && trace.text().find("pipeline") != std::string::npos) continue;  // along rows
    const std::string slots = at == std::string::npos ? "1" : trace.text().substr(at + 18, 1);
    share[slots] = products / model_cycles(unit_nest(program, trace.text()), target);
    std::printf("512^3, slots %s: the unit's share of the cycles %.3f\n", slots.c_str(), share[slots]);
  }
  ASSERT_EQ(share.size(), 3);
  EXPECT_LE(share["1"], 0.6);
  EXPECT_GE(share["2"], 0.8);
}

}  // namespace
}  // namespace polyweft::unit_test
