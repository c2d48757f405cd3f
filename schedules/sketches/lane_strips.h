// Strips whose rows are lanes.
#pragma once

#include <optional>

#include "schedules/sketches/builder.h"

namespace polyweft::schedules {

/// Strips of an output's rows with the producers inside, values of a strip stored with its rows innermost: sums along
/// rows need no merge of lanes. Nothing where no row of a strip is summed.
std::optional<Plan> plan_lane_strips(const Builder& b);
/// The same with the strip's sums in blocks of tiles, where the machine has an instruction for these, and with what
/// they make and read stored tile by tile.
std::optional<Plan> plan_tile_strips(const Builder& b);
/// Strips of rows that share operands by a quotient of their index: these are loaded once for all rows of a strip.
/// Nothing where more than one row of a group is in each strip already.
std::optional<Plan> plan_grouped_strips(const Builder& b);
/// A tuple that is folded block by block, in strips of rows, with what it needs of a block inside; rows across lanes,
/// or as they lie.
std::optional<Plan> plan_blocks_of_tuple(const Builder& b, bool are_rows_lanes);

}  // namespace polyweft::schedules
