#include "targets/gpu/emulator/runtime/wave_products.h"

#include <cstring>

namespace polyweft::emulator {
namespace {

constexpr int kMostSide = 32, kMostWaveDepth = 32;
constexpr uint32_t kUndefined = 0xffffffff;

/// A cell of an operand: the lane that has it, and as which of its cells.
struct WavePlace {
  int lane, cell;
};

/// Of row `row` of A (column of B), element `depth` of it. `copy`: of an operand that lies in both halves of the wave.
WavePlace factor_place(const WaveProduct& of, WaveKind kind, int row, int depth, int copy) {
  switch (of.layout) {
    case WaveLayout::mfma: {
      const int in_a_row = of.k / (64 / of.m);
      return {row + of.m * (depth / in_a_row), depth % in_a_row};
    }
    case WaveLayout::wmma_gfx11:
      return {row + 16 * copy, depth};
    case WaveLayout::wmma_gfx12:
      break;
  }
  if (bytes_of(kind) == 1) return {row + (depth >= 8 ? 16 : 0), depth & 7};
  return {row + 16 * (depth >> 2 & 1), (depth & 3) + (depth >> 3 << 2)};
}

/// Of the result.
WavePlace sum_place(const WaveProduct& of, int row, int column) {
  if (of.layout == WaveLayout::wmma_gfx11) return {16 * (row & 1) + column, row >> 1};
  if (of.layout == WaveLayout::wmma_gfx12) return {column + (row < 8 ? 0 : 16), row < 8 ? row : row - 8};
  const int groups = 64 / of.n, group = row / 4 % groups;  // four rows after another in a group of n lanes
  return {of.n * group + column, row / (4 * groups) * 4 + row % 4};
}

uint32_t word_of(void* const* lanes, int lane, int word) {
  const auto* of = static_cast<const WaveOperands*>(lanes[lane]);
  return of ? of->in[word] : 0;
}

uint32_t bits_at(void* const* lanes, WavePlace at, int first_word, int bytes) {
  const int byte = at.cell * bytes;
  const uint32_t word = word_of(lanes, at.lane, first_word + byte / 4) >> (8 * (byte % 4));
  return bytes == 1 ? word & 0xff : word & 0xffff;
}

float of_f16(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, field = bits >> 10 & 31, fraction = bits & 0x3ff;
  float magnitude;
  if (field == 0) {
    magnitude = static_cast<float>(fraction) * 0x1p-24f;
  } else {
    const uint32_t single = field == 31 ? 0x7f800000 | fraction << 13 : (field + 112) << 23 | fraction << 13;
    std::memcpy(&magnitude, &single, 4);
  }
  return sign ? -magnitude : magnitude;
}
double float_of(uint32_t bits, WaveKind kind) {
  if (kind == WaveKind::f16) return static_cast<double>(of_f16(bits));
  const uint32_t single = bits << 16;
  float out;
  std::memcpy(&out, &single, 4);
  return static_cast<double>(out);
}
int64_t byte_of(uint32_t bits, WaveKind kind) {
  return kind == WaveKind::s8 ? static_cast<int64_t>(static_cast<int8_t>(bits)) : static_cast<int64_t>(bits);
}

struct Matrices {
  uint32_t a[kMostSide][kMostWaveDepth], b[kMostSide][kMostWaveDepth];  ///< of B by columns
  bool is_same;                                                         ///< are copies the same?
};
void take(const WaveProduct& of, void* const* lanes, Matrices& out) {
  out.is_same = true;
  const int behind = factor_words(of, of.a);
  for (int copy = 0; copy < (of.layout == WaveLayout::wmma_gfx11 ? 2 : 1); ++copy)
    for (int depth = 0; depth < of.k; ++depth) {
      for (int row = 0; row < of.m; ++row) {
        const uint32_t bits = bits_at(lanes, factor_place(of, of.a, row, depth, copy), 0, bytes_of(of.a));
        if (copy > 0 && bits != out.a[row][depth]) out.is_same = false;
        out.a[row][depth] = bits;
      }
      for (int column = 0; column < of.n; ++column) {
        const uint32_t bits = bits_at(lanes, factor_place(of, of.b, column, depth, copy), behind, bytes_of(of.b));
        if (copy > 0 && bits != out.b[column][depth]) out.is_same = false;
        out.b[column][depth] = bits;
      }
    }
}

uint32_t wave_sum(const WaveProduct& of, const Matrices& matrices, int row, int column, uint32_t before) {
  if (!matrices.is_same) return kUndefined;
  if (bytes_of(of.a) == 1) {
    int64_t sum = static_cast<int32_t>(before);
    for (int depth = 0; depth < of.k; ++depth)
      sum += byte_of(matrices.a[row][depth], of.a) * byte_of(matrices.b[column][depth], of.b);
    if (of.saturates) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return static_cast<uint32_t>(sum);
  }
  float first;
  std::memcpy(&first, &before, 4);
  double sum = static_cast<double>(first);
  for (int depth = 0; depth < of.k; ++depth)
    sum += float_of(matrices.a[row][depth], of.a) * float_of(matrices.b[column][depth], of.b);
  const auto rounded = static_cast<float>(sum);
  uint32_t out;
  std::memcpy(&out, &rounded, 4);
  return out;
}

}  // namespace

void multiply(const WaveProduct& of, void* const* lanes) {
  Matrices matrices;
  take(of, lanes, matrices);
  const int sums = factor_words(of, of.a) + factor_words(of, of.b);
  for (int row = 0; row < of.m; ++row)
    for (int column = 0; column < of.n; ++column) {
      const WavePlace at = sum_place(of, row, column);
      if (const auto* lane = static_cast<const WaveOperands*>(lanes[at.lane]))
        lane->out[at.cell] = wave_sum(of, matrices, row, column, lane->in[sums + at.cell]);
    }
}

}  // namespace polyweft::emulator
