#include "ir/values/exact.h"

#include <algorithm>
#include <array>

#include "ir/values/scalar.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

using WideBits = unsigned __int128;

constexpr Int128 kMostInt128 = static_cast<Int128>(~WideBits{0} >> 1), kLeastInt128 = -kMostInt128 - 1;

Int128 wrapped(WideBits bits) {
  return static_cast<Int128>(bits);
}

Int128 quotient(Int128 a, Int128 b) {
  if (b == 0) return 0;
  return b == -1 ? wrapped(0 - static_cast<WideBits>(a)) : floor_quotient(a, b);
}

Int128 remainder(Int128 a, Int128 b) {
  return b == 0 || b == -1 ? 0 : floor_remainder(a, b);
}

/// The hull of values, of which some may not have fitted.
class ExactHull {
 public:
  void add(Int128 value) {
    range_ = {started_ ? std::min(range_.lo, value) : value, started_ ? std::max(range_.hi, value) : value},
    started_ = true;
  }
  void fail() { failed_ = true; }
  std::optional<ExactRange> result() const { return failed_ || !started_ ? std::nullopt : std::optional(range_); }

 private:
  ExactRange range_;
  bool started_ = false, failed_ = false;
};

template <class F>
std::optional<ExactRange> of_corners(const ExactRange& a, const ExactRange& b, const F& f) {
  ExactHull hull;
  for (Int128 x : {a.lo, a.hi})
    for (Int128 y : {b.lo, b.hi}) {
      Int128 out = 0;
      f(x, y, &out) ? hull.fail() : hull.add(out);
    }
  return hull.result();
}

std::optional<ExactRange> negated_range(const ExactRange& a) {
  if (a.lo == kLeastInt128) return std::nullopt;
  return ExactRange{-a.hi, -a.lo};
}

/// Divisors of one sign are met at their ends; 0 gives 0.
std::optional<ExactRange> quotients(const ExactRange& a, const ExactRange& b) {
  ExactHull hull;
  if (b.lo <= 0 && b.hi >= 0) hull.add(0);
  for (const ExactRange& part :
       {ExactRange{b.lo, std::min<Int128>(b.hi, -1)}, ExactRange{std::max<Int128>(b.lo, 1), b.hi}}) {
    if (part.lo > part.hi) continue;
    for (Int128 x : {a.lo, a.hi})
      for (Int128 y : {part.lo, part.hi}) x == kLeastInt128&& y == -1 ? hull.fail() : hull.add(quotient(x, y));
  }
  return hull.result();
}

ExactRange remainders(const ExactRange& a, const ExactRange& b) {
  if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return a;
  return {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0};
}

