// A tile unit for machines without one: what AMX instructions of compiled code do, by a handler of SIGILL.
//
// One bit of each tile instruction is changed so that it faults on every machine; it is decoded from its bytes and done
// on tiles of the thread. Written from Intel's definitions (Instruction Set Reference: LDTILECFG, TILELOADD,
// TILESTORED, TILEZERO, TILERELEASE, TDPB*, TDPBF16PS), not from our emitter. Where the chip has the unit, the code
// runs there as well, as it is, and must give the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::targets_test {

/// How often a kernel used the unit.
struct TileCounts {
  int64_t configurations = 0, releases = 0, zeros = 0, loads = 0, stores = 0, products = 0, permissions = 0;
};
/// What arch_prctl answers when the kernel asks for the tile state.
enum class TilePermission : uint8_t { given, refused };

struct TileRun {
  bool ended = false;  ///< the child exited by itself: no crash, no instruction that the emulator does not know, no
                       ///< other bits on a chip with the unit
  bool ran_on_chip = false;  ///< as well as by the emulator
  int signal = 0, code = 0;
  std::string problem;
  TileCounts counts;
  std::vector<TensorData> arguments;
};
/// Compiles for the target, calls the kernel in a child process with the emulator, and hands back what the arguments
/// hold then.
TileRun run_with_tiles(const LoopNest& nest, const Target& target, std::vector<TensorData> arguments,
                       TilePermission permission = TilePermission::given);
/// AMX for bytes and bf16 beside the highest level of x86-64 that this CPU runs: chips that have the unit have
/// x86-64-v4, but the emulator runs anywhere.
Target with_tiles();

}  // namespace polyweft::targets_test
