// Tile units (TileUnit): eight registers of 16 rows of 64 bytes, switched on once in a function.
//
// Registers are numbered here and not by LLVM: sums take the first numbers and stay in them over the loops that only
// add to them (tile_sums.h), operands share the others and are loaded once for all that use them between two
// loops. A sum's home in memory is a stack buffer, which all other code sees. Tiles at edges are whole tiles: what lies
// beyond is in cells that nobody reads, or is made zero where it would be added up.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/common/memory/memory_part.h"
#include "targets/common/tiles/tile_places.h"

namespace polyweft::targets {

using Tiles = std::map<Registers::Key, std::pair<int, TilePlace>>;  ///< accumulators: number and place in memory

class TileRegisters : MemoryPart {
 public:
  explicit TileRegisters(const Addresses& addresses);

  /// Accumulators that are in tiles now.
  const Tiles& sums() const { return sums_; }
  void hold(const Tiles& sums) { sums_.insert(sums.begin(), sums.end()); }
  void release(BufferId id) {
    std::erase_if(sums_, [&](const auto& sum) { return sum.first.first == id; });
  }
  /// Number of the tile that holds an operand; none: it is in no tile.
  std::optional<int> number_of(const std::string& key) const;
  void note(const std::string& key, int number) { numbers_[key] = number; }
  void use(int number);
  /// The tile is the first one to be taken for another operand.
  void give_up(int number);
  int last_used() const { return order_.back(); }
  /// The number that was not used for longest, of those that hold neither a sum nor a pinned operand.
  int free_tile(const std::vector<int>& pinned);

 private:
  Tiles sums_ = {};
  std::map<std::string, int> numbers_ = {};  ///< of operands; valid where the loads have the key
  std::vector<int> order_;                   ///< numbers, least recently used first
};

}  // namespace polyweft::targets
