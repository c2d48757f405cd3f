// Where a pass stands in a nest: what is known of the variables of the loops around, and which of them are written out.
#pragma once

#include <optional>

#include "ir/passes/copy_subtree.h"
#include "ir/passes/ranges.h"

namespace polyweft::ir {

class LoopContext {
 public:
  /// Parameters of a nest with sizes are numbers.
  explicit LoopContext(const LoopNest& nest);

  const LoopNest& nest() const { return nest_; }
  ValueFacts& facts() { return facts_; }
  const ValueFacts& facts() const { return facts_; }
  /// Values of variables that stand for something else: iterations of unrolled loops.
  VariableValues& values() { return values_; }
  const VariableValues& values() const { return values_; }

  /// With all that is known put in.
  Affine fold(const Affine& e) const;
  Guard fold(const Guard& g) const;
  Access fold(const Access& access) const;

  /// What the loop's variable may be in an iteration.
  VariableFacts facts_of(const Loop& loop) const;
  /// hi - lo where each is one bound and the difference a number; may be negative.
  std::optional<int64_t> constant_length(const Loop& loop) const;
  /// Does at least one iteration run, whatever the variables around are?
  bool is_entered(const Loop& loop) const;
  /// Within the loop. Undone by leave().
  void enter(const Loop& loop) { facts_.set(loop.var, facts_of(loop)); }
  void leave(const Loop& loop) { facts_.forget(loop.var); }

 private:
  const LoopNest& nest_;
  ValueFacts facts_;
  VariableValues values_;
};

/// The condition that a loop has an iteration.
Guard has_iterations(const Loop& loop);

}  // namespace polyweft::ir
