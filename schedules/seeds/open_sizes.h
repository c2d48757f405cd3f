// Sizes of a trace become decisions, for other extents, element types and machines: what was right for one task is
// where a search begins for the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/trace.h"
#include "schedules/seeds/counterparts.h"

namespace polyweft::schedules {

/// What of a machine the sizes of a trace depend on. A trace says nothing of its own: where it was written for this
/// machine, it has this one's.
struct VectorUnit {
  int64_t vector_bytes = 64;
  int registers = 32;
  bool operator==(const VectorUnit&) const = default;
};
struct SizeChange {
  VectorUnit from, to;
  std::vector<std::string> instructions = {};  ///< tensor instructions of the second machine
};

/// The trace, in the first program's names, with its sizes as decisions for the second program; nothing where it needs
/// an instruction that the machine lacks. Values are the trace's own where extents, types and machine are the same.
///
/// - Lanes stay a constant: a full vector of the one is a full vector of the other.
/// - The innermost tile of a vectorized index stays as many vectors; offered are half and three quarters of them, too.
/// - The innermost tile of an unrolled index is at most the extent; offered are half, three quarters, and the greatest
///   part of the extent. Where the machine has fewer registers, unrolled blocks shrink in proportion.
/// - Other tiles are at most the extent; a tile that was the whole extent is it again. Offered are half and double.
/// - Digits of layouts go by the tile whose size they have; sizes of one index that are equal stay equal, also across
///   statements. The last tile and the lanes of an instruction stay.
/// - Cuts of `split` keep their distance from the nearer end of their range.
/// - Distances of prefetches may be 0, half, the same, double.
///
/// Decisions are named tile_INDEX and ahead_INDEX. Constraints are left out: they are of the first machine.
std::optional<Trace> with_open_sizes(const Trace& trace, const Counterparts& counterparts, const SizeChange& change);

}  // namespace polyweft::schedules
