// Products of tiles, and the straight blocks of them in loops.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "targets/common/loops/branches.h"
#include "targets/common/tiles/tile_part.h"

namespace polyweft::targets {

/// What the block before left in tiles.
struct LateSums {
  llvm::Value* is_later = nullptr;  ///< i1: there is a block before
  std::multimap<int, TileRows> moves;
  std::set<int> waiting;  ///< tiles that still hold sums of the block before
};

class TileProducts : TilePart {
 public:
  TileProducts(const TileState& tiles, Branches& branches) : TilePart(tiles), branches_(branches) {}

  /// Of the first products of a block; gives those before.
  LateSums* exchange_late(LateSums* late) { return std::exchange(late_, late); }
  /// The body of a loop; `streams`: the loop's, where its body is a straight block of tiles, else null.
  struct Block {
    Streams* outside = nullptr;
    int64_t products = 0;
  };
  Block begin_block(const Loop& loop, Streams* streams);
  void end_block(const Loop& loop, llvm::Value* iv, const Block& block);
  /// D += A * B on tiles. False: nothing was emitted, the sub-nest stays plain loops.
  bool tile_loop(const Loop& loop, const ir::TensorMatch& match);

 private:
  int64_t tile_products_of(NodeId id) const;
  void keep_stores_awake(const Loop& loop, llvm::Value* iv, int64_t products);
  void make_room(int number);

  Branches& branches_;
  llvm::Value* unread_ = nullptr;  ///< a line on the stack that tiles are stored to and nobody reads
  int64_t products_ = 0;           ///< emitted so far
  int64_t to_come_ = 0;            ///< in the straight block of tiles at hand, where that is known
  LateSums* late_ = nullptr;
};

}  // namespace polyweft::targets
