// Copies into memory that the threads of a block share, made by all of them: threads along x take
// elements that lie side by side, or vectors of them, other threads other rows of the box.
#pragma once

#include <optional>
#include <vector>

#include "ir/passes/block_memory.h"

namespace polyweft::ir {

/// A box of elements of a tensor, at an offset, into the cells of a copy.
struct BlockCopy {
  BufferId to = 0, from = 0;
  std::vector<Affine> offset;  ///< of the element from the cell, one a dimension
  int64_t vectors = 1;         ///< elements that a thread is to take at once
};
/// Loops around copies of one tensor into memory that threads share, all at one offset.
std::optional<BlockCopy> block_copy_of(const LoopNest& in, const BlockMemory& memory, NodeId id);

/// The threads of a block.
struct CopyingThreads {
  const std::vector<ThreadLoop>& rows;  ///< outermost first; without those along x
  VariableValues least;                 ///< of the rows' variables, for the first threads
  Affine x;                             ///< number along x
  int64_t width = 1;                    ///< threads along x
};
/// The whole box, as far as it lies in the tensor, by all threads of the block; `values`: of variables of the nest that
/// is read. Where each row of threads has a box of its own, which may overlap with others', all of them are one.
/// Vectors are as long as all of them lie in the box, and in the tensor or outside, as a whole.
NodeId divided_copy(const LoopNest& in, LoopNest& out, const BlockMemory& memory, const BlockCopy& copy,
                    const CopyingThreads& threads, VariableValues values);

}  // namespace polyweft::ir
