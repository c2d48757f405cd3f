// The nodes of a nest in program order.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/nests/instruction.h"
#include "ir/nests/walk_nest.h"
#include "polyweft/loop_nest.h"

namespace polyweft::targets {

inline constexpr int64_t kTileRows = 16, kTileRowBytes = 64;  ///< of a register of a tile unit

using ir::visit_accesses;
using ir::walk_nodes;

/// Is every loop in there written out (unrolled, vectors, and where `tensors`, instructions)?
inline bool is_straight(const LoopNest& nest, NodeId root, bool tensors) {
  bool straight = true;
  walk_nodes(nest, root, [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node))
      straight &= loop->mark.kind == MarkKind::unroll || loop->mark.kind == MarkKind::vector ||
                  (tensors && loop->mark.kind == MarkKind::tensor);
    return straight;
  });
  return straight;
}

/// Is the loop the outermost of an instruction on tiles?
inline bool is_tile_loop(const Loop& loop) {
  if (loop.mark.kind != MarkKind::tensor) return false;
  const auto instruction = ir::instruction_named(loop.mark.detail);
  return instruction.ok() && (*instruction)->is_tile();
}

inline bool has_tiles(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && is_tile_loop(*loop);
  });
}

/// Are all loops and instructions inside the loops of blocks, some of them instructions on tiles, and nothing under a
/// condition?
inline bool is_straight_block_of_tiles(const LoopNest& nest, NodeId root) {
  if (root == kNoNode) return true;
  const Node& node = nest.nodes[root];
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(),
                       [&](NodeId child) { return is_straight_block_of_tiles(nest, child); });
  const auto* loop = std::get_if<Loop>(&node);
  if (!loop) return false;
  return is_tile_loop(*loop) || (loop->mark.kind == MarkKind::unroll && is_straight_block_of_tiles(nest, loop->body));
}

}  // namespace polyweft::targets
