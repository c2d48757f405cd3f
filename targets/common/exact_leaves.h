// Ranges of what stands in subscripts that depend on data (ir/exact.h), from loops, types and promises.
#pragma once

#include <functional>

#include "ir/values/exact.h"
#include "polyweft/loop_nest.h"
#include "targets/common/ranges.h"

namespace polyweft::targets {

/// The range that facts know of an affine form; all of 64 bits where they know none.
ir::ExactRange exact_bounds(const Facts& facts, const Affine& e);

class ExactLeaves {
 public:
  using Bounds = std::function<ir::ExactRange(const Affine&)>;
  /// `bounds`: of an affine form of the nest.
  ExactLeaves(const LoopNest& nest, Bounds bounds) : nest_(nest), bounds_(std::move(bounds)) {}

  std::optional<ir::ExactRange> operator()(const ExprNode& leaf) const { return range(leaf); }
  ir::ExactRange range(const ExprNode& leaf) const;

 private:
  std::optional<ir::ExactRange> promised(BufferId id) const;

  const LoopNest& nest_;
  Bounds bounds_;
};

/// Do 64 bits hold every part of the tree?
bool needs_64_bits_only(const ExprNode& e, const ExactLeaves& leaves);

}  // namespace polyweft::targets
