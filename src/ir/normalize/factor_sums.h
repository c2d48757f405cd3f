// Integer sums over two indices whose weights are a product of one factor an index, and whose other factors meet one of
// the indices only in a sum with a slot:
//   S[y, x] = sum[r, s] u[r] * v[s] * X[y + r, x + s]   =   sum[r] u[r] * H[y + r, x],   H[q, x] = sum[s] v[s] * X[q, x
//   + s]
#pragma once

#include <optional>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

struct FactoredSum {
  size_t slot = 0;                   ///< y
  size_t outer = 0;                  ///< position of r among the sum's indices; the other one is s
  std::vector<int64_t> left, right;  ///< u[r], v[s], from each range's first value on; empty: all 1
  Expr rest;                         ///< the factors that are no weights
};

/// For an equation whose right-hand side is one sum, its indices numbered from the program's first on: slots, then the
/// sum's. Nothing where the sum is not of that kind or gains little. Exact: integers wrap, and addition and
/// multiplication modulo 2^n distribute.
std::optional<FactoredSum> factored_sum(const Program& program, const Equation& equation);

}  // namespace polyweft::ir
