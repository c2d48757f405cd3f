// What is in force where an expression stands, and the domain of a tensor that takes the expression's place.
//
// Let V be all indices in scope (slots, and the indices of the reductions around), C the conditions in force (where of
// the equation, guards, where of the reductions around). The tensor is read exactly on the points of V that satisfy C,
// so V restricted by C is always a right domain. An index v may be left out when the expression, the kept ranges and
// the kept conditions do not mention it and its range is provably not empty: then the projection of the scope is the
// kept ranges and conditions themselves, and the tensor has no element that nobody reads, so no read outside a box and
// no dependence that the source did not have.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

struct ExprScope {
  std::vector<IndexRange> indices;  ///< in order of binding
  std::vector<Guard> conditions;    ///< conjuncts
};
/// Of the whole right-hand side.
ExprScope scope_of(const Equation& equation);
ExprScope under(const ExprScope& scope, const Guard& g);
ExprScope inside(const ExprScope& scope, const Reduction& reduction);
/// The least value of each parameter that the assumptions state one by one; nothing where none does.
std::map<VarId, int64_t> least_parameters(const Program& program);
/// The indices that a tensor in place of an expression with these variables needs. All conditions of the scope mention
/// no others.
std::set<VarId> needed_indices(const ExprScope& scope, const std::map<VarId, int64_t>& least, VarId first_index,
                               const std::vector<VarId>& used);
/// A linear expression's least value over the scope's indices, by putting each at the end of its range that makes it
/// least; one that is not linear is left somewhere between.
Affine least_over(const ExprScope& scope, Affine e);
/// Has the range an element whatever the values of the scope's other indices and of the parameters?
bool is_never_empty(const ExprScope& scope, const std::map<VarId, int64_t>& least, const IndexRange& range);
/// The first dimension whose subscript gives the index back: it, or its negation, and a constant.
std::optional<uint32_t> dimension_of(const Access& access, VarId var);
/// Indices become those that the equation binds: slots in order, then those of reductions, from the outside in.
void renumber(const Program& program, Equation& equation);

}  // namespace polyweft::ir
