#include "targets/common/loops/unrolled_loops.h"

#include "support/abilities.h"

namespace polyweft::targets {

void UnrolledLoops::unroll_loop(const Loop& loop) {
  const Affine lo = fold(loop.lo.of[0]);
  const auto trips = variables_.constant_trips(loop, lo);
  if (!trips) return serial_loops_.serial_loop(loop);
  if (!running_values_.has_running() && loop.step == 1 &&
      ((is_on("code.interleaved_copies") && interleaved_copies_.interleaved_copy(loop, lo, *trips)) ||
       (is_on("code.dense_dots") && dot_products_.dense_dots(loop, lo, *trips))))
    return;
  vector_loops_.begin_unrolled();
  for (int64_t n = 0; n < *trips; n += loop.step) {
    variables_.substitute(loop.var, lo + Affine::of(n));
    further_.emit(loop.body);
  }
  vector_loops_.end_unrolled();
  variables_.end_substitution(loop.var);
}

}  // namespace polyweft::targets
