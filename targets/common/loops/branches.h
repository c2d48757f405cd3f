// Two ways through the code, and how often each is taken.
#pragma once

#include <functional>
#include <optional>

#include "ir/nests/frequencies.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/memory/strided_lanes.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class Branches : MemoryPart {
 public:
  Branches(const Addresses& addresses, Registers& registers, StridedLanes& strided_lanes)
      : MemoryPart(addresses), registers_(registers), strided_lanes_(strided_lanes) {}

  /// `frequencies` are of this nest and must outlive this.
  void expect(const ir::Frequencies& frequencies, int threads) {
    frequencies_ = &frequencies, expected_threads_ = threads;
  }
  const ir::Frequencies* frequencies() const { return frequencies_; }
  int expected_threads() const { return expected_threads_; }
  /// Emits both ways; where they join, registers and known values are those of both.
  void branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise,
              llvm::MDNode* weights = nullptr);
  /// One of the values of two sides. A guarded value is lazy: what the guard excludes is not read.
  llvm::Value* guarded(const ExprNode& node, const std::function<llvm::Value*(const Expr&)>& side);
  /// What LLVM is told of a branch that is taken in this share of its executions; null: not known.
  llvm::MDNode* weights(std::optional<double> taken) const;
  /// Of a condition of the nest, by the expected frequencies; none: not known.
  std::optional<double> share_of(const void* condition) const;
  ir::LoopFrequency frequency_of(const Loop& loop) const;

 private:
  Registers& registers_;
  StridedLanes& strided_lanes_;
  const ir::Frequencies* frequencies_ = nullptr;
  int expected_threads_ = 1;
};

}  // namespace polyweft::targets
