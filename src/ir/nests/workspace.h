// Where the buffers of a nest lie, and how many bytes of the heap a call takes. Code generation asks for exactly the
// blocks that stand here, so what these functions say is a bound that holds for every call.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

inline constexpr int64_t kSmallHeapBytes =
    16 << 10;  ///< up to here a buffer of the heap lies on the stack: that costs no call, and scalars become registers
inline constexpr int64_t kStackLimitBytes = 256 << 10;  ///< above this a buffer of the stack lies on the heap
inline constexpr int64_t kBlockAlignment = 64;

/// From the start of a buffer of so many bytes to that of the next in a block: not a multiple of a page, or the same
/// elements of two tensors would share their low address bits, and a load that follows the store to the other would
/// wait for it.
int64_t step_in_block(int64_t bytes);
/// Bytes of its cells; PW0822 where they do not fit 64 bits.
Result<int64_t> bytes_of(const Buffer& buffer);
/// Whether its cells take memory of the workspace: heap scope above the small ones, stack and register scope above
/// their limit.
bool lies_in_workspace(const Buffer& buffer);

/// A buffer in a block of the workspace, `at` bytes from its start.
struct Placed {
  BufferId buffer = 0;
  int64_t at = 0, bytes = 0;
};
/// What one call of halide_malloc gives: all of the call's own buffers, or those of one task of a parallel loop.
struct Block {
  NodeId region = kNoNode;  ///< the nest's root, or the body of a parallel loop
  int64_t instances =
      1;  ///< at most so many at once, whatever the thread pool: the iterations of the parallel loops around
  int64_t bytes = 0;  ///< without what aligns it
  std::vector<Placed> buffers;
};
struct Workspace {
  std::vector<Block> blocks;  ///< those with buffers
  int64_t bytes = 0;  ///< of all instances of all blocks, each with the two lines that align it: what is asked of
                      ///< halide_malloc at most
};
/// The block of one region of a verified nest: the kernel (nest.root), a pack function, or the body of a parallel loop.
/// PW0822 where a number does not fit 63 bits.
Result<Block> block_of(const LoopNest& nest, NodeId region);
/// Those of the kernel and of all its tasks.
Result<Workspace> workspace_of(const LoopNest& nest);

/// First and last statement (Compute and Copy nodes in the order of the text, from 0) that touches each buffer;
/// statements in a loop that its Alloc is outside of count from the loop's first to its last. -1, -1: none.
struct Life {
  int64_t first = -1, last = -1;
};
std::vector<Life> lives_of(const LoopNest& nest);

}  // namespace polyweft::ir
