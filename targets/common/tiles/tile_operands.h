// Operands of products on tiles: loaded once for all that use them between two loops.
#pragma once

#include <utility>
#include <vector>

#include "targets/common/memory/memory_part.h"
#include "targets/common/tiles/tile_instructions.h"
#include "targets/common/tiles/tile_parts.h"
#include "targets/common/tiles/tile_registers.h"

namespace polyweft::targets {

class TileOperands : MemoryPart {
 public:
  TileOperands(const Addresses& addresses, TileInstructions& tile_instructions, TileRegisters& tile_registers,
               TileParts& tile_parts)
      : MemoryPart(addresses),
        tile_instructions_(tile_instructions),
        tile_registers_(tile_registers),
        tile_parts_(tile_parts),
        stages_(ir::kLiveTiles, nullptr) {}

  /// Serial loops around the sums that are in tiles; gives those before.
  size_t exchange_around(size_t around) { return std::exchange(around_, around); }
  size_t around() const { return around_; }
  /// Of the instruction at hand.
  void prefetch(const std::vector<Prefetch>* prefetch) { prefetch_ = prefetch; }
  /// The tile that holds the operand, loaded where it is not in one already.
  int tile_of(const TilePlace& place, int part, const std::vector<int>& pinned);

 private:
  bool passes_by(const TilePlace& place) const;
  void prefetch_tile(const TilePlace& place, llvm::Value* pointer);
  std::pair<llvm::Value*, int64_t> rows_of_turn(const TilePlace& place);
  llvm::Value* staged(const TilePlace& place, int number);

  TileInstructions& tile_instructions_;
  TileRegisters& tile_registers_;
  TileParts& tile_parts_;
  std::vector<llvm::Value*> stages_;  ///< of each number, made when needed
  size_t around_ = 0;
  const std::vector<Prefetch>* prefetch_ = nullptr;
};

}  // namespace polyweft::targets
