// Program -> the base LoopNest: plain loops in an order that isl proves, folded storage. The reference of all
// candidates, and what runs where nothing faster is known.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::poly {

struct BaseOptions {
  int64_t workspace_limit_bytes = int64_t{4} << 30;
  bool leanest = false;  ///< of the orders known, the one whose locals take the fewest bytes, not the fastest
};
/// `program`: bound and normalized, and it passed check(). Parts without a recurrence become loops in the equation's
/// own order of indices; recurrences are scanned by isl's AST in a checked order. Locals are folded by the smallest
/// windows that isl proves. PW0820 above the workspace limit, PW0208 where neither an affine order nor a short one
/// element by element exists, PW083x where isl gives up. 1-300 ms.
Result<LoopNest> base_nest(const Program& program, NumericsClass cls, const BaseOptions& options = {});

/// The same for all sizes that the assumptions admit, as a symbolic nest. `program`: normalized, its parameters free.
/// Order and windows are proven by isl with the parameters kept; only windows that do not depend on them fold. PW0208
/// where no affine order exists, PW0837 for an output whose extents are not affine, PW083x.
Result<LoopNest> symbolic_nest(const Program& program, NumericsClass cls);

}  // namespace polyweft::poly
