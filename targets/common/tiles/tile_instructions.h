// The tile unit of a function: where it is on, and whether it was used.
#pragma once

#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/function_code.h"
#include "targets/common/tile_unit.h"

namespace polyweft::targets {

class TileInstructions : FunctionPart {
 public:
  explicit TileInstructions(FunctionCode& code) : FunctionPart(code) { scan_for_tiles(); }

  bool is_on() const { return is_on_; }
  /// Is it to be switched on for this node?
  bool begin_at(NodeId id) const { return !is_on_ && !nodes_.empty() && nodes_[id]; }
  /// In this function or in a task of it.
  bool uses_tiles() const { return uses_tiles_; }
  void note_use(bool uses = true) { uses_tiles_ |= uses; }
  const TileUnit& unit() const { return *hooks_.instructions.tile_unit(); }
  /// Emits the node with the unit on, where it uses it.
  void with_tiles(NodeId id, CodeEmitter& further);
  void release_tiles();
  void load_tile(int number, TileRows from, TileUse use = TileUse::again);
  void store_tile(int number, TileRows to);

 private:
  void scan_for_tiles();
  bool scan_for_tiles(NodeId id, bool& has_parallel);

  std::vector<bool> nodes_;  ///< with tile instructions and no parallel loop inside; empty: there are none
  bool is_on_ = false, uses_tiles_ = false;
  std::vector<llvm::Instruction*> settings_;  ///< emitted since tiles were switched on
};

}  // namespace polyweft::targets
