// Machines for tests: what rules and models are told, by its few figures that differ between them.
#pragma once

#include <vector>

#include "polyweft/target.h"

namespace polyweft::test {

/// Caches as one thread sees them, so that none is cut to its share; arithmetic takes operands from memory.
inline Machine machine_with(int vector_bytes = 64, int vector_registers = 32,
                            const std::vector<int64_t>& cache_bytes = {48 << 10, 2 << 20, 32 << 20}, int cores = 1) {
  Machine out;
  out.units.vector_bits = 8 * vector_bytes;
  out.units.vector_registers = vector_registers;
  out.units.has_memory_operands = true;
  out.set_caches(cache_bytes, FigureOrigin::probed);
  return on_cores(std::move(out), cores);
}

}  // namespace polyweft::test
