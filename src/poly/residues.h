// Private: the remainders that an affine value leaves, read off the text of conditions such as i % 2 == 1.
//
// Two statements of different colours never touch the same element. Their residues say so in nanoseconds; isl, asked
// for the intersection, says it after it has built a tableau, and asks again at the next step. Not every relation is
// seen ((i + j) % 2 == 0 is none of one index), and what is not seen is left to isl.
#pragma once

#include "polyweft/program.h"

namespace polyweft::poly {

/// All integers that leave `offset` modulo `step`: step 1 says nothing, step 0 is the number `offset` itself.
struct Residue {
  int64_t step = 1, offset = 0;  ///< 0 <= offset < step, or step == 0
};
/// False only where no integer is in both.
bool may_be_equal(const Residue& a, const Residue& b);
/// Of an expression whose variables have these residues; a variable beyond the list has none.
Residue residue_of(const Affine& e, const std::vector<Residue>& variables);
/// Of all variables of an equation, by the conjuncts of its `where`.
std::vector<Residue> residues_of(const Program& program, const Equation& equation);

}  // namespace polyweft::poly
