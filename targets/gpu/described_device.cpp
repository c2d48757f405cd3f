#include "targets/gpu/described_device.h"

#include "ir/nests/instruction.h"

namespace polyweft::targets {

void describe_blocks(Target& target) {
  Machine& machine = target.machine;
  target.can.fused_products = true;
  machine.units.vector_bits = 128;
  machine.units.vector_registers = 16;
  machine.units.instructions = ir::instructions_of(target);
  machine.levels = {{"device"}, {"block"}, {"thread"}};
}

void describe_card(Machine& machine, const CardFigures& card) {
  machine.levels[1].count = {card.units};
  machine.clock_ghz = {card.clock_ghz};
  machine.set_caches({32 << 10, card.second_cache_bytes}, FigureOrigin::assumed);
  for (MemoryLevel& cache : machine.memories) cache.ways = {0};  // addresses are hashed: no rows drive each other out
  const double memory = card.memory_gb_s / card.clock_ghz / static_cast<double>(card.units);
  machine.memories[1].bytes_per_cycle = {2 * memory};
  machine.memories.back().bytes_per_cycle = {memory};
  machine.units.multiply_adds_per_cycle = {card.multiply_adds};
  machine.units.multiply_add_latency_cycles = {card.multiply_add_latency_cycles};
  machine.units.tile_latency_cycles = {card.tile_latency_cycles};
  machine.units.loads_per_cycle = {1};
  machine.units.stores_per_cycle = {1};
}

}  // namespace polyweft::targets
