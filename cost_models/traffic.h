// Cycles that a leaf waits for memory: what each cache level and each level of the look-aside buffers brings in again, by footprints.
#pragma once

#include "cost_models/walk.h"
#include "polyweft/cost_model.h"

namespace polyweft::cost {

struct TrafficCycles {
  double hidden = 0;   ///< overlaps with arithmetic, as far as that lasts
  double exposed = 0;  ///< does not
};
/// `block`: the first loop of the register block.
TrafficCycles traffic_of(const LoopNest& nest, const Leaf& leaf, size_t block, const MachineModel& machine, double elsewhere_bytes = 0);
/// Bytes that the other leaves of a nest touch, in buffers that this one does not.
double bytes_elsewhere(const LoopNest& nest, const std::vector<Leaf>& leaves, const Leaf& leaf);
bool is_accumulation(const Leaf& leaf);

}  // namespace polyweft::cost
