// Products of AMD's matrix units, for all lanes of a wave at once: which element lies where. From AMD's ISA manuals
// (CDNA 2, CDNA 3: "Matrix arithmetic instructions"; RDNA 3, RDNA 4: "Wave matrix multiply accumulate"); it knows no
// instruction files. How these units round sums was not recorded: products are exact here, sums of f64, rounded once.
#pragma once

#include <cstdint>

namespace polyweft::emulator {

/// Of waves: MFMA has 64 lanes, WMMA 32. gfx11 has the operands in both halves of the wave.
enum class WaveLayout : uint8_t { mfma, wmma_gfx11, wmma_gfx12 };
enum class WaveKind : uint8_t { f16, bf16, s8, u8 };
/// D (m x n) = A (m x k) B (k x n) + C; C and D are f32, or i32 where A and B are bytes.
struct WaveProduct {
  uint8_t m, n, k;
  WaveLayout layout;
  WaveKind a, b;
  uint8_t saturates;  ///< sums of integers end at those of 32 bits
  uint8_t unused;
};

constexpr int kWaveLanes = 64, kFactorWords = 8, kSumWords = 16;
constexpr int lanes_of(WaveLayout layout) {
  return layout == WaveLayout::mfma ? 64 : 32;
}
constexpr int bytes_of(WaveKind kind) {
  return kind == WaveKind::f16 || kind == WaveKind::bf16 ? 2 : 1;
}
/// Words of a lane.
constexpr int factor_words(const WaveProduct& of, WaveKind kind) {
  const int cells = of.m * of.k * (of.layout == WaveLayout::wmma_gfx11 ? 2 : 1);
  return cells * bytes_of(kind) / 4 / lanes_of(of.layout);
}
constexpr int sum_words(const WaveProduct& of) {
  return of.m * of.n / lanes_of(of.layout);
}

/// By lane; of what a lane gives words of A, of B and of C follow each other.
struct WaveOperands {
  const uint32_t* in;
  uint32_t* out;
};
/// Null: a lane that is not there, which gives zeros. Copies of an operand that differ make results of all bits.
void multiply(const WaveProduct& of, void* const* lanes);

}  // namespace polyweft::emulator
