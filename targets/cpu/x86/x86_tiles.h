// AMX: eight tiles, which Linux lets a process use when it asks.
#pragma once

#include "targets/common/tile_unit.h"

namespace polyweft::targets {

const TileUnit& x86_tile_unit();

}  // namespace polyweft::targets
