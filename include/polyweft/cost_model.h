// CostModel: predicts the time of a LoopNest from its text alone; the only judge of candidates that are never measured.
#pragma once

#include <memory>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

#pragma GCC visibility push(default)
namespace polyweft {

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Nanoseconds of one call. No isl, no allocation worth naming; some 20 microseconds.
  virtual double predict_ns(const LoopNest& nest) const = 0;
  /// The same where the cycles of its instructions are known, with loads from the first cache: what it waits for memory
  /// and threads comes on top.
  virtual double predict_ns(const LoopNest& nest, double instruction_cycles) const = 0;
  virtual std::string name() const = 0;
};
/// max of port bounds a register block + exposed latency + traffic a cache level; see cost_models/analytic.cpp.
/// Predicts calls on all cores of the machine: on_cores() for fewer.
std::unique_ptr<CostModel> analytic_model(const Machine& machine);

}  // namespace polyweft
#pragma GCC visibility pop
