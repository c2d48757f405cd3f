// Products of four warps whose factors lie in shared memory (wgmma): where descriptors say that an element lies, which
// lane has which sum. From the PTX ISA manual, section "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions", and from what a GPU did (tests/gpu/recorded); it knows no instruction files.
#pragma once

#include <cstdint>

#include "targets/gpu/emulator/runtime/products.h"

namespace polyweft::emulator {

/// D (64 x n) += A (64 x k) B (k x n). 16-bit factors, tf32 or bytes; f32 or s32 sums.
struct GroupShape {
  uint16_t n;
  uint8_t k;
  Kind d, a, b;
  uint8_t turned_a, turned_b;  ///< contiguous along m or n, else along k
};
constexpr int kGroupLanes = 128, kGroupRows = 64, kMostGroupColumns = 256;
constexpr int sums_of_lane(const GroupShape& shape) {
  return shape.n / 2;
}

/// The byte of shared memory at an address of 18 bits.
struct SharedBytes {
  unsigned char (*at)(const void* of, uint32_t address);
  const void* of;
};
/// Elements of the factors, for multiply(): too many for a thread's stack.
struct GroupFactors {
  uint32_t rows[kGroupRows][kMostProductDepth], columns[kMostGroupColumns][kMostProductDepth];
};
/// sums[r][lane]: register r of each lane; the product is added.
void multiply(const GroupShape& shape, uint64_t a, uint64_t b, const SharedBytes& shared, GroupFactors& factors,
              uint32_t* const* sums);

}  // namespace polyweft::emulator
