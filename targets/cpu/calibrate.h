// What this machine really does, measured: the figures that shares are taken of.
#pragma once

#include "polyweft/target.h"

namespace polyweft::targets {

/// Some 50 us of independent multiply-adds, f32, in the widest vectors; gives the number of operations. 0 where nothing
/// could be compiled.
double run_fma_loop(const Target& target);
/// GFLOP/s of independent f32 multiply-adds in registers, the best stretch of 5 ms of some 50, on `threads` threads at
/// once (1 or more). Costs some 50 ms. 0: not known.
double measured_fma_peak_gflops(const Target& target, int threads);

/// GB/s of reading memory past the caches, on `threads` threads at once: best of three passes over 64 MiB a thread.
/// Costs some 50 ms. 0: not known.
double measured_memory_gb_s(const Target& target, int threads);

}  // namespace polyweft::targets
