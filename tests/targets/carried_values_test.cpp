// Blocks of a row that begin with what the block before has made beyond its end: the bits of the interpreter, and
// operations that are not there.
#include <gtest/gtest.h>

#include <sstream>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct CarriedShape {
  std::string type = "i16";
  int64_t bytes = 2, lanes = 32, vectors = 2, blocks = 3, taps = 5;
  std::string combine = "*";  ///< of a column's elements with their weights
  std::string into =
      "Z";  ///< where the columns' neighbours come from beside X: another argument, or what the loop itself stores
};

/// In blocks along a row: R <- sums of three rows of X, weighted, for the block and what its taps want beyond; Y <-
/// sums of neighbours in R.
LoopNest blocks(const CarriedShape& s) {
  const auto t = [](int64_t k) { return std::to_string(k); };
  const int64_t width = s.vectors * s.lanes, more = width + s.taps - 1, parts = (more + s.lanes - 1) / s.lanes,
                row = (s.blocks + 1) * width;
  const std::string l = t(s.lanes), at = "x + " + l + "*u + v";
  const auto number = [&](int64_t value) { return t(value) + ":" + s.type; };
  std::string text = "nest 1 c class reassoc\nloops i, x, u, v, p, q\nbuffer X: " + s.type + "[6, " + t(row) +
                     "] argument align " + t(s.bytes) + "\nbuffer Z: " + s.type + "[4, " + t(row) +
                     "] argument align " + t(s.bytes) + "\nbuffer R: " + s.type + "[" + t(more) +
                     "] reg align 64\nbuffer Y: " + s.type + "[4, " + t(row) + "] argument align " + t(s.bytes) +
                     " output\narguments X, Z, Y\nbody {\nfor i in 0 .. 4 { for x in 0 .. " + t(s.blocks * width) +
                     " step " + t(width) + " { alloc R { seq {\n";
  text += "for u in 0 .. " + t(parts) + " unroll { for v in 0 .. min(" + l + ", -" + l + "*u + " + t(more) +
          ") vector " + l + " { compute 0(i, x, u, v) store: R[" + l + "*u + v] <- (((X[i, " + at + "] " + s.combine +
          " " + number(3) + ") + (X[i + 1, " + at + "] " + s.combine + " " + number(2) + ")) - (" + s.into + "[i, " +
          at + "] " + s.combine + " X[i + 2, " + at + "])) } }\n";
  std::string sum = "R[" + l + "*p + q]";
  for (int64_t k = 1; k < s.taps; ++k) sum = "(" + sum + " - R[" + l + "*p + q + " + t(k) + "])";
  text += "for p in 0 .. " + t(s.vectors) + " unroll { for q in 0 .. " + l + " vector " + l +
          " { compute 1(i, x, p, q) store: Y[i, x + " + l + "*p + q] <- " + sum + " } }\n} } } } }\n";
  return parsed(text);
}

TEST(CarriedValues, the_same_bits) {
  struct Case {
    const char* type;
    int64_t bytes;
  };
  for (const Case& c : {Case{"i16", 2}, Case{"f32", 4}, Case{"u8", 1}, Case{"i64", 8}})
    for (int64_t lanes : {int64_t{8}, 64 / c.bytes})
      for (int64_t vectors : {1, 2, 4})
        for (int64_t count : {1, 4})
          for (int64_t taps : {2, 5}) {
            SCOPED_TRACE(std::string(c.type) + " lanes " + std::to_string(lanes) + " vectors " +
                         std::to_string(vectors) + " blocks " + std::to_string(count));
            expect_same_bits(blocks({c.type, c.bytes, lanes, vectors, count, taps}), 1);
          }
}

// Vectors beyond the block are those that the next one begins with, but where the loop has stored into what they are
// made of.
LoopNest whole(bool reads_output) {
  const std::string z = reads_output ? "Y" : "Z";
  return parsed(
      "nest 1 c class reassoc\nloops i, w, x, u, v, p, q\nbuffer X: i32[6, 96] argument align 4\nbuffer Z: i32[4, 96] "
      "argument align 4\nbuffer R: i32[48] reg align 64\n"
      "buffer Y: i32[4, 96] argument align 4 output\narguments X, Z, Y\nbody {\nfor i in 0 .. 4 { seq { for w in 0 .. "
      "96 { compute 2(i, w) store: Y[i, w] <- Z[i, w] }\n"
      "for x in 0 .. 64 step 32 { alloc R { seq {\nfor u in 0 .. 3 unroll { for v in 0 .. 16 vector 16 { compute 0(i, "
      "x, u, v) store: R[16*u + v] <- (((X[i, x + 16*u + "
      "v] "
      "* 3:i32) + X[i + 1, x + 16*u + v]) - (" +
      z +
      "[i, x + 16*u + v] ^ X[i + 2, x + 16*u + v])) } }\n"
      "for p in 0 .. 2 unroll { for q in 0 .. 16 vector 16 { compute 1(i, x, p, q) store: Y[i, x + 16*p + q + 16] <- "
      "(R[16*p + q] - R[16*p + q + 5]) } }\n} } } } } }\n");
}

/// Vector products and sums between a label and a jump, where there are most.
int64_t most_operations(const LoopNest& nest, const Target& target) {
  const auto text = targets::assembly_text(nest, target);
  EXPECT_TRUE(text) << text.error().message;
  int64_t most = 0, here = 0;
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".LBB")) here = 0;
    for (const char* name : {"vpxor", "vpaddd", "vpsubd", "vpslld", "vpmulld"})
      here += line.find(name) != std::string::npos && line.find("zmm") != std::string::npos ? 1 : 0;
    if (line.find("\tj") != std::string::npos) most = std::max(most, here), here = 0;
  }
  return most;
}

TEST(CarriedValues, the_last_columns_are_the_next_first_ones) {
  expect_same_bits(whole(false), 1);
  expect_same_bits(whole(true), 1);
  const Target v4 = *find_target("x86-64-v4");
  EXPECT_LT(most_operations(whole(false), v4), most_operations(whole(true), v4));
}

}  // namespace
}  // namespace polyweft::targets_test
