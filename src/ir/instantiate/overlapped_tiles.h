// Tiles of a band that overlap: cells of their own, filled with what was made before the block, ranges that shrink from
// step to step, and what outlives the block.
//
//   alloc A.o { A.o = A of the steps before  <the block, on ranges that grow backwards>  A = A.o of the last steps }
#pragma once

#include <map>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/copies.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"
#include "ir/instantiate/windows.h"

namespace polyweft::ir {

class OverlappedTiles {
 public:
  OverlappedTiles(const SizedTemplate& schedule, const Windows& windows, NestWriter& nest, Storage& storage,
                  Copies& copies, BodyEmitter& inner)
      : schedule_(schedule), windows_(windows), nest_(nest), storage_(storage), copies_(copies), inner_(inner) {}

  /// A frame has reached the loops inside its tiles.
  NodeId emit(const NestPlace& at);

 private:
  Status fits(const Body& frame) const;
  View make_tile_cells(const Body& frame, TensorId tensor);
  NodeId copy_before(const Body& frame, const Overlap::Kept& kept, const View& cells);
  NodeId store_after(Body statement, const std::map<TensorId, View>& cells);
  std::vector<NodeId> stores_after(const Body& exact, const std::map<TensorId, View>& cells);

  const SizedTemplate& schedule_;
  const Windows& windows_;
  NestWriter& nest_;
  Storage& storage_;
  Copies& copies_;
  BodyEmitter& inner_;
};

}  // namespace polyweft::ir
