// Guarded reads inside sums: which become reads of a padded copy, and that the bits stay.
#include "ir/normalize/padded_reads.h"

#include <gtest/gtest.h>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "support/rng.h"

namespace polyweft::test {
namespace {

Program padded_source(const std::string& text) {
  auto parsed = lang::parse(text, "test.weft");
  if (!parsed) throw std::runtime_error(text + parsed.error().message);
  const Program& program = parsed->programs.front();
  return polyweft::bind(program, make_binding(program, {}).value());
}

bool has_copy(const Program& program) {
  return print(normalize(program, NumericsClass::strict)).find(".p1[p0: ") != std::string::npos;
}

void expect_same_bits(const Program& program, const std::string& what) {
  const auto inputs = ir::seeded_inputs(program, 3, ir::DataKind::random);
  auto written = ir::evaluate(program, inputs),
       normal = ir::evaluate(normalize(program, NumericsClass::strict), inputs);
  ASSERT_TRUE(written.ok()) << what << written.error().message;
  ASSERT_TRUE(normal.ok()) << what << normal.error().message << print(normalize(program, NumericsClass::strict));
  for (size_t k = 0; k < written->tensors.size(); ++k)
    EXPECT_EQ(written->tensors[k].bytes, normal->tensors[k].bytes) << what;
}

std::string convolution(const std::string& read) {
  return "program p(K = 24, H = 7, W = 6)\nin X: f32[H, W]\nin F: f32[K, 3, 3]\nout Y[k: K, y: H, x: W] = sum[r: 3, s: "
         "3] F[k, r, s] * (" +
         read + ")\n";
}

TEST(PaddedReads, become_a_copy_where_it_is_read_often) {
  const std::pair<const char*, bool> reads[] = {
      {"X[y + r - 1, x + s - 1] where 0 <= y + r - 1 < H and 0 <= x + s - 1 < W else 0", true},
      {"X[y + r - 1, x] where 0 <= y + r - 1 < H else 2", true},
      {"X[y + 1 - r, x] where 0 <= y + 1 - r < H else 0", true},
      {"X[y, x] where r + s > 1 else 0", false},                                 // no bound of a subscript
      {"X[y + r - 1, y] where 0 <= y + r - 1 < H and y < W else 0", false},      // one index in two subscripts
      {"X[clamp(y + r - 1, 0, H - 1), x] where y + r >= 1 else 0", false},       // no sum of indices
      {"X[y, x] where y + r < H else 0", false},                                 // no window
      {"X[y + r - 1, x] where 0 <= y + r - 1 < H and y + s < H else 0", false},  // another bound
  };
  for (const auto& [read, is_copied] : reads) {
    const Program program = padded_source(convolution(read));
    EXPECT_EQ(has_copy(program), is_copied) << read << print(normalize(program, NumericsClass::strict));
    expect_same_bits(program, read);
  }
  // Few readers: the copy would cost as much as the conditions.
  EXPECT_FALSE(
      has_copy(padded_source("program p(H = 9)\nin X: f32[H]\nout Y[y: H] = sum[r: 3] (X[y + r - 1] where 0 <= "
                             "y + r - 1 < H else 0)\n")));
}

// Random strides, offsets and bounds, some sloppier than the input and made right by what is read.
TEST(PaddedReads, of_random_windows_keep_their_bits) {
  Rng rng(7);
  int copies = 0;
  const auto number = [&](int lo, int hi) { return lo + static_cast<int>(rng.below(static_cast<uint64_t>(hi - lo))); };
  for (int k = 0; k < 200; ++k) {
    const int h = number(3, 9), taps = number(2, 5), stride = number(1, 4), step = number(1, 3), by = number(-3, 4);
    const std::string at = std::to_string(stride) + " * y + " + std::to_string(step) + " * r + " + std::to_string(by);
    const std::string low = std::to_string(number(0, 3)), high = std::to_string(number(1, h + 1));
    const std::string text = "program p(K = 40, H = " + std::to_string(h) + ", R = " + std::to_string(taps) +
                             ")\nin X: f32[H]\nin F: f32[K, R]\nout Y[k: K, y: " + std::to_string(number(1, 8)) +
                             "] = max[r: R] (F[k, r] * (X[" + at + "] where " + low + " <= " + at + " < " + high +
                             " else 1))\n";
    const Program program = padded_source(text);
    copies += has_copy(program);
    expect_same_bits(program, text);
    if (HasFailure()) return;
  }
  EXPECT_GT(copies, 50);
}

}  // namespace
}  // namespace polyweft::test
