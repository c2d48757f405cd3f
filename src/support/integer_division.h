// Division that rounds down, where C++ rounds toward zero. For divisors other than 0; `x // 0` of the language is
// ir/scalar.cpp's.
#pragma once

namespace polyweft {

/// The greatest integer q with q * b <= a (b > 0), or q * b >= a (b < 0).
template <class Int>
constexpr Int floor_quotient(Int a, Int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
/// The least integer q with q * b >= a (b > 0), or q * b <= a (b < 0).
template <class Int>
constexpr Int ceil_quotient(Int a, Int b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}
/// a - b * floor_quotient(a, b): in [0, b) for b > 0.
template <class Int>
constexpr Int floor_remainder(Int a, Int b) {
  return a - b * floor_quotient(a, b);
}

}  // namespace polyweft
