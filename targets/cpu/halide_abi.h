// What generated code knows of Halide 14's runtime (HalideRuntime.h, 64-bit): offsets in halide_buffer_t, and
// halide_error_code_t.
#pragma once

#include <cstdint>

namespace polyweft::targets {

inline constexpr uint64_t kTypeCode = 32, kTypeBits = 33, kDimensions = 36, kDim = 40;
inline constexpr int kBadType = -3, kTooLarge = -5, kConstraintViolated = -8, kOutOfMemory = -11, kBufferIsNull = -12,
                     kUnaligned = -24, kBadDimensions = -43;

}  // namespace polyweft::targets
