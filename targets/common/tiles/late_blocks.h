// Blocks of tiles in a pipeline. The unit finishes a product 52 cycles after it begins it, so that a block which stores
// its sums at its end waits for its last products, and what reads the sums waits for the stores. Here both happen among
// the products of the loop's next block: a sum leaves its tile just before the first product of the next block takes
// the tile, and some rows of the sums' reader follow each step of products. Sums that nothing reads go by way of the
// stack where there are many steps, so that their lines too leave a few a step: the second cache takes a line in four
// cycles. The loop's last block is stored and read behind the loop.
//
// Measured on products of 512 x 512 x 512: bf16 with its conversion 0.87 of the time, bytes 0.91.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/loops/branches.h"
#include "targets/common/loops/serial_loops.h"
#include "targets/common/tiles/tile_part.h"
#include "targets/common/tiles/tile_products.h"
#include "targets/common/tiles/tile_sums.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class LateBlocks : TilePart {
 public:
  LateBlocks(const TileState& tiles, const Registers& registers, Branches& branches, SerialLoops& serial_loops,
             TileProducts& tile_products, TileSums& tile_sums, CodeEmitter& further)
      : TilePart(tiles),
        registers_(registers),
        branches_(branches),
        serial_loops_(serial_loops),
        tile_products_(tile_products),
        tile_sums_(tile_sums),
        further_(further) {}

  /// True: emitted.
  bool late_loop(const Loop& loop);

 private:
  static constexpr VarId kLateRow = 0x7ffffd00;  ///< the first of some rows of a reader
  struct LateBlock {
    const Loop *around = nullptr, *products = nullptr, *reader = nullptr;  ///< reader: may be null
    NodeId reader_node = kNoNode;
    BufferId sums = 0;
    std::vector<BufferId> homes;  ///< buffers on the stack: of the sums, of their copies
    std::vector<NodeId> copies;
    Tiles tiles;
  };
  std::optional<LateBlock> late_block(const Loop& loop);
  bool are_products_apart(const LateBlock& block) const;
  std::multimap<int, TileRows> moves_of(const LateBlock& block);
  std::multimap<int, TileRows> moves_home(const LateBlock& block);
  void copy_rows(const TileRows& from, const TileRows& to, llvm::Value* first, int64_t count);
  void late_block_body(const LateBlock& block, llvm::Value* is_later);
  void rows_of_reader(const Loop& reader, llvm::Value* first, int64_t count);

  const Registers& registers_;
  Branches& branches_;
  SerialLoops& serial_loops_;
  TileProducts& tile_products_;
  TileSums& tile_sums_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
