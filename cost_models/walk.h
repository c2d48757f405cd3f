// One walk over a LoopNest that finds, for every register block, how often it runs and what one run does.
//
// Loops are sampled, not enumerated: a few deterministic points of the iteration space are followed down the tree; at
// each point trip counts are exact, and tails and triangular bounds count as often as they are met.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::cost {

/// A loop around the current node, outermost first.
struct LoopContext {
  VarId var = kNoVar;
  double trips = 1;
  int64_t step = 1;
  MarkKind mark = MarkKind::serial;
  int32_t width = 0;
  bool streams = false;
  const std::vector<Prefetch>* ahead = nullptr;
};
/// An access in a block: `coeff[l]` is the element stride of loop l in each logical dimension (by dim), and the bytes
/// of one element.
struct AccessUse {
  BufferId buffer = 0;
  std::vector<std::vector<int64_t>> coeff;  ///< [loop][dim]
  bool is_store = false;
  bool is_streamed = false;   ///< a store past the caches
  bool is_asked_for = false;  ///< prefetched
  bool has_gather = false;
  std::vector<char> gathers_along;  ///< [loop]: does what is read from memory for its subscripts move with the loop?
  std::vector<int64_t> at;          ///< logical index in the sampled iteration
  /// The same of the first threads along x that run in lockstep, where quotients of their numbers pick what they touch;
  /// else none.
  std::vector<std::vector<int64_t>> of_threads;
};
/// One Compute or Copy with the loops around it.
struct Leaf {
  NodeId node = kNoNode;
  std::vector<LoopContext> loops;
  std::vector<AccessUse> accesses;
  double operations = 0;       ///< arithmetic operations that take an FMA port, a point
  double slow_operations = 0;  ///< transcendental functions and whole-number divisions, in port cycles, a point
  double divisions = 0;        ///< and square roots, a point
  bool accumulates_in_register = false;
  ElementType type = ElementType::f32;
  bool is_copy = false;
  bool is_instruction = false;  ///< inside a tensor mark: one operation, whatever it computes
  bool is_tile = false;         ///< an instruction on tiles of 16 rows
  bool reads_shared = false;    ///< an instruction of several warps, whose factors nobody loads
  bool is_of_warp = false;      ///< the lanes of a warp do it together, in the name of the first one along x
  std::vector<std::pair<BufferId, size_t>> allocs;  ///< buffers allocated around it and the loop depth of their Alloc
};

/// Walks down one nest, once for each sample. What the leaves of two samples have in common is found once.
class Walk {
 public:
  /// `lockstep`: threads along x whose places AccessUse::of_threads has; 0: of none.
  explicit Walk(const LoopNest& nest, int64_t lockstep = 0);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  /// Follows a sample point (0, 1, ..) down the nest and lists what is met, until the next call. Means over samples are
  /// those over all iterations.
  const std::vector<const Leaf*>& at(int sample);

 private:
  class Walker;
  std::unique_ptr<Walker> walker_;
};

}  // namespace polyweft::cost
