// Cycles that a leaf waits for memory: what each cache level and each level of the look-aside buffers brings in again,
// by footprints.
#pragma once

#include "cost_models/walk.h"
#include "polyweft/cost_model.h"

namespace polyweft::cost {

struct TrafficCycles {
  double hidden = 0;   ///< overlaps with arithmetic, as far as that lasts
  double exposed = 0;  ///< does not
};
/// `block`: the first loop of the register block.
TrafficCycles traffic_of(const LoopNest& nest, const Leaf& leaf, size_t block, const Machine& machine,
                         double elsewhere_bytes = 0);
/// Bytes that the leaves of a nest touch.
class Touched {
 public:
  explicit Touched(const LoopNest& nest);
  void set(const std::vector<const Leaf*>& leaves);
  /// By others than this one of them, in buffers that it does not touch.
  double elsewhere(const Leaf& leaf) const;

 private:
  std::vector<double> bytes_;  ///< by buffer; 0 for those that stay in registers
  std::vector<char> is_touched_;
  double total_ = 0;
};
bool is_accumulation(const Leaf& leaf);

}  // namespace polyweft::cost
