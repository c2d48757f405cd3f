// Private: domains of statements as disjoint conjunctions of conditions.
#pragma once

#include "poly/model.h"

namespace polyweft::poly {

/// Conditions over the equation's indices, one list a piece: the pieces are disjoint and make up the equation's domain
/// together with the ranges of its indices. One empty piece where all conditions of the equation (and of its reduction)
/// are a conjunction already. Throws IslFailure.
std::vector<std::vector<Guard>> conjunctive_pieces(const Model& model, EquationId q);

}  // namespace polyweft::poly
