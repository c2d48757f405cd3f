// What a leaf of a nest takes: its register blocks by the greatest of their port bounds and exposed latencies, and the
// traffic of each cache level.
#pragma once

#include "cost_models/traffic.h"
#include "cost_models/walk.h"

namespace polyweft::cost {

/// Cycles on one thread, by what overlaps.
struct LeafTime {
  double work = 0;  ///< of instructions
  TrafficCycles traffic;
  bool is_tile = false;
  double cycles() const;
};

class LeafCycles {
 public:
  /// Both must outlive this.
  LeafCycles(const LoopNest& nest, const Machine& machine);

  /// Do lanes run around statements and short loops (elements of a batch)? What lies between them is then loaded whole
  /// and transposed in registers.
  bool lanes_are_around() const { return lanes_are_around_; }
  /// Of all its iterations; `elsewhere_bytes`: what other leaves touch between two runs of it.
  LeafTime time(const Leaf& leaf, double elsewhere_bytes) const;
  /// The traffic alone.
  TrafficCycles traffic(const Leaf& leaf, double elsewhere_bytes) const;

 private:
  const LoopNest& nest_;
  const Machine& machine_;
  bool lanes_are_around_;
};

}  // namespace polyweft::cost
