// The LoopNest interpreter: the living definition of what a nest computes. Loops run one after another in their written
// order, marks are ignored, cells know whether they were ever written. Only loops over threads with a `sync block`
// inside are different: all threads of a block come to a barrier before one goes on.
//
// Functions come from math.h and rounding from scalar.h, so strict results equal the compiled kernel's bit for bit. In
// tag mode each cell also carries the tag (tag.h) of the term it stands for; equal tags of the outputs and of the
// Program's evaluation say that the nest computes the program's terms, whatever the data.
#pragma once

#include <optional>
#include <vector>

#include "ir/oracles/tag.h"
#include "polyweft/loop_nest.h"

namespace polyweft::ir {

struct InterpreterOptions {
  bool with_tags = false;
  bool last_thread_first =
      false;  ///< the order in which threads take turns between barriers, which no right nest depends on
  /// Asynchronous copies arrive at the Sync that waits for them, and their cells hold nothing until then: a right nest
  /// waits before each read.
  bool late_copies = false;
  int64_t cell_limit = int64_t{1} << 26;  ///< cells of all buffers together
  int64_t step_limit = int64_t{1} << 40;  ///< computes and copies executed
};

/// One entry an output of the nest, in order.
struct NestRun {
  std::vector<TensorData> tensors;  ///< row-major; 0 where not written
  std::vector<std::vector<uint8_t>> written;
  std::vector<std::vector<Tag>> tags;  ///< empty without with_tags
};

/// Runs a verified nest. `inputs`: the program's inputs in order, row-major (a packed input is packed by the nest's own
/// Pack). PW0490: wrong inputs; PW0491: an access outside its buffer, a write to an input; PW0492: a read of a cell
/// that was never written; PW0812: over a limit. About 10^6 operators a second.
Result<NestRun> interpret(const LoopNest& nest, const std::vector<TensorData>& inputs,
                          const InterpreterOptions& options = {});

}  // namespace polyweft::ir
