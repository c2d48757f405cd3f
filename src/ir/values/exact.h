// Subscripts that depend on data are exact integers (LANGUAGE.md section 2, "Gather").
//
// In Subscript::data an operator of type i64 does not wrap: it stands for the integer that its operands give, whatever
// its size. So does every operator below it up to the leaves: elements, variables, literals, and conversions, whose
// arguments are ordinary typed values again. `i64(..)` around an i64 is such a conversion, which makes a part wrap.
// Values are held in 128 bits; parse_programs refuses what could need more (PW0133), so the rule of 128 bits for what
// does (a nest of somebody else's) is that it wraps there.
//
//   A[(X[i] * X[i] - 1) % N], X i64:  X * X in [-2^126 + 2^63, 2^126], minus 1 still in 128 bits; % N in [0, N - 1], 64
//   bits again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/values/compare.h"
#include "polyweft/program.h"

namespace polyweft::ir {

using Int128 = __int128;

/// Inclusive.
struct ExactRange {
  Int128 lo = 0, hi = 0;
  bool operator==(const ExactRange&) const = default;
};
ExactRange range_of_type(ElementType type);
/// Whether 64 bits hold all of it.
bool fits_64_bits(const ExactRange& range);

/// Is e, standing where exact integers are wanted, an operator on exact integers? Else it is a leaf with a value of its
/// type.
bool is_exact_operator(const ExprNode& e);
/// Is e, the condition of a select there, made of comparisons of exact integers? Else it is an ordinary bool.
bool is_exact_condition(const ExprNode& e);

/// An operator on exact integers but select and guarded; x // 0 = x % 0 = 0, a shift count is taken modulo 64. Wraps at
/// 128 bits.
Int128 exact_apply(Op op, std::span<const Int128> args);

/// Holds every value that exact_apply gives for operands in these ranges (select and guarded: either of the last two);
/// none where 128 bits may not.
std::optional<ExactRange> exact_range_of(Op op, std::span<const ExactRange> args);
/// Of a tree; `leaf` gives the ranges of leaves. None where some operator in it may need more than 128 bits.
template <class Leaf>
std::optional<ExactRange> exact_range(const ExprNode& e, const Leaf& leaf) {
  if (!is_exact_operator(e)) return leaf(e);
  ExactRange args[3];
  const size_t first = e.op == Op::select ? 1 : 0;
  for (size_t k = first; k < e.args.size(); ++k) {
    auto arg = exact_range(*e.args[k], leaf);
    if (!arg) return std::nullopt;
    args[k - first] = *arg;
  }
  return exact_range_of(e.op, std::span<const ExactRange>(args, e.args.size() - first));
}

/// The value of a tree. `Leaves` answers `int64_t leaf(const ExprNode&)`, `bool truth(const ExprNode&)` for a condition
/// that is an ordinary bool, and `bool holds(const Guard&)`.
template <class Leaves>
class ExactValue {
 public:
  explicit ExactValue(Leaves& leaves) : leaves_(leaves) {}

  Int128 of(const ExprNode& e) {
    if (!is_exact_operator(e)) return leaves_.leaf(e);
    if (e.op == Op::guarded) return of(*e.args[leaves_.holds(e.guard) ? 0 : 1]);
    if (e.op == Op::select) {
      const bool first = condition(*e.args[0]);
      const Int128 yes = of(*e.args[1]), no = of(*e.args[2]);
      return first ? yes : no;
    }
    Int128 args[3];
    for (size_t k = 0; k < e.args.size(); ++k) args[k] = of(*e.args[k]);
    return exact_apply(e.op, std::span<const Int128>(args, e.args.size()));
  }

 private:
  bool condition(const ExprNode& e) {
    if (!is_exact_condition(e)) return leaves_.truth(e);
    if (e.op == Op::logical_not) return !condition(*e.args[0]);
    if (e.op != Op::logical_and && e.op != Op::logical_or) return compares(e.op, of(*e.args[0]), of(*e.args[1]));
    const bool a = condition(*e.args[0]), b = condition(*e.args[1]);
    return e.op == Op::logical_and ? a && b : a || b;
  }

  Leaves& leaves_;
};

}  // namespace polyweft::ir
