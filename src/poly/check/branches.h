// Private to the checker: branches of an If that do the same, `if <the whole tile lies inside> { rows in registers }
// else { rows anywhere }`.
//
// The second of such a pair is right everywhere, or the first would have no one to answer for it; its condition, the
// negation of several, is a union that meets every other union. Here the first branch is compared with the second
// instead, where the condition holds, and what is left to prove is the nest without it.
//   Let X and Y be the branches of `if c X else Y`. If wherever c holds
//     1. X and Y compute the same points, each of X once, by reads and writes of the same buffers' cells, and
//     2. of two points of one run of the If that meet in a cell, which one of them writes, the earlier in X is not the
//     later in Y,
//   then X leaves memory as Y does and each of its points reads what it reads in Y (the theorem on dependences, within
//   one run of the If). So the nest with the If is right if the one with Y in its place is.
// X itself is looked at with the condition: bodies, cells and lanes as in any nest. Only plain stores in serial,
// unrolled and vector loops; all else is left as it is.
#pragma once

#include <optional>

#include "poly/check/statements.h"

namespace polyweft::poly::checker {

struct Simplified {
  LoopNest general;  ///< second branches alone
  LoopNest special;  ///< first branches, under their conditions, and second ones, under none: for what is seen of each
                     ///< statement by itself
};
/// Nothing where no branch goes.
std::optional<Simplified> without_twin_branches(Context& context, const Program& program, const LoopNest& nest);

}  // namespace polyweft::poly::checker
