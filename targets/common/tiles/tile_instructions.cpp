#include "targets/common/tiles/tile_instructions.h"

#include <algorithm>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {

// Which nodes hold tile instructions and no parallel loop: tasks configure for themselves, and may run on this thread
// as well.
void TileInstructions::scan_for_tiles() {
  if (!hooks_.instructions.tile_unit() || !has_tiles(nest_)) return;
  nodes_.assign(nest_.nodes.size(), false);
  bool has_parallel = false;
  scan_for_tiles(nest_.root, has_parallel);
}

bool TileInstructions::scan_for_tiles(NodeId id, bool& has_parallel) {
  if (id == kNoNode) return false;
  bool has_tiles = false, parallel_inside = false;
  const Node& node = nest_.nodes[id];
  const auto look = [&](NodeId child) { has_tiles |= scan_for_tiles(child, parallel_inside); };
  if (const auto* seq = std::get_if<Seq>(&node)) std::for_each(seq->children.begin(), seq->children.end(), look);
  if (const auto* choice = std::get_if<If>(&node)) look(choice->then), look(choice->otherwise);
  if (const auto* alloc = std::get_if<Alloc>(&node)) look(alloc->body);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    look(loop->body);
    parallel_inside |= loop->mark.kind == MarkKind::parallel;
    has_tiles |= is_tile_loop(*loop);
  }
  nodes_[id] = has_tiles && !parallel_inside;
  has_parallel |= parallel_inside;
  return has_tiles;
}

void TileInstructions::with_tiles(NodeId id, CodeEmitter& further) {
  const bool used_before = uses_tiles_;
  uses_tiles_ = false;
  is_on_ = true;
  settings_ = {unit().switch_on(b_)};
  further.emit(id);
  release_tiles();
  is_on_ = false;
  if (!uses_tiles_)
    for (llvm::Instruction* setting : settings_) setting->eraseFromParent();
  settings_.clear();
  uses_tiles_ |= used_before;
}

void TileInstructions::release_tiles() {
  settings_.push_back(unit().switch_off(b_));
}

void TileInstructions::load_tile(int number, TileRows from, TileUse use) {
  uses_tiles_ = true;
  unit().load(b_, number, from, use);
}

void TileInstructions::store_tile(int number, TileRows to) {
  uses_tiles_ = true;
  unit().store(b_, number, to);
}

}  // namespace polyweft::targets
