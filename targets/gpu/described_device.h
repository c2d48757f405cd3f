// What descriptions of devices that run blocks of threads share.
#pragma once

#include "polyweft/target.h"

namespace polyweft::targets {

/// What follows from running blocks of threads: levels, a thread's vectors, instructions by the target's features.
void describe_blocks(Target& target);

/// Figures of a card of the kind.
struct CardFigures {
  int64_t units = 1;  ///< that run blocks
  double clock_ghz = 1;
  int64_t second_cache_bytes = 0;
  double memory_gb_s = 1;
  double multiply_adds = 1;  ///< vectors a cycle, of a unit
  double multiply_add_latency_cycles = 4, tile_latency_cycles = 24;
};
/// Caches and memory as a unit has them, operations. The second cache reads twice as fast as memory.
void describe_card(Machine& machine, const CardFigures& card);

}  // namespace polyweft::targets
