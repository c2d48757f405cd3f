// The points of a reduction, by arithmetic on its ranges and conditions.
#pragma once

#include <optional>

#include "ir/nests/row_walk.h"
#include "ir/values/affine_facts.h"

namespace polyweft::ir {

/// Does the expression, a subscript's limits included, use the index? Not those that reductions inside bind.
bool mentions(const Expr& e, VarId var);
bool has_reduction(const Expr& e);
std::vector<Guard> conjuncts(const Guard& g);

/// floor(e / d) compared with a bound is e compared with d times it: x // 2 < 3 becomes x < 6. Others come back as they
/// are.
Guard without_division(const Guard& g);

/// Conditions that bound an index on one side go into its range, where that side is then the tighter one for all points
/// around; what the ranges say goes out of the conditions. The points stay.
Reduction narrowed(const Reduction& reduction, const AffineFacts& around);

/// A reduction without one index.
struct Projection {
  Reduction rest;  ///< its points are those for which the index has a value
  Affine count;    ///< of these values; not for `exists`
};
enum class Projected : uint8_t { exists, counted };
/// Where every condition and range that uses the index bounds it by 1 times it, and, counted, one lower and one upper
/// bound decide everywhere.
std::optional<Projection> without_index(const Reduction& reduction, size_t position, Projected what,
                                        const AffineFacts& around);

}  // namespace polyweft::ir
