// Operands of a tile unit in parts: a tile of f32 as three of bf16 whose sum it is, cut on the stack before the
// products that use them, or for the next iteration among the products of this one.
#pragma once

#include <utility>
#include <vector>

#include "targets/common/memory/memory_part.h"
#include "targets/common/tiles/tile_instructions.h"
#include "targets/common/tiles/tile_places.h"

namespace polyweft::targets {

class TileParts : MemoryPart {
 public:
  TileParts(const Addresses& addresses, const TileInstructions& tile_instructions)
      : MemoryPart(addresses), tile_instructions_(tile_instructions) {}

  /// Of the loop around, where it has a block of tiles and nothing else inside; else null.
  Streams* streams() const { return streams_; }
  Streams* exchange(Streams* streams) { return std::exchange(streams_, streams); }
  bool has_uncut() const { return !uncut_.empty(); }
  /// The address of the parts, one tile after the other.
  llvm::Value* in_parts(const TilePlace& place);
  /// Of operands of the next iteration: the share of one of so many turns.
  void cut_ahead(int64_t turns);

 private:
  struct Uncut {
    TilePlace place;
    llvm::Value *first = nullptr, *stage = nullptr;
    int64_t row = 0;
  };
  void cut_in_parts(const TilePlace& place, llvm::Value* first, llvm::Value* stage, int64_t begin, int64_t end);

  const TileInstructions& tile_instructions_;
  std::vector<llvm::Value*> stages_ = {};  ///< of operands in parts
  std::vector<Uncut> uncut_ = {};          ///< operands of the next iteration
  Streams* streams_ = nullptr;
};

}  // namespace polyweft::targets
