// Values inside a reduction that are the same for many of its points: made once, in a tensor of their own.
//   tmp[i, j] = sum[k: K] alpha * A[i, k] * B[k, j]   =   sum[k: K] S[i, k] * B[k, j],   S[i, k] = alpha * A[i, k]
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/values/scope.h"

namespace polyweft::ir {

/// The points at which an expression has different values: an equation's ranges.
using OwnDomain = std::vector<IndexRange>;

/// Values that are read less often stay where they are: cells of their own cost more than they save.
inline constexpr int64_t kLeastRepetitions = 16;

/// Of a floating-point expression inside a reduction, `scope` its indices and conditions, when it pays to make its
/// values once: it computes something, moves with the reduction but not with other indices of many values (known ones:
/// programs that keep their sizes as parameters stay as they are), and is no larger than one of the tensors that it
/// reads. The domain holds exactly the points that are needed: an index that is left out stands in the range of one
/// that is kept at most once, and is put there at the end that makes that range widest. Nothing where the expression
/// looks data up, has conditions or reductions inside, or reads a tensor for which `may_read` is false, or that it does
/// not count.
std::optional<OwnDomain> domain_if_repeated(const Program& program, const Expr& e, const ExprScope& scope,
                                            const Reduction& reduction, const std::map<VarId, int64_t>& least,
                                            const std::vector<char>& may_read);

/// For each tensor: is none of its elements made from these tensors, neither directly nor by others?
std::vector<char> independent_of(const Program& program, const std::vector<TensorId>& tensors);

}  // namespace polyweft::ir
