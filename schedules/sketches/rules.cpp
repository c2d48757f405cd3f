// The story of sketch generation: all rules in the order in which they are tried. docs/rules.md is made from this list.
#include <algorithm>

#include "schedules/sketches/auto_vectorized.h"
#include "schedules/sketches/batches.h"
#include "schedules/sketches/grid.h"
#include "schedules/sketches/one_pass.h"
#include "schedules/sketches/online.h"
#include "schedules/sketches/recurrences.h"
#include "schedules/sketches/resolutions.h"
#include "schedules/sketches/rule.h"
#include "schedules/sketches/stage_rules.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

template <typename Case>
bool always(const Case&) {
  return true;
}

void keep_all(SketchCase& c, std::vector<NestTemplate> sketches) {
  for (NestTemplate& sketch : sketches) c.out.push_back(std::move(sketch));
}

bool has_several_bands(const BandCase& c) {
  return c.proposals.size() > 1;
}

bool is_free_of_recurrences(const SketchCase& c) {
  return !has_recurrence(c.program) && c.isl.band_facts;
}
bool is_first_on_one_core(const SketchCase& c) {
  return is_free_of_recurrences(c) && c.out.empty() && c.machine.cores() == 1;
}
void propose_one_pass(SketchCase& c) {
  keep_all(c, one_pass_sketches(c.program, c.cls, c.machine, c.isl));
}
void propose_resolutions(SketchCase& c) {
  keep_all(c, resolution_sketches(c.program, c.cls, c.machine, c.isl));
}
bool is_free(const SketchCase& c) {
  return !has_recurrence(c.program);
}
void propose_online(SketchCase& c) {
  keep_all(c, online_sketches(c.program, c.cls, c.machine));
}
void propose_batches(SketchCase& c) {
  keep_all(c, batch_sketches(c.program, c.cls, c.machine, c.isl));
}

bool has_unit(const StageCase& c) {
  return c.machine.has_unit();
}
bool may_stream_without_strips(const StageCase& c) {
  return !c.has_strips && may_stream(c);
}

void propose_auto_vectorized(OrderCase& c) {
  keep_all(c, auto_vectorized_sketches(c.program, c.cls, c.machine, c.isl));
}

void propose_grid_bands(GridCase& c) {
  keep_all(c, grid_band_sketches(c.program, c.cls, c.machine, c.isl));
}
void propose_grid_products(GridCase& c) {
  keep_all(c, grid_product_sketches(c.program, c.cls, c.machine, c.isl));
}
void propose_grid_rows(GridCase& c) {
  keep_all(c, grid_row_sketches(c.program, c.cls, c.machine, c.isl));
}
void propose_grid_tiles(GridCase& c) {
  keep_all(c, grid_tile_sketches(c.program, c.cls, c.machine, c.isl));
}
void propose_grids(GridCase& c) {
  for (NestTemplate& sketch : grid_sketches(c.program, c.cls, c.machine, c.isl))
    if (!has_trace(c.out, sketch.trace)) c.out.push_back(std::move(sketch));
}

using OnBands = RuleOn<BandCase>;
using OnProgram = RuleOn<SketchCase>;
using OnStages = RuleOn<StageCase>;
using OnOrder = RuleOn<OrderCase>;
using OnGrid = RuleOn<GridCase>;

