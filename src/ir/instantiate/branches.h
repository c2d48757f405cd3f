// Tests around loops: what conditions leave of a block is tested once outside of it, so that loops in registers have
// constant extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"

namespace polyweft::ir {

/// Tests the conditions whose indices have all become points, outside the loops that do not matter for them; then all
/// from loop `depth` inwards.
NodeId emit_fixed(NestWriter& nest, BodyEmitter& inner, Body body, size_t depth);

class Branches {
 public:
  Branches(NestWriter& nest, BodyEmitter& inner) : nest_(nest), inner_(inner) {}

  /// At the first place where only register loops over an index are left: the index, if its range may be cut.
  std::optional<uint32_t> index_to_branch(Body& body, size_t depth) const;
  /// If full then the block else the block of the one other size there is, or single rows and masked vectors.
  NodeId branch(Body body, size_t depth, uint32_t index);
  /// A serial loop over single rows, or over vectors whose last one is masked.
  NodeId serialized(Body body, size_t depth, uint32_t index);
  /// Conditions between register indices and serial ones inside the register block's tile: tested once for the block.
  NodeId inset(Body body, size_t depth);

 private:
  NestWriter& nest_;
  BodyEmitter& inner_;
};

}  // namespace polyweft::ir
