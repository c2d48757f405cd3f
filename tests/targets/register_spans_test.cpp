// Register buffers whose readers begin anywhere in the vectors that were written: lanes of two neighbours, no memory,
// and the bits of the interpreter.
#include <gtest/gtest.h>

#include <sstream>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

/// A row of `elements` copied into registers by vectors (the last one may be short), then read from `first`, `first +
/// step`, .. on.
LoopNest window(const std::string& type, int64_t bytes, int64_t lanes, int64_t elements, int64_t first, int64_t step,
                int64_t reads) {
  const auto t = [](int64_t k) { return std::to_string(k); };
  const int64_t vectors = (elements + lanes - 1) / lanes;
  std::string text = "nest 1 w class strict\nloops i, u, v, s, w\nbuffer X: " + type + "[3, " + t(elements) +
                     "] argument align " + t(bytes) + "\nbuffer R: " + type + "[" + t(elements) +
                     "] reg align 64\nbuffer Y: " + type + "[3, " + t(reads * lanes) + "] argument align " + t(bytes) +
                     " output\narguments X, Y\nbody {\n";
  text += "for i in 0 .. 3 { alloc R {\nfor u in 0 .. " + t(vectors) + " unroll { for v in 0 .. min(" + t(lanes) +
          ", -" + t(lanes) + "*u + " + t(elements) + ") vector " + t(lanes) + " { compute 0(i, " + t(lanes) +
          "*u + v) store: R[" + t(lanes) + "*u + v] <- (X[i, " + t(lanes) + "*u + v] + X[i, " + t(lanes) +
          "*u + v]) } }\n";
  text += "for s in 0 .. " + t(reads) + " unroll { for w in 0 .. " + t(lanes) + " vector " + t(lanes) +
          " { compute 1(i, s, w) store: Y[i, " + t(lanes) + "*s + w] <- (R[" + t(step) + "*s + w + " + t(first) +
          "] * X[i, w]) } }\n} } }\n";
  return parsed(text);
}

TEST(RegisterSpans, windows_that_begin_anywhere) {
  struct Case {
    const char* type;
    int64_t bytes;
  };
  for (const Case& c : {Case{"i16", 2}, Case{"f32", 4}, Case{"f64", 8}, Case{"u8", 1}})
    for (int64_t lanes : {int64_t{4}, 64 / c.bytes})
      for (int64_t taps : {2, 5})
        for (int64_t first : {0, 1, 3}) {
          expect_same_bits(window(c.type, c.bytes, lanes, lanes + first + taps - 1, first, 1, taps), 1);
          expect_same_bits(window(c.type, c.bytes, lanes, 3 * lanes + first + 2, first, lanes + 1, 3), 1);
        }
}

TEST(RegisterSpans, neighbours_of_bytes_and_pairs_are_words_shifted_as_one) {
  Target v4 = *find_target("x86-64-v4");
  v4.features.push_back("avx512vbmi2");
  std::sort(v4.features.begin(), v4.features.end());
  for (const bool is_byte : {false, true}) {
    const auto text =
        targets::assembly_text(is_byte ? window("u8", 1, 64, 128, 0, 1, 5) : window("i16", 2, 32, 64, 0, 1, 5), v4);
    ASSERT_TRUE(text) << text.error().message;
    int64_t turned = 0, shifted = 0;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      turned += line.find("valign") != std::string::npos || line.find("vpalignr") != std::string::npos;
      shifted += line.find("vpshrd") != std::string::npos;
    }
    EXPECT_EQ(turned, is_byte ? 1 : 2);
    EXPECT_EQ(shifted, is_byte ? 3 : 2);
  }
}

TEST(RegisterSpans, no_memory_between) {
  const Target v4 = *find_target("x86-64-v4");
  const auto text = targets::assembly_text(window("i16", 2, 32, 68, 0, 1, 5), v4);
  ASSERT_TRUE(text) << text.error().message;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_FALSE(line.find("(%rsp") != std::string::npos && line.find("zmm") != std::string::npos) << line;
}

}  // namespace
}  // namespace polyweft::targets_test
