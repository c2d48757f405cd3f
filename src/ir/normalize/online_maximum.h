// A maximum and the sums of exponentials below it in one pass over their index: a reduction over tuples, block by
// block.
//
//   let m[i: N] = max[j: 1024] a[i, j]                   let x[i: N, b: 4] = max[j: 256] a[i, 256 * b + j]
//   let e[i: N, j: 1024] = exp(a[i, j] - m[i])           let e[i: N, b: 4, j: 256] = exp(a[i, 256 * b + j] - x[i, b])
//   let s[i: N] = sum[j: 1024] e[i, j]                   let y[i: N, b: 4] = sum[j: 256] e[i, b, j]
//   let o[i: N, d: D] =                                  let z[i: N, b: 4, d: D] =
//     sum[j: 1024] e[i, j] * V[j, d]                       sum[j: 256] e[i, b, j] * V[256 * b + j, d]
//                                                        let (m, s, o)[i: N, d: D] =
//                                                          reduce online[b: 4] (x[i, b], y[i, b], z[i, b, d])
//
// The combiner of (m, s, ..) and (n, t, ..) is (c, s * exp(m - c) + t * exp(n - c), ..) with c = max(m, n). Theorem
// T11. After Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
#pragma once

#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"

namespace polyweft::ir {

/// What depends on a maximum m[p] = max[k] a[p, k], over one index of constant range.
struct BelowMaximum {
  EquationId maximum = 0;
  int64_t extent = 0;               ///< of the reduced index
  std::vector<EquationId> weights;  ///< e[p, k] = exp(a[p, k] - m[p]), which sums alone read
  std::vector<EquationId> sums;     ///< sum[k] of products with one factor e[p, k], or exp(a[p, k] - m[p])
};
/// Of a normalized program. Nothing where the maximum has no such sums, where an exponential below it is needed
/// elsewhere, or where several sums have indices of their own.
std::optional<BelowMaximum> below_maximum(const Program& program, EquationId maximum);

/// A block is no smaller: T11 needs it for the error bound.
inline constexpr int64_t kLeastOnlineBlock = 32;

/// The normalized program in that form; for class reassoc. Inputs and outputs stay, what nobody needs any more goes,
/// other tensors and equations keep their order, new ones come after them. PW0308 where it has not this form for a
/// block of this size.
Result<Program> with_online_maximum(const Program& program, const OnlineMaximum& online);
/// One after the other.
Result<Program> with_online_maxima(Program program, const std::vector<OnlineMaximum>& online);

}  // namespace polyweft::ir
