// Products of tensor units (mma.sync), for all lanes of a warp at once: which element lies where, and how sums are
// rounded. From the PTX ISA manual, section "Warp Level Matrix Multiply-Accumulate Instructions", and from what a GPU
// did (tests/gpu/recorded, by which this file is judged); it knows no instruction files.
#pragma once

#include <cstdint>

namespace polyweft::emulator {

enum class Kind : uint8_t { s4, u4, s8, u8, s32, e4m3, e5m2, f16, bf16, tf32, f32 };
/// D (m x n) = A (m x k) B (k x n) + C. m is 8 or 16, n is 8.
struct ProductShape {
  uint8_t m, n, k;
  Kind d, a, b, c;
  uint8_t saturates;  ///< sums of integers end at those of 32 bits
};

constexpr int kLanes = 32, kMostRegisters = 4;
/// By lane, then by register of 32 bits.
using Fragment = uint32_t[kLanes][kMostRegisters];

constexpr int bits_of(Kind kind) {
  switch (kind) {
    case Kind::s4:
    case Kind::u4:
      return 4;
    case Kind::s8:
    case Kind::u8:
    case Kind::e4m3:
    case Kind::e5m2:
      return 8;
    case Kind::f16:
    case Kind::bf16:
      return 16;
    default:
      return 32;
  }
}
/// Registers of a lane that hold its share of a matrix of `elements`.
constexpr int registers_of(int elements, Kind kind) {
  return elements * bits_of(kind) / 32 / kLanes;
}
void multiply(const ProductShape& shape, const Fragment& a, const Fragment& b, const Fragment& c, Fragment& d);

constexpr int kMostProductDepth = 64;
struct SumKinds {
  Kind d, a, b;
};
/// `start` plus the products of so many elements of a row and a column, in one instruction of the unit (no 8-bit
/// floats).
uint32_t product_sum(const SumKinds& kinds, const uint32_t* row, const uint32_t* column, int depth, uint32_t start);

/// ldmatrix, stmatrix: the 16-bit element of an 8 x 8 matrix that half `half` of a lane's register holds.
struct MatrixPlace {
  int row, column;
};
constexpr MatrixPlace matrix_place(int lane, int half, bool transposed) {
  const int across = lane / 4, along = 2 * (lane % 4) + half;
  return transposed ? MatrixPlace{along, across} : MatrixPlace{across, along};
}
/// The lane that gives the address of a row of matrix `matrix`.
constexpr int lane_of_row(int matrix, int row) {
  return 8 * matrix + row;
}

}  // namespace polyweft::emulator
