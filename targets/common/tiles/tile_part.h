// What the parts of code generation know of tiles: the unit, places of operands, and what is in which tile.
#pragma once

#include "targets/common/tiles/tile_operands.h"

namespace polyweft::targets {

/// Of one function.
struct TileState {
  Addresses addresses;
  TileInstructions& instructions;
  TilePlaces& places;
  TileRegisters& registers;
  TileParts& parts;
  TileOperands& operands;
};

class TilePart : protected MemoryPart {
 protected:
  explicit TilePart(const TileState& tiles)
      : MemoryPart(tiles.addresses),
        tile_instructions_(tiles.instructions),
        tile_places_(tiles.places),
        tile_registers_(tiles.registers),
        tile_parts_(tiles.parts),
        tile_operands_(tiles.operands) {}

  TileInstructions& tile_instructions_;
  TilePlaces& tile_places_;
  TileRegisters& tile_registers_;
  TileParts& tile_parts_;
  TileOperands& tile_operands_;
};

}  // namespace polyweft::targets
