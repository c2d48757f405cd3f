// Commands of a unit as a description says them, a line each:
//
//   copy_in 0x7b 3 2 memory=rs1 local/16=rs2 rows=rs2<<32 bytes=rs2<<48
//
// the command, opcode, funct3 and funct7 of the instruction that issues it (type R, no result), and where each operand
// lies in its two registers of 64 bits: from a bit on, divided by a number that it is a multiple of. What commands do
// is fixed, and docs/accelerators.md says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/target.h"

namespace polyweft::targets {

struct UnitField {
  std::string operand;
  int64_t divisor = 1;
  int source = 1;  ///< 1 or 2
  int shift = 0;
  int bits = 64;  ///< up to the next operand in the register
};
struct UnitCommand {
  std::string name;
  int opcode = 0, funct3 = 0, funct7 = 0;
  std::vector<UnitField> fields;
};

/// Of a machine's description; PW0511 says what is wrong with a line, or which command is missing.
Result<std::vector<UnitCommand>> unit_commands(const Machine& machine);

/// What a program's model of the unit reads: numbers of 64 bits, little-endian. targets/unit/runtime/unit_table.h.
Result<std::vector<int64_t>> unit_table(const Machine& machine);

}  // namespace polyweft::targets
