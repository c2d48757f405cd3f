// What this machine really does, measured: the figures that shares are taken of.
#pragma once

#include "polyweft/target.h"

namespace polyweft::targets {

/// GFLOP/s of independent f32 multiply-adds in registers, best of some 30 ms, on `threads` threads at once (1 or more). Costs some 50 ms.
double measured_fma_peak_gflops(const Target& target, int threads);

}  // namespace polyweft::targets
