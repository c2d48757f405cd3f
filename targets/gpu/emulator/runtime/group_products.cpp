#include "targets/gpu/emulator/runtime/group_products.h"

namespace polyweft::emulator {
namespace {

constexpr uint32_t kAddresses = 1U << 18;

/// In bytes; `span` of the swizzle, 0: none.
struct Descriptor {
  uint32_t start, leading, stride, span, base;
};
Descriptor descriptor_of(uint64_t bits) {
  constexpr uint32_t kSpans[] = {0, 128, 64, 32};
  const auto field = [&](int first) { return static_cast<uint32_t>(bits >> first & 0x3fff) << 4; };
  return {field(0), field(16), field(32), kSpans[bits >> 62], static_cast<uint32_t>(bits >> 49 & 7)};
}

/// 16-byte units of a span change places by the number of the 128-byte line.
uint32_t swizzled(uint32_t address, const Descriptor& of) {
  return of.span == 0 ? address : address ^ (address / 128 - of.base) % (of.span / 16) * 16;
}

/// Byte `byte` along k of row `row` of A, of column `row` of B.
uint32_t along_depth(uint32_t row, uint32_t byte, const Descriptor& of) {
  if (of.span == 0) return of.start + row % 8 * 16 + row / 8 * of.stride + byte % 16 + byte / 16 * of.leading;
  return swizzled(of.start + row % 8 * of.span + row / 8 * of.stride + byte, of);
}
/// Byte `byte` along m or n at `k`. Without a swizzle the two offsets change places.
uint32_t along_data(uint32_t byte, uint32_t k, const Descriptor& of) {
  const uint32_t span = of.span == 0 ? 16 : of.span, next = of.span == 0 ? of.stride : of.leading,
                 deeper = of.span == 0 ? of.leading : of.stride;
  return swizzled(of.start + byte % span + k % 8 * span + byte / span * next + k / 8 * deeper, of);
}

uint32_t factor_element(uint32_t row, uint32_t k, Kind kind, bool is_turned, const Descriptor& of,
                        const SharedBytes& shared) {
  const auto bytes = static_cast<uint32_t>(bits_of(kind) / 8);
  uint32_t out = 0;
  for (uint32_t byte = 0; byte < bytes; ++byte) {
    const uint32_t at = is_turned ? along_data(row * bytes + byte, k, of) : along_depth(row, k * bytes + byte, of);
    out |= static_cast<uint32_t>(shared.at(shared.of, at % kAddresses)) << (8 * byte);
  }
  return out;
}

}  // namespace

void multiply(const GroupShape& shape, uint64_t a, uint64_t b, const SharedBytes& shared, GroupFactors& factors,
              uint32_t* const* sums) {
  const Descriptor of_a = descriptor_of(a), of_b = descriptor_of(b);
  for (uint32_t k = 0; k < shape.k; ++k) {
    for (uint32_t row = 0; row < kGroupRows; ++row)
      factors.rows[row][k] = factor_element(row, k, shape.a, shape.turned_a != 0, of_a, shared);
    for (uint32_t column = 0; column < shape.n; ++column)
      factors.columns[column][k] = factor_element(column, k, shape.b, shape.turned_b != 0, of_b, shared);
  }
  for (int r = 0; r < sums_of_lane(shape); ++r)
    for (int lane = 0; lane < kGroupLanes; ++lane) {
      const int in_warp = lane % 32, row = lane / 32 * 16 + in_warp / 4 + r / 2 % 2 * 8,
                column = r / 4 * 8 + in_warp % 4 * 2 + r % 2;
      uint32_t& sum = sums[r][lane];
      sum = product_sum({shape.d, shape.a, shape.b}, factors.rows[row], factors.columns[column], shape.k, sum);
    }
}

}  // namespace polyweft::emulator
