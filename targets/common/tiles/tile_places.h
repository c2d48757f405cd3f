// Operands of instructions on tiles as rows in memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/nests/instruction.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

struct TilePlace {
  BufferId buffer = 0;
  Affine first;                  ///< element offset of its first cell
  int64_t distance = 0;          ///< of rows, in bytes
  std::vector<int64_t> trips;    ///< of the operand's axes, rows first: less than the instruction's at edges
  std::vector<int64_t> extents;  ///< the instruction's
  std::vector<int64_t> strides;  ///< in elements; of no meaning for one iteration
  bool is_staged = false;  ///< by way of a copy on the stack: a whole tile there would hold or read what it must not
  bool rows_are_reduced = false;  ///< rows that are missing must be zero
  int parts = 1;                  ///< tiles whose sum it is
  std::string key(int part = 0) const;
};
using TilePlan = std::vector<TilePlace>;  ///< result, then operands

class TilePlaces : MemoryPart {
 public:
  TilePlaces(const Addresses& addresses, const Registers& registers) : MemoryPart(addresses), registers_(registers) {}

  struct Strided {
    Affine first;
    std::vector<int64_t> strides;  ///< elements; 0 for axes of one iteration
  };
  std::optional<Strided> strided(const Access& access, const std::vector<const Loop*>& loops);
  std::optional<TilePlan> tile_plan(const ir::TensorMatch& match);

 private:
  static constexpr VarId kAxis = 0x7ffffe00;  ///< stands for the loop of an axis while places are computed
  std::optional<TilePlace> tile_place(const ir::TensorMatch& match, size_t number);

  const Registers& registers_;
};

}  // namespace polyweft::targets