const Rule kRules[] = {
    {"rule.panels", "a band with sums of one reduced index, which is its first member, and two other members",
     "panels of 8 to 192 values of every member, in one level or two: first values, finished values and folds as "
     "statements of their own, "
     "cells of one panel, tiles with nothing but folds in register blocks",
     OnBands{always, propose_panels}},
    {"rule.panels_by_rows", "searches alone; as rule.panels",
     "two levels of panels by the second cache and three vectors or one, register blocks along rows first, each level "
     "with sizes of its own",
     OnBands{always, propose_panels_by_rows}, true},
    {"rule.time_tiles",
     "a band of at most 16 statements whose first member is time; planes in few cells, or steps that leave the second "
     "cache",
     "parallelograms of time and place: members skewed and shifted until no distance is negative, tiles, rows unrolled "
     "and jammed",
     OnBands{always, propose_time_tiles}},
    {"rule.diamonds", "the same with two members besides time",
     "diamonds of time and place: sum and difference of time and the first place as members, tiles of a wave at once",
     OnBands{always, propose_diamonds}},
    {"rule.diagonals", "an element needs the one before it in its row and some of the row above, at slopes up to 4",
     "lanes along diagonals, whose cells are neighbours: whole diagonals; strips of 64 where diagonals leave the first "
     "cache; blocks of time where planes leave the second",
     OnBands{always, propose_diagonals}},
    {"rule.right_looking", "sums over elements that their own row has finished (parentheses)",
     "each finished element is folded into all that is beyond it in its row, lanes along the row",
     OnBands{always, propose_right_looking}},
    {"rule.rows_of_bands", "at least half of a band's points have a loop inside what carries its recurrence",
     "the band as proposed: loops that carry outside, rows of vectors inside", OnBands{always, propose_rows}},
    {"rule.jams", "several bands, one of which has no rows of vectors but a member along which nothing is carried",
     "rows of vectors where a band has them; several chains interleaved in the others",
     OnBands{has_several_bands, propose_jams}},
    {"rule.free_members", "a member along which nothing is carried (signals, rows of running sums), no sums",
     "this member as lanes in transposed cells; or a few of its values unrolled and jammed",
     OnBands{always, propose_free_members}},

    {"rule.one_pass", "no recurrence; several sums read a matrix that no near cache holds",
     "one pass over the matrix: a band of blocks of rows, each sum's part while the block is near",
     OnProgram{is_free_of_recurrences, propose_one_pass}},
    {"rule.resolutions", "no recurrence, one core, no sketch yet; rows at several speeds, larger than the second cache",
     "one band over rows of the finest image, every image in a circular buffer of rows",
     OnProgram{is_first_on_one_core, propose_resolutions}},
    {"rule.online", "class reassoc; sums of exponentials below a maximum, for rows whose terms leave the second cache",
     "these in one pass over the reduced index (step online), block by block in strips of rows",
     OnProgram{is_free, propose_online}},
    {"rule.batches", "outermost loops that all statements share, elements that are independent and apart in memory",
     "elements of the batch as lanes, each with what it makes in registers", OnProgram{always, propose_batches}},

    {"rule.tile_units", "the machine has an instruction for tiles, which fits the sum of the dominant stage",
     "blocks of tiles, rows or columns outside, operands packed or not; the elementwise reader in the block",
     OnStages{always, propose_tiles, has_full_tiles}},
    {"rule.unit_tiles", "the machine has a unit beside the CPU whose instruction is the sum of a stage",
     "blocks of sums in the unit's memory, operands in its scratchpad, copied one or two parts ahead or where they are "
     "needed; or one operand there whole for all blocks that read it",
     OnStages{has_unit, propose_unit_tiles}},
    {"rule.epilogue", "a reduction in register blocks whose only reader is elementwise",
     "the reduction's tile stays in registers until the reader has used it", OnStages{always, propose_epilogues}},
    {"rule.values_in_lanes", "elementwise values that sums with lanes along a reduced index alone read",
     "the values in the lanes of their sums; all results that share a value in one pass",
     OnStages{always, propose_values_in_lanes}},
    {"rule.chains", "a stencil across channels that one product alone reads",
     "both in one nest, by tiles of columns or by rows; streaming stores and rows prefetched where caches are too "
     "small",
     OnStages{always, propose_chains}},
    {"rule.windows", "stencils that share rows of their producers",
     "one nest a chain, row by row of its last stage; producers in circular buffers of rows",
     OnStages{always, propose_windows, has_long_chain}},
    {"rule.tuples_in_blocks",
     "an output's rows read a tuple that is folded over blocks, each made of several statements",
     "strips of some vectors of rows, in them block by block what the tuple folds; lanes across rows or along them",
     OnStages{always, propose_tuples_in_blocks}},
    {"rule.strips", "producers that can follow the leading indices of an output",
     "all of them in strips of the output's rows; with streaming stores or prefetches where caches are too small",
     OnStages{always, propose_strips}},
    {"rule.streams", "no strips; arguments larger than the second cache",
     "each stage a nest of its own, outputs by streaming stores", OnStages{may_stream_without_strips, propose_streams}},
    {"rule.blocks", "always",
     "each stage a nest of its own: register blocks, lanes of partial sums or rows of vectors; operands packed or not; "
     "loops over rows, panels or lanes outermost",
     OnStages{always, propose_blocks}},

    {"rule.more_streams", "searches alone; arguments larger than the second cache",
     "streaming stores of each output that is written once, whatever the caches hold",
     OnStages{may_stream, propose_more_streams}, true},
    {"rule.more_blocks", "searches alone; a reduction in register blocks",
     "the same blocks with more sizes and in all registers, sizes of all stages open; blocks of columns outside of "
     "rows for sums as deep as "
     "they are, the elementwise reader at the end of each tile; operands where they lie with lanes outermost",
     OnStages{always, propose_more_blocks}, true},
    {"rule.blocks_of_rows", "searches alone; a stencil across channels of images of at most 14 rows and columns",
     "register blocks of two to four rows and several columns", OnStages{always, propose_blocks_of_rows}, true},
    {"rule.more_taps", "searches alone; a stencil whose lanes run across channels",
     "loops over channels outside of rows, inside them or inside columns, sizes open, with streaming stores and rows "
     "prefetched or not",
     OnStages{always, propose_more_taps}, true},
    {"rule.rows_in_lanes", "searches alone; rows of an output whose terms are summed (attention)",
     "strips of some vectors of rows, with what they need inside and stored with rows innermost: lanes run across "
     "rows, "
     "sums along them merge none; or in tiles, where the machine has an instruction for these",
     OnStages{always, propose_rows_in_lanes}, true},
    {"rule.groups_of_rows", "searches alone; single rows whose sums share operands by a quotient of an outer index",
     "strips of such a group: each operand is loaded once for all of it", OnStages{always, propose_groups_of_rows},
     true},

    {"rule.autovectorize", "always",
     "loops in the order of the text for LLVM's vectorizers; rows innermost; for several cores the outermost loops in "
     "tasks; with and without gathers",
     OnOrder{always, propose_auto_vectorized}},

    {"rule.grid_bands", "a machine that runs blocks of threads; recurrences",
     "loops that carry outside, of the host or of a thread; members inside that carry nothing as blocks and threads; "
     "where none is free a sum of members in front",
     OnGrid{always, propose_grid_bands}},
    {"rule.grid_products", "as rule.grid; the machine has an instruction by which a warp makes the statement's sums",
     "tiles of blocks, of warps and of the instruction, sums in the warp's registers; operands staged in shared memory "
     "or where they lie; elements that alone read the sums in the same kernel",
     OnGrid{always, propose_grid_products}},
    {"rule.grid_rows", "as rule.grid; statements over the rows of the last one",
     "all of them in its kernel, a row by one block whose threads lie along it: rows of values in shared memory, sums "
     "by "
     "trees",
     OnGrid{always, propose_grid_rows}},
    {"rule.grid_tiles", "as rule.grid",
     "sums that share operands along two data loops in tiles of blocks and, in registers, of threads, neighbours along "
     "x on neighbouring elements; operands where they lie, or staged in shared memory; sums of contiguous terms by the "
     "threads of a block; several elements a thread for the others",
     OnGrid{always, propose_grid_tiles}},
    {"rule.grid", "a machine that runs blocks of threads (no other rule is asked there); no recurrence",
     "each statement in a grid of its own, one element a thread, sums in registers", OnGrid{always, propose_grids}},
};