/// All integers of as many bits as the operands need, sign included.
ExactRange bitwise_range(const ExactRange& a, const ExactRange& b, Op op) {
  if (op == Op::bit_and && a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
  if (op == Op::bit_and && (a.lo >= 0 || b.lo >= 0)) return {0, a.lo >= 0 ? a.hi : b.hi};
  WideBits all = 0;
  for (Int128 x : {a.lo, a.hi, b.lo, b.hi}) all |= static_cast<WideBits>(x < 0 ? ~x : x);
  WideBits ones = 0;
  while (ones < all) ones = 2 * ones + 1;
  const auto most = static_cast<Int128>(ones);
  return {a.lo >= 0 && b.lo >= 0 ? 0 : -most - 1, most};
}

ExactRange counts(const ExactRange& b) {
  return b.lo >= 0 && b.hi < 64 ? b : ExactRange{0, 63};
}

bool shifted_left(Int128 x, Int128 count, Int128* out) {
  return __builtin_mul_overflow(x, Int128{1} << static_cast<int>(count), out);
}

std::optional<ExactRange> magnitudes(const ExactRange& a) {
  auto opposite = negated_range(a);
  if (!opposite || a.lo >= 0) return opposite ? std::optional(a) : std::nullopt;
  return ExactRange{a.hi <= 0 ? opposite->lo : 0, std::max(a.hi, opposite->hi)};
}

ExactRange minima(const ExactRange& a, const ExactRange& b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}
ExactRange maxima(const ExactRange& a, const ExactRange& b) {
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

}  // namespace

ExactRange range_of_type(ElementType type) {
  return {least_of(type), greatest_of(type)};
}

bool fits_64_bits(const ExactRange& range) {
  return range.lo >= INT64_MIN && range.hi <= INT64_MAX;
}

bool is_exact_operator(const ExprNode& e) {
  static constexpr std::array kOperators = {
      Op::neg,    Op::bit_not, Op::abs, Op::add, Op::sub, Op::mul, Op::floor_div, Op::floor_mod, Op::bit_and,
      Op::bit_or, Op::bit_xor, Op::shl, Op::shr, Op::min, Op::max, Op::select,    Op::clamp,     Op::guarded};
  return e.type == ElementType::i64 && std::find(kOperators.begin(), kOperators.end(), e.op) != kOperators.end();
}

bool is_exact_condition(const ExprNode& e) {
  if (e.op == Op::logical_not || e.op == Op::logical_and || e.op == Op::logical_or) return true;
  return e.op >= Op::eq && e.op <= Op::ge && e.args[0]->type == ElementType::i64;
}

Int128 exact_apply(Op op, std::span<const Int128> args) {
  const Int128 a = args[0], b = args.size() > 1 ? args[1] : 0;
  const auto count = static_cast<unsigned>(b & 63);
  switch (op) {
    case Op::neg:
      return wrapped(0 - static_cast<WideBits>(a));
    case Op::bit_not:
      return ~a;
    case Op::abs:
      return a < 0 ? wrapped(0 - static_cast<WideBits>(a)) : a;
    case Op::add:
      return wrapped(static_cast<WideBits>(a) + static_cast<WideBits>(b));
    case Op::sub:
      return wrapped(static_cast<WideBits>(a) - static_cast<WideBits>(b));
    case Op::mul:
      return wrapped(static_cast<WideBits>(a) * static_cast<WideBits>(b));
    case Op::floor_div:
      return quotient(a, b);
    case Op::floor_mod:
      return remainder(a, b);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::shl:
      return wrapped(static_cast<WideBits>(a) << count);
    case Op::shr:
      return a >> count;
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::clamp:
      return std::min(std::max(a, b), args[2]);
    default:
      PW_CHECK(!"an operator on exact integers");
  }
  return 0;
}

std::optional<ExactRange> exact_range_of(Op op, std::span<const ExactRange> args) {
  const ExactRange a = args[0], b = args.size() > 1 ? args[1] : ExactRange{};
  switch (op) {
    case Op::neg:
      return negated_range(a);
    case Op::bit_not:
      return ExactRange{~a.hi, ~a.lo};
    case Op::abs:
      return magnitudes(a);
    case Op::add:
      return of_corners(a, b, [](Int128 x, Int128 y, Int128* out) { return __builtin_add_overflow(x, y, out); });
    case Op::sub:
      return of_corners(a, b, [](Int128 x, Int128 y, Int128* out) { return __builtin_sub_overflow(x, y, out); });
    case Op::mul:
      return of_corners(a, b, [](Int128 x, Int128 y, Int128* out) { return __builtin_mul_overflow(x, y, out); });
    case Op::floor_div:
      return quotients(a, b);
    case Op::floor_mod:
      return remainders(a, b);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return bitwise_range(a, b, op);
    case Op::shl:
      return of_corners(a, counts(b), shifted_left);
    case Op::shr:
      return of_corners(a, counts(b), [](Int128 x, Int128 count, Int128* out) {
        *out = x >> static_cast<int>(count);
        return false;
      });
    case Op::min:
      return minima(a, b);
    case Op::max:
      return maxima(a, b);
    case Op::clamp:
      return minima(maxima(a, b), args[2]);
    case Op::select:
    case Op::guarded:
      return ExactRange{std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    default:
      return std::nullopt;
  }
}

}  // namespace polyweft::ir
