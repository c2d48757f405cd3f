// Serial and parallel loops with exact bounds, in as many parts as have bounds of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/branches.h"
#include "ir/instantiate/nest_writer.h"

namespace polyweft::ir {

class SerialLoops {
 public:
  SerialLoops(NestWriter& nest, BodyEmitter& inner, Branches& branches)
      : nest_(nest), inner_(inner), branches_(branches) {}

  /// for x in max(0, lower)..min(extent, upper) step S. A loop that certainly runs once is left out. Where the last
  /// tile of a register index is smaller, at a place known now, it becomes a nest of its own after the loop.
  NodeId emit(Body body, size_t depth);
  /// for p in 0..parts: the part's number is a dimension of the buffer for partial results.
  NodeId emit_part(Body body, size_t depth);

 private:
  NodeId emit_cuts(const Body& body, size_t depth);
  NodeId emit_sides(Body body, size_t depth);
  Loop block_loop(Body& inner, size_t depth, Bound lo, Bound hi);
  NodeId whole_blocks(Body body, size_t depth, Bound lo, Bound hi);
  NodeId cut_blocks(Body body, size_t depth, Bound lo, Bound hi);
  NodeId bounded(Body body, size_t depth, const Range& bounds, int64_t end);
  std::optional<NodeId> emit_divided(const Body& body, size_t depth, const Range& bounds);

  NestWriter& nest_;
  BodyEmitter& inner_;
  Branches& branches_;
};

}  // namespace polyweft::ir
