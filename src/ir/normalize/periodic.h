// Values that come again as an index goes on: what depends on j through j % 2 alone.
//
//   min[j: N] A[j % 2]                         is  min[j: 2] A[j % 2]                          (N >= 2)
//   sum[j: N] A[j % 2]                         is  sum[j: 2] ((N - 1 - j) // 2 + 1) * A[j % 2]
#pragma once

#include <optional>

#include "polyweft/program.h"

namespace polyweft::ir {

/// The least number of steps of the index, among the divisors in the expression, after which it is the same for all
/// values of the index. Nothing where the index does not occur.
std::optional<int64_t> period_of(const Expr& e, VarId index);

}  // namespace polyweft::ir
