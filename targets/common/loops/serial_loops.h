// Serial loops, with values in registers around them.
#pragma once

#include <functional>
#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/loops/branches.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/memory/strided_lanes.h"
#include "targets/common/tiles/tile_products.h"
#include "targets/common/values/division.h"
#include "targets/common/values/registers.h"
#include "targets/common/values/running_values.h"

namespace polyweft::targets {

/// What a loop's iterations hold instead of its body, where they are parts of another loop or more than the body.
struct LoopBody {
  std::function<void(llvm::Value* iv)> emit;
  int64_t trips;             ///< of the whole loop; 0: those of this one
  bool is_straight = false;  ///< whatever the loop's own body is
  std::vector<RunningValue> running = {};
};

class SerialLoops : MemoryPart {
 public:
  SerialLoops(const Addresses& addresses, Registers& registers, Branches& branches, StridedLanes& strided_lanes,
              RunningValues& running_values, Division& division, TileProducts& tile_products, CodeEmitter& further)
      : MemoryPart(addresses),
        registers_(registers),
        branches_(branches),
        strided_lanes_(strided_lanes),
        running_values_(running_values),
        division_(division),
        tile_products_(tile_products),
        further_(further) {}

  void serial_loop(const Loop& loop) { serial_loop(loop, LoopBody{nullptr, 0}); }
  void serial_loop(const Loop&, const LoopBody& body);

 private:
  Registers& registers_;
  Branches& branches_;
  StridedLanes& strided_lanes_;
  RunningValues& running_values_;
  Division& division_;
  TileProducts& tile_products_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
