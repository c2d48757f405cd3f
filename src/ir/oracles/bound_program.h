// The running error bound as a program of its own, for sizes that the naive evaluator cannot do.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// A program with the inputs of `bound` (all parameters numbers) and, for each of its outputs O in order, an output
/// O_bound: f64 over the same elements: how far two results that the class allows may lie apart (LANGUAGE.md section 4,
/// rules of error_bound.h to first order, times 1.1 for what that drops; contract counts as reassoc). Infinite where a
/// rounding may decide a branch, the element that a data-dependent subscript reads, or overflow; 0 where results are
/// exact, in class strict all that no function was part of. The result is normalized and valid where `bound` is:
/// compile it like any other program. Costs about three times `bound` in f64. A user combiner counts its fold four
/// times in place of trying other orders.
Program bound_program(const Program& bound, NumericsClass cls = NumericsClass::reassoc);

}  // namespace polyweft::ir
