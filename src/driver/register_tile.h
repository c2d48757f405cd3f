// What is said of a nest whose block of registers does not fit the target, and which block would.
#pragma once

#include <optional>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft {

/// A block of `rows` times `columns` elements.
struct RegisterTile {
  int64_t rows = 1, columns = 1;
};
/// Registers and the elements that one of them holds.
struct VectorRegisters {
  int64_t count = 16, lanes = 8;
};
/// The block with most multiply-adds a load whose sums, one row of operands and one broadcast leave a register free.
/// `most`: no larger than this.
RegisterTile fitting_tile(RegisterTile most, const VectorRegisters& registers);

/// "276 vector registers are spilled".
std::string spill_text(int spills);
/// PW0506: what does not fit, and what would.
Error spill_refusal(const LoopNest& nest, const Target& target, int spills);

}  // namespace polyweft
