// Products on tile units as the tests state them: an instruction's program and trace, and what is asked of every nest
// and of its code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"
#include "polyweft/trace.h"
#include "targets/tile_unit.h"

namespace polyweft::tile_test {

std::string replaced(std::string text, const std::string& from, const std::string& to);

/// An instruction's operands, and how many values of k stand together.
struct Unit {
  std::string name, a, b, sum;
  int64_t group = 4;
};
inline const Unit kUnits[] = {{"tdpbusd", "u8", "i8", "i32", 4}, {"tdpbf16ps", "bf16", "bf16", "f32", 2}};

struct Sizes {
  int64_t m = 1, n = 1, k = 1;
};
Program product(const Unit& unit, Sizes sizes);

/// rows x columns tiles of sums.
struct Block {
  int rows = 2, columns = 2;
  std::string scope = "tile";
  bool packs_a = false;
  std::string parallel;  ///< a loop
};
Trace schedule(const Unit& unit, const Block& block);

Program bound(const Program& source);
Result<LoopNest> scheduled(const Program& source, const Trace& trace, NumericsClass cls = NumericsClass::reassoc);

/// The interpreter's outputs are the evaluator's, tag mode finds nothing, and the checker proves the nest.
void expect_right(const Program& source, const LoopNest& nest);

int64_t small_integer(uint64_t n, ElementType type);
/// Arguments of the nest; bytes of all values, floats small whole numbers.
std::vector<TensorData> arguments_of(const LoopNest& nest);
/// The compiled nest through the emulator and the interpreter agree in every bit.
targets_test::TileRun expect_same_bits(const LoopNest& nest, const std::string& what);

}  // namespace polyweft::tile_test