template <typename Case>
void propose_all(Case& c) {
  for (const Rule& rule : kRules) {
    const auto* on = std::get_if<RuleOn<Case>>(&rule.on);
    if (!on || rule.in_searches != c.is_for_search) continue;
    if (is_on(rule.name) && on->applies(c)) on->propose(c);
    if (on->is_enough && on->is_enough(c)) return;
  }
}

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

void propose(BandCase& found) {
  propose_all(found);
}
void propose(SketchCase& found) {
  propose_all(found);
}
void propose(StageCase& found) {
  propose_all(found);
}
void propose(OrderCase& found) {
  propose_all(found);
}

void propose(GridCase& found) {
  propose_all(found);
}

bool has_trace(const std::vector<NestTemplate>& sketches, const Trace& trace) {
  return std::any_of(sketches.begin(), sketches.end(), [&](const NestTemplate& t) { return t.trace == trace; });
}

void StageCase::add(const std::optional<Plan>& plan) {
  if (!plan) return;
  Trace trace = begun.trace;
  trace.steps.insert(trace.steps.end(), plan->steps.begin(), plan->steps.end());
  trace.decisions = plan->decisions;
  trace.constraints = plan->constraints;
  if (has_trace(out, trace)) return;
  if (auto sketch = replay_rest(begun, trace)) out.push_back(*std::move(sketch));
}

}  // namespace polyweft::schedules
