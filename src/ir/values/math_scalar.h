// The scalar C++ builder of math.h: plain arithmetic, one value a "vector".
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace polyweft::ir::math {

struct ScalarBuilder {
  using F32 = float;
  using F64 = double;
  using I32 = int32_t;
  using I64 = int64_t;
  using Mask = bool;

  F32 f32(double c) { return static_cast<float>(c); }
  F64 f64(double c) { return c; }
  I32 i32(int64_t c) { return static_cast<int32_t>(c); }
  I64 i64(int64_t c) { return c; }

  template <class T>
  T add(T a, T b) {
    return a + b;
  }
  template <class T>
  T sub(T a, T b) {
    return a - b;
  }
  template <class T>
  T mul(T a, T b) {
    return a * b;
  }
  template <class T>
  T div(T a, T b) {
    return a / b;
  }
  template <class T>
  T fma(T a, T b, T c) {
    return std::fma(a, b, c);
  }
  template <class T>
  T sqrt(T a) {
    return std::sqrt(a);
  }
  template <class T>
  bool scales(T) {
    return false;
  }
  template <class T>
  T scale(T x, T) {
    return x;
  }
  template <class T>
  T floor(T a) {
    return std::floor(a);
  }

  template <class T>
  Mask lt(T a, T b) {
    return a < b;
  }
  template <class T>
  Mask eq(T a, T b) {
    return a == b;
  }
  Mask land(Mask a, Mask b) { return a && b; }
  Mask lor(Mask a, Mask b) { return a || b; }
  Mask lnot(Mask a) { return !a; }
  template <class T>
  T select(Mask m, T a, T b) {
    return m ? a : b;
  }

  I32 bits(F32 a) { return std::bit_cast<I32>(a); }
  I64 bits(F64 a) { return std::bit_cast<I64>(a); }
  F32 from_bits_f32(I32 a) { return std::bit_cast<F32>(a); }
  F64 from_bits_f64(I64 a) { return std::bit_cast<F64>(a); }
  I32 iadd(I32 a, I32 b) { return static_cast<I32>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
  I64 iadd(I64 a, I64 b) { return static_cast<I64>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
  I32 isub(I32 a, I32 b) { return static_cast<I32>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
  I64 isub(I64 a, I64 b) { return static_cast<I64>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
  template <class T>
  T iand(T a, T b) {
    return a & b;
  }
  template <class T>
  T ior(T a, T b) {
    return a | b;
  }
  template <class T>
  T ixor(T a, T b) {
    return a ^ b;
  }
  I32 shl(I32 a, int count) { return static_cast<I32>(static_cast<uint32_t>(a) << count); }
  I64 shl(I64 a, int count) { return static_cast<I64>(static_cast<uint64_t>(a) << count); }
  I32 lshr(I32 a, int count) { return static_cast<I32>(static_cast<uint32_t>(a) >> count); }
  I64 lshr(I64 a, int count) { return static_cast<I64>(static_cast<uint64_t>(a) >> count); }
  template <class T>
  T ashr(T a, int count) {
    return a >> count;
  }

  F64 widen(F32 a) { return a; }
  F32 narrow(F64 a) { return static_cast<float>(a); }
  F64 lookup(const double* table, int, I64 index) { return table[index]; }
};

}  // namespace polyweft::ir::math
