// Integer sums of products with an offset: sum (x - z) * y = sum x * y - z * sum y.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Takes offsets that do not move with a sum out of it, where the sum that is left over is shared by values of some
/// slot: zero points of quantized products. Exact: integers wrap, and addition and multiplication modulo 2^n
/// distribute. Floats are left alone. `slots`: the indices around; `first_index`: the program's first index variable.
Expr with_separated_sums(const Expr& e, const std::vector<IndexRange>& slots, VarId first_index);

}  // namespace polyweft::ir
