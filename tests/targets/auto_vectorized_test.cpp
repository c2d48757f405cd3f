// Nests that are left to LLVM's vectorizers: they become vectors where the class allows it, and keep the order of sums
// where it does not.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/count_of.h"
#include "targets/cpu/build.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

std::string sum_of_rows(const char* cls, const char* extra) {
  return std::string("nest 1 rows class ") + cls + "\n" + extra +
         "loops i, j, k\nbuffer A: f32[40, 333] argument align 4\nbuffer S: f32[40] argument align 4 output\narguments "
         "A, S\nbody {\n"
         "  for i in 0 .. 40 {\n    compute 0(i) init sum: S[i]\n    for j in 0 .. 333 {\n      compute 0(i, j) "
         "accumulate sum: S[i] <- A[i, j]\n    }\n  }\n}\n";
}

size_t packed_additions(const std::string& text) {
  auto nest = parse_loop_nest(text);
  if (!nest) throw std::runtime_error(nest.error().message);
  auto target = find_target("x86-64-v3");
  auto assembly = targets::assembly_text(*nest, *target);
  if (!assembly) throw std::runtime_error(assembly.error().message);
  return count_of("vaddps", *assembly);
}

TEST(AutoVectorized, sums_become_vectors_where_their_order_is_free) {
  EXPECT_GE(packed_additions(sum_of_rows("reassoc", "autovectorize\n")), 4u);
  EXPECT_EQ(packed_additions(sum_of_rows("reassoc", "")), 0u);
}

TEST(AutoVectorized, sums_keep_their_order_in_other_classes) {
  EXPECT_EQ(packed_additions(sum_of_rows("strict", "autovectorize\n")), 0u);
  EXPECT_EQ(packed_additions(sum_of_rows("contract", "autovectorize\n")), 0u);
}

// LLVM would make calls of memcpy and memset of them, and where nothing may be called, loops over single bytes.
TEST(AutoVectorized, copies_and_fills_are_loops_of_vectors) {
  for (const auto& [type, zero] : {std::pair<std::string, std::string>{"f64", "0:f64"},
                                   {"f32", "0:f32"},
                                   {"i32", "0:i32"},
                                   {"i16", "7:i16"},
                                   {"u8", "0:u8"},
                                   {"i8", "-1:i8"}})
    for (const auto caller : {targets::Caller::anyone, targets::Caller::plain_c}) {
      auto nest = parse_loop_nest("nest 1 moves class reassoc\nautovectorize\nloops i, j, k, l, m\nbuffer A: " + type +
                                  "[200, 200] argument align 8\nbuffer Z: " + type +
                                  "[4000] argument align 8 output\nbuffer C: " + type +
                                  "[200, 200] argument align 8 output\nbuffer T: " + type +
                                  "[200, 200] heap align 64\narguments A, Z, C\nbody {\n  alloc T {\n    for i in 0 .. "
                                  "4000 {\n      compute 0(i) store: Z[i] <- " +
                                  zero + "\n    }\n" +
                                  "    for j in 0 .. 200 {\n      for k in 0 .. 200 {\n        compute 1(j, k) store: "
                                  "T[j, k] <- A[j, k]\n      }\n    }\n" +
                                  "    for l in 0 .. 200 {\n      for m in 0 .. 200 {\n        compute 2(l, m) store: "
                                  "C[l, m] <- T[l, m]\n      }\n    }\n  }\n}\n");
      ASSERT_TRUE(nest) << nest.error().message;
      auto assembly = targets::assembly_text(*nest, *find_target("x86-64-v3"), "moves", caller);
      ASSERT_TRUE(assembly);
      EXPECT_EQ(count_of("mem", *assembly), 0u) << type;
      EXPECT_GE(count_of("ymm", *assembly), 4u) << type;
      if (type == "u8" || type == "i8") continue;
      EXPECT_FALSE(std::regex_search(*assembly, std::regex("movb\t%[a-z0-9]+, .*\\("))) << type;  // a store of one byte
    }
}

