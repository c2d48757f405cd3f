// Innermost loops along rows of memory become loops over vectors: for nests whose sizes are not known, where no sketch
// applies.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Each innermost loop with step 1 around one Compute (and conditions) whose iterations are independent by their
/// subscripts alone becomes vectors of at most `vector_bytes`: whole ones, and the rest under a mask. Independent: the
/// target's last subscript counts with the loop, no other does, and what the Compute reads of the target's buffer is
/// the same cell or lies, for all iterations, at another place along some dimension (modulo its fold). Other reads
/// stand still or count with the loop along their last dimension. The order inside each element stays, so results are
/// those of the nest, bit by bit.
LoopNest vectorize_rows(LoopNest nest, int64_t vector_bytes);

}  // namespace polyweft::ir
