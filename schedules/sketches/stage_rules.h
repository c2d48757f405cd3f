// What the rules for programs without recurrences propose: a plan for each stage, some of them placed in others.
#pragma once

#include "schedules/sketches/rule.h"

namespace polyweft::schedules {

/// The dominant stage in blocks of tiles.
void propose_tiles(StageCase& c);
/// Has the dominant stage whole tiles along all axes, and a sketch with them?
bool has_full_tiles(const StageCase& c);
/// Each stage whose sum an instruction of the unit beside the CPU is in blocks of its tiles.
void propose_unit_tiles(StageCase& c);
/// Every reduction with an elementwise reader of its own is computed in that reader's register tile.
void propose_epilogues(StageCase& c);
void propose_values_in_lanes(StageCase& c);
/// A stencil and the product that alone reads it, in one nest.
void propose_chains(StageCase& c);
/// Chains of stencils row by row.
void propose_windows(StageCase& c);
bool has_long_chain(const StageCase& c);
/// All producers of an output in strips of its leading indices.
void propose_strips(StageCase& c);
/// A tuple of an output's rows block by block, what it folds of a block inside.
void propose_tuples_in_blocks(StageCase& c);
/// Are arguments larger than the second-level cache, so that streaming stores may pay?
bool may_stream(const StageCase& c);
/// Each stage a nest of its own, with streaming stores of outputs.
void propose_streams(StageCase& c);
/// Each stage a nest of its own, its operands packed or not, loops over tiles in several orders.
void propose_blocks(StageCase& c);

/// Each stage a nest of its own.
Plan plain_plan(const Builder& b, Packing packing, Stores stores = Stores::cached);

// search_rules.cpp: what searches alone try, see Rule::in_searches.
void propose_more_streams(StageCase& c);
void propose_more_blocks(StageCase& c);
void propose_blocks_of_rows(StageCase& c);
void propose_more_taps(StageCase& c);
void propose_rows_in_lanes(StageCase& c);
void propose_groups_of_rows(StageCase& c);

}  // namespace polyweft::schedules
