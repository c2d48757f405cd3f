// Variables of loops while a function is written. Those of unroll and vector loops never become LLVM values: they are
// substituted (a number; `start + lane`) before an expression is emitted, so that each expression is affine in serial
// variables plus a lane stride.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/passes/loop_context.h"
#include "targets/common/llvm.h"
#include "targets/common/ranges.h"

namespace polyweft::targets {

inline constexpr VarId kLane = 0x7ffffff0;  ///< stands for the lane of the vector loop around

/// A serial loop around.
struct OpenLoop {
  VarId var = 0;
  int64_t trips = 1, step = 1;
};

class Variables {
 public:
  /// The nest must outlive this.
  explicit Variables(const LoopNest& nest)
      : context_(nest), substituted_(context_.values()), facts_(context_.facts()) {}
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  /// Of a task: what it knows of the loops outside; values are its own.
  void start_as(const Variables& outside);

  const ir::LoopContext& context() const { return context_; }
  ir::LoopContext& context() { return context_; }  ///< for questions that try out iterations
  const Facts& facts() const { return facts_; }
  /// With all that is known put in.
  Affine fold(const Affine& e) const { return context_.fold(e); }
  Guard fold(const Guard& g) const { return context_.fold(g); }
  Access fold(const Access& access) const { return context_.fold(access); }

  /// The value of a serial loop's variable, or of what stands for another integer.
  void bind(VarId var, llvm::Value* value, VarFacts facts);
  void set_value(VarId var, llvm::Value* value) { values_[var] = value; }
  void unbind(VarId var) { values_.erase(var); }
  bool is_bound(VarId var) const { return values_.contains(var); }
  llvm::Value* value(VarId var) const;
  const std::map<VarId, llvm::Value*>& values() const { return values_; }

  void substitute(VarId var, const Affine& e) { substituted_[var] = e; }
  void end_substitution(VarId var) { substituted_.erase(var); }
  bool is_substituted(VarId var) const { return substituted_.contains(var); }

  void set_facts(VarId var, VarFacts facts) { facts_.set(var, std::move(facts)); }
  void forget_facts(VarId var) { facts_.forget(var); }
  void assume(const Affine& e) { facts_.assume(e); }
  void assume(const Guard& g, bool holds) { facts_.assume(g, holds); }
  void restore(const Facts& facts) { facts_ = facts; }

  /// Serial loops around, outermost first.
  const std::vector<OpenLoop>& open() const { return open_; }
  void enter(const OpenLoop& loop) { open_.push_back(loop); }
  void leave() { open_.pop_back(); }

  VarFacts loop_facts(const Loop& loop) const { return context_.facts_of(loop); }
  /// Of the loop's range, where that is one number.
  std::optional<int64_t> constant_length(const Loop& loop) const { return context_.constant_length(loop); }
  /// The same from `lo` on, of a loop that may be written out.
  std::optional<int64_t> constant_trips(const Loop& loop, const Affine& lo) const;
  /// Iterations by the loop's step.
  std::optional<int64_t> iterations(const Loop& loop) const;
  int64_t most_trips(const Loop& loop) const;
  /// Does the first iteration always run?
  bool is_entered(const Loop& loop) const { return context_.is_entered(loop); }

 private:
  ir::LoopContext context_;
  std::map<VarId, Affine>& substituted_;  ///< of the context
  Facts& facts_;
  std::map<VarId, llvm::Value*> values_;
  std::vector<OpenLoop> open_;
};

}  // namespace polyweft::targets
