// Where a pass stands in a nest: what is known of the variables of the loops around, and which of them are written out.
#pragma once

#include <optional>

#include "ir/passes/copy_subtree.h"
#include "ir/passes/ranges.h"

namespace polyweft::ir {

/// What the assumptions of a symbolic nest say of a size.
VariableFacts facts_of_size(const LoopNest& nest, VarId param);

class LoopContext {
 public:
  /// Parameters of a nest with sizes are numbers, those of a symbolic one are what its assumptions say.
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
  /// The iterations of an unrolled loop one after the other, each a value of its variable, while f() is true. False
  /// where f() was not, or the loop's length is no number up to `most`.
  template <class F>
  bool each_iteration(const Loop& loop, int64_t most, const F& f) {
    const auto length = loop.mark.kind == MarkKind::unroll ? constant_length(loop) : std::nullopt;
    if (!length || *length > most) return false;
    const Affine lo = fold(loop.lo.of[0]);
    bool all = true;
    for (int64_t n = 0; n < *length && all; n += loop.step) {
      values_[loop.var] = lo + Affine::of(n);
      all = f();
    }
    values_.erase(loop.var);
    return all;
  }
  /// Buffers that have bytes in common with this one.
  const std::vector<BufferId>& sharers(BufferId id) const;

  /// Within the loop. Undone by leave().
  void enter(const Loop& loop) { facts_.set(loop.var, facts_of(loop)); }
  void leave(const Loop& loop) { facts_.forget(loop.var); }

 private:
  const LoopNest& nest_;
  std::vector<std::vector<BufferId>> sharers_;  ///< of the buffers that the nest had first
  ValueFacts facts_;
  VariableValues values_;
};

/// Calls on_loop(id, loop) for each loop from `id` on that stands outside of vectors and instructions, with what is
/// known there; where it gives false, the loops inside follow. The nest of the context may change under it.
template <class F>
void walk_loops(LoopContext& context, NodeId id, const F& on_loop) {
  if (id == kNoNode) return;
  const Node& node = context.nest().nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node)) {
    for (const NodeId child : std::vector<NodeId>(seq->children)) walk_loops(context, child, on_loop);
  } else if (const auto* alloc = std::get_if<Alloc>(&node)) {
    walk_loops(context, alloc->body, on_loop);
  } else if (std::holds_alternative<If>(node)) {
    const If choice = std::get<If>(node);
    const ValueFacts outside = context.facts();
    for (const bool holds : {true, false}) {
      context.facts().assume(context.fold(choice.condition), holds);
      walk_loops(context, holds ? choice.then : choice.otherwise, on_loop);
      context.facts() = outside;
    }
  } else if (std::holds_alternative<Loop>(node)) {
    const Loop loop = std::get<Loop>(node);
    if (loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::tensor || on_loop(id, loop)) return;
    const ValueFacts outside = context.facts();
    context.enter(loop);
    walk_loops(context, loop.body, on_loop);
    context.facts() = outside;
  }
}

/// The condition that a loop has an iteration.
Guard has_iterations(const Loop& loop);
/// The condition that the subscripts of an element are inside the buffer's extents.
Guard is_within(const Access& access, const Buffer& buffer);

}  // namespace polyweft::ir
