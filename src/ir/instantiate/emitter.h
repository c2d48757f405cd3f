// Writes a nest: from the root through loops, and what stands between two of them, to the innermost places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instantiate/attached_stages.h"
#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/branches.h"
#include "ir/instantiate/copies.h"
#include "ir/instantiate/leaves.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/overlapped_tiles.h"
#include "ir/instantiate/promotions.h"
#include "ir/instantiate/reductions.h"
#include "ir/instantiate/register_loops.h"
#include "ir/instantiate/serial_loops.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/sliding_windows.h"
#include "ir/instantiate/storage.h"
#include "ir/instantiate/windows.h"

namespace polyweft::ir {

/// Outside of loop `depth` stand, each around what follows it: the cells of a tile, producers, buffers that slide,
/// copies hoisted for attached stages, the stage's own copies, statements in its stead, statements after it, buffers
/// for parts, an accumulator or first values. They are numbered as far as they are there: NestPlace::which.
class Emitter : public BodyEmitter {
 public:
  Emitter(const NestTemplate& nest_template, const std::vector<int64_t>& decisions);
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  /// Once.
  Result<LoopNest> run();

  NodeId emit(Body body, size_t depth) override;
  NodeId emit_rest(NestPlace at) override;
  NodeId emit_loop(Body body, size_t depth) override;

 private:
  NodeId emit_from(NestPlace at);
  /// Counts down to the one whose turn it is.
  struct Turn {
    size_t left = 0;
    bool is_next() { return left-- == 0; }
  };
  NodeId root();
  NodeId after_all(Body body, size_t depth);
  std::optional<NodeId> attached_before(NestPlace& at, Turn& turn);
  std::optional<NodeId> promoted(NestPlace& at, Turn& turn);
  std::optional<NodeId> attached_after(NestPlace& at, Turn& turn);
  std::optional<NodeId> reduced(NestPlace& at, Turn& turn);

  SizedTemplate schedule_;
  NestWriter nest_;
  OpenSlides slides_;
  Windows windows_;
  Storage storage_;
  Leaves leaves_;
  Branches branches_;
  SerialLoops serial_loops_;
  RegisterLoops register_loops_;
  Copies copies_;
  Promotions promotions_;
  AttachedStages attached_stages_;
  Reductions reductions_;
  SlidingWindows sliding_windows_;
  OverlappedTiles overlapped_tiles_;
};

}  // namespace polyweft::ir
