// Reductions of which less is left: terms that change nothing, indices that no term uses, parts of the domain where all
// terms are equal.
#pragma once

#include "ir/values/reduction_ranges.h"

namespace polyweft::ir {

/// Combines two values as the reduction does: min, max, or, and, +, *. Not for argmax, argmin and combiners.
std::optional<Op> combining_op(Reducer reducer);
/// May a reduction be parted, and its parts combined afterwards? Exact ones always; floating-point sums and products in
/// class reassoc.
bool may_be_parted(const ExprNode& reduce, NumericsClass cls);
bool is_neutral(const Expr& e, Reducer reducer);
/// What an empty reduction gives.
Expr identity_literal(const Program& program, const ExprNode& reduce);
Expr guarded_by(const Guard& g, Expr then, Expr otherwise);

/// Terms that are neutral unless a condition holds: then, with the condition moved to the reduction, where its range
/// can have it. Null where there is none.
Expr without_neutral_terms(const Expr& reduce, const AffineFacts& around);

/// The reduction over this part of its domain, an index of one value replaced by it. Not for floating-point sums of
/// class strict: they turn -0 into +0.
Expr without_single_indices(const Expr& reduce, const Reduction& domain, const AffineFacts& around);

/// An index of which a condition lets every d-th value through counts those: j where j % 2 == 1 becomes 2 * j + 1. Null
/// where there is none, or its range is not of numbers.
Expr without_strides(const Expr& reduce);

/// Without the indices that its terms do not use; null where it uses all of them, or nothing is known.
Expr without_unused_indices(const Program& program, NumericsClass cls, const Expr& reduce, const AffineFacts& around);

}  // namespace polyweft::ir
