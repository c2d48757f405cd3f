// Scalar semantics of the language (LANGUAGE.md section 4), in one place: evaluator, interpreter and constant folding
// use it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

/// Bits of the nearest f16 (ties to even); overflow gives inf, NaN the quiet NaN 0x7e00 with its sign.
uint16_t f16_bits(double value);
/// Bits of the nearest bf16, one rounding from the double.
uint16_t bf16_bits(double value);
double f16_value(uint16_t bits);
double bf16_value(uint16_t bits);

/// The double rounded once to a float type (f64: itself), as a double.
double round_to(ElementType type, double value);
/// Wraps to an integer type (two's complement; bool: != 0).
int64_t wrap_to(ElementType type, int64_t value);
int64_t least_of(ElementType type);
int64_t greatest_of(ElementType type);

/// A literal of `type` from a double (rounded, floats only) or an integer (wrapped, integers and bool only).
Literal float_literal(ElementType type, double value);
Literal integer_literal(ElementType type, int64_t value);
/// The value as a double: integers rounded to nearest.
double as_double(const Literal& value);

/// How the functions exp .. rsqrt are computed: by the algorithms of math.h, giving the bits of the kernels, or by the
/// C library in extended precision, rounded once (the independent oracle).
enum class MathLibrary : uint8_t { own, reference };

/// Op `op` applied to `args`, giving `type`. Covers unary, binary and ternary operators of LANGUAGE.md section 4; not
/// leaves, guarded, reduce, tuple and component. Comparisons and logic give bool. max and min order -0 below +0, which
/// every class allows.
Literal apply(Op op, ElementType type, std::span<const Literal> args, MathLibrary library = MathLibrary::reference);

/// The identity of sum prod max min any all for `type`.
Literal identity(Reducer reducer, ElementType type);
/// One step of sum prod max min any all.
Literal combine(Reducer reducer, const Literal& state, const Literal& value);
/// Does the reduction give the index of a value? Over an empty range that is an error of the program: there is no
/// identity.
constexpr bool is_argument(Reducer reducer) {
  return reducer == Reducer::argmax || reducer == Reducer::argmin;
}
/// True when (value, index) beats (best, best_index) in argmax (argmin): a NaN wins over every number, ties go to the
/// lexicographically first index.
bool beats(Reducer reducer, const Literal& value, std::span<const int64_t> index, const Literal& best,
           std::span<const int64_t> best_index);

}  // namespace polyweft::ir
