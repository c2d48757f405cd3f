// The functions exp log tanh erf sigmoid sin cos pow rsqrt on scalars.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// exp log tanh erf sigmoid sin cos pow rsqrt: the operators that are not correctly rounded.
bool is_function(Op op);
/// By the C library in extended precision; y is used by pow alone.
long double reference_function(Op op, long double x, long double y);
/// By the algorithms of math.h: in f64 for f64, else in f32 (f16 and bf16: to be rounded by the caller). The bits of
/// the kernels.
double own_function(Op op, ElementType type, double x, double y);

}  // namespace polyweft::ir
