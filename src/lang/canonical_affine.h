// Affine forms and guards as canonical text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::lang {

/// Text of each variable: "p000" for parameters by position, "v000" for indices by binding depth. Their order is the
/// order of the text.
using VariableTexts = std::vector<std::string>;
std::string parameter_text(size_t position);
std::string index_text(size_t depth);

std::string canonical_affine(const Affine& e, const VariableTexts& variables);
/// Disjunctive normal form of gcd-reduced constraints, sorted, without duplicates; as written where it has more than 64
/// disjuncts.
std::string canonical_guard(const Guard& guard, const VariableTexts& variables);
/// lo <= var < hi.
Guard range_guard(VarId var, const Affine& lo, const Affine& hi);

}  // namespace polyweft::lang
