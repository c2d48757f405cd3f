// Sums that stay in tiles: which tiles a buffer of sums is, how they begin and where they go when nothing is added any
// more.
#pragma once

#include <map>
#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/loops/branches.h"
#include "targets/common/tiles/tile_part.h"

namespace polyweft::targets {

struct TileCopy {
  bool is_load = false, emits = false;
  std::multimap<int, TileRows>* into = nullptr;  ///< where to note the moves, by tile
};

class TileSums : TilePart {
 public:
  TileSums(const TileState& tiles, Branches& branches, CodeEmitter& further)
      : TilePart(tiles), branches_(branches), further_(further) {}

  /// The buffer of sums, in tiles where what `body` does to it allows it.
  void allocate_tiles(BufferId id, NodeId body);
  bool gather_tiles_of_loop(const Loop& loop, BufferId buffer, Tiles& tiles);
  bool is_zero_init(NodeId id, BufferId buffer) const;
  bool copy_tiles(NodeId id, BufferId buffer, const Tiles& tiles, TileCopy how, std::vector<int>& moved);
  bool start_tiles(const std::vector<NodeId>& parts, BufferId buffer, const Tiles& tiles, bool emits);
  std::vector<NodeId> flattened(NodeId id) const;

 private:
  bool gather_tiles(NodeId id, BufferId buffer, Tiles& tiles);
  size_t hold_tiles(const std::vector<NodeId>& parts, size_t begin, size_t end, BufferId id, const Tiles& tiles);

  Branches& branches_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