// LLVM wrote one of two equal rows as trunc(-c), the other as -trunc(c), and took them for two that overlap.
TEST(AutoVectorized, subscripts_that_the_innermost_loop_does_not_move_stay_in_64_bits) {
  const auto text_with = [](const std::string& ring) {
    auto nest = parse_loop_nest(
        "nest 1 rings class reassoc\nautovectorize\nloops c, i\nbuffer X: f32[66, 66] argument align 4\nbuffer R: "
        "f32[3, 66] heap align 64\n"
        "buffer Y: f32[66, 66] argument align 4 output\narguments X, Y\nbody {\n  alloc R {\n    for c in -65 .. 1 {\n "
        "     for i in 0 .. 66 {\n"
        "        compute 0(-c, i) store: R[" +
        ring + ", i] <- X[-c, i]\n        compute 1(-c, i) store: Y[-c, i] <- R[" + ring +
        ", i]\n      }\n    }\n  }\n}\n");
    if (!nest) throw std::runtime_error(nest.error().message);
    auto text = targets::llvm_text(*nest, *find_target("x86-64-v4"));
    if (!text) throw std::runtime_error(text.error().message);
    return *text;
  };
  const auto cut = [&](const std::string& ring) { return count_of("trunc i64", text_with(ring)); };
  EXPECT_LT(cut("-c - 3*floor(-c / 3)"), cut("i - 3*floor(i / 3)"));
}

TEST(AutoVectorized, without_gathers_what_lies_apart_is_loaded_one_by_one) {
  const auto gathers = [](const std::string& how) {
    auto nest = parse_loop_nest(
        "nest 1 column class reassoc\n" + how +
        "loops i\nbuffer A: f64[400, 333] argument align 8\nbuffer S: f64[400] argument align 8 output\narguments A, "
        "S\nbody {\n"
        "  for i in 0 .. 400 {\n    compute 0(i) store: S[i] <- sqrt(((A[i, 3] * A[i, 3]) + sqrt(A[i, 7])))\n  }\n}\n");
    if (!nest) throw std::runtime_error(nest.error().message);
    EXPECT_EQ(print(*parse_loop_nest(print(*nest))), print(*nest));
    auto assembly = targets::assembly_text(*nest, *find_target("x86-64-v4"));
    if (!assembly) throw std::runtime_error(assembly.error().message);
    return count_of("gather", *assembly);
  };
  EXPECT_GT(gathers("autovectorize\n"), 0u);
  EXPECT_EQ(gathers("autovectorize without gathers\n"), 0u);
}

TEST(AutoVectorized, text_comes_back_and_tells_nests_apart) {
  auto plain = parse_loop_nest(sum_of_rows("reassoc", "")),
       left = parse_loop_nest(sum_of_rows("reassoc", "autovectorize\n"));
  ASSERT_TRUE(plain && left);
  EXPECT_TRUE(left->auto_vectorized);
  EXPECT_EQ(print(*parse_loop_nest(print(*left))), print(*left));
  EXPECT_NE(hash(*plain), hash(*left));
}

TEST(AutoVectorized, nests_keep_nothing_in_registers_of_their_own) {
  auto nest = parse_loop_nest(
      "nest 1 t class strict\nautovectorize\nloops i\nbuffer X: f32[16] argument align 4\nbuffer Y: f32[16] argument "
      "align 4 output\n"
      "buffer r: f32[16] reg align 64\narguments X, Y\nbody {\n  alloc r {\n    for i in 0 .. 16 unroll {\n      "
      "compute 0(i) store: r[i] <- X[i]\n    }\n  }\n}\n");
  ASSERT_TRUE(nest) << nest.error().message;
  const auto status = verify(*nest);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "buffer r: registers in a nest that is left to the compiler's vectorizers");
}

// Lanes that read along a row which data picks: whole vectors, no gather.
TEST(Gathers, rows_that_data_picks_are_read_in_whole_vectors) {
  auto nest = parse_loop_nest(
      "nest 1 rows class strict\nloops b, d, v\nbuffer idx: i32[40] argument align 4 values 0 .. 50\nbuffer E: f32[50, "
      "64] argument align 4\n"
      "buffer Y: f32[40, 64] argument align 4 output\narguments idx, E, Y\nbody {\n  for b in 0 .. 40 {\n    for d in "
      "0 .. 64 step 8 {\n      for v in 0 .. 8 vector 8 {\n"
      "        compute 0(b, d + v) store: Y[b, d + v] <- E[{convert:i64(idx[b]) in 0 .. 49}, d + v]\n      }\n    }\n  "
      "}\n}\n");
  ASSERT_TRUE(nest) << nest.error().message;
  auto assembly = targets::assembly_text(*nest, *find_target("x86-64-v3"));
  ASSERT_TRUE(assembly);
  EXPECT_EQ(count_of("gather", *assembly), 0u);
  EXPECT_GE(count_of("vmovups", *assembly), 2u);
}

}  // namespace
}  // namespace polyweft::targets_test
