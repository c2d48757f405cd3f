#include "support/abilities.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

namespace polyweft {
namespace {

constexpr Ability kAbilities[] = {
    {"code.async_copies", "copies into memory of a block on their way while its threads go on"},
    {"code.carried_columns", "vectors that an earlier iteration loaded or stored stay in registers"},
    {"code.dense_dots", "integer dot products along two dense rows"},
    {"code.integer_sums", "sums of integers times small constants by few additions"},
    {"code.interleaved_chains", "operations of independent chains interleaved"},
    {"code.interleaved_copies", "copies of several rows into one by shuffles"},
    {"code.lane_funnels", "neighbours inside words by one shift"},
    {"code.late_loops", "blocks of products whose first values come late"},
    {"code.pieces", "loops are cut where their conditions change"},
    {"code.products_under_way", "products of shared memory run on while a block copies and begins the next ones"},
    {"code.running_extremes", "running minima and maxima as integers in the order of numbers"},
    {"code.scalar_replacement", "values of earlier iterations and elements that a loop does not move in registers"},
    {"code.scans", "running values in registers, as vectors"},
    {"code.transposing_copies", "transposing copies by blocks in registers"},
    {"code.transposing_groups", "lanes of a batch from rows, transposed in registers"},
    {"code.unroll_short_loops", "short loops unrolled: several iterations interleaved"},
    {"model.gather_cycles", "gathers and scatters cost what the target says for a lane"},
    {"mutation.accumulator", "partial results in registers or on the stack"},
    {"mutation.changed_copy", "place, memory or layout of a copy"},
    {"mutation.changed_place", "loop, memory or layout of a statement that runs inside another"},
    {"mutation.compiler", "lanes and registers are left to the compiler's vectorizers, with gathers or without"},
    {"mutation.copy", "an operand is copied at a loop"},
    {"mutation.distribute", "the inner loops of a band are no longer shared"},
    {"mutation.exchanged_loops", "two loops of a permute step"},
    {"mutation.fuse", "a statement runs at the end of a loop of one before it"},
    {"mutation.inline", "a statement is computed where it is read"},
    {"mutation.lanes", "lanes along an index, in tiles of some vectors or not"},
    {"mutation.left_out", "a step, or one of its levels or loops, is left out"},
    {"mutation.moved_loop", "a loop moves to another place"},
    {"mutation.parts", "a reduction in parts"},
    {"mutation.place", "a statement runs inside a loop of a reader"},
    {"mutation.prefetch", "software prefetches of what a statement reads"},
    {"mutation.sizes", "a size that the trace names, with those that are the same"},
    {"mutation.skew", "a member of a band grows with one outside of it"},
    {"mutation.storage", "a tensor's cells in another order"},
    {"mutation.stream", "non-temporal stores"},
    {"mutation.tile", "one more tile loop, at any place"},
    {"mutation.unroll", "a loop is unrolled"},
    {"normalize.accumulators", "recurrences that take in one term a step are reductions"},
    {"normalize.collapsed_sums", "reductions lose indices that their terms do not have"},
    {"normalize.combiner_stages", "components of combiners as reductions of their own"},
    {"normalize.common_values", "what several equations compute is made once"},
    {"normalize.dense_strides", "reductions over every n-th value run densely"},
    {"normalize.factored_sums", "separable windows: sums over rows of sums over columns"},
    {"normalize.needed_elements", "elements that no output needs are left out"},
    {"normalize.padded_reads", "guarded reads inside sums become reads of a padded copy"},
    {"normalize.parted_sums", "reductions are parted where their terms allow it"},
    {"normalize.repeated_values", "what a sum computes again and again is made once"},
    {"normalize.running_values", "reductions over growing ranges as recurrences"},
    {"normalize.separated_sums", "sums of sums are separated"},
    {"normalize.shared_values", "values that many elements share are made once"},
    {"rule.autovectorize", "the base order through LLVM's vectorizers"},
    {"rule.batches", "a batch of small problems as lanes"},
    {"rule.blocks", "each stage a nest of its own, in register blocks or rows of vectors"},
    {"rule.blocks_of_rows", "register blocks of rows and columns, in searches"},
    {"rule.borders", "borders without conditions"},
    {"rule.chains", "chains of stages"},
    {"rule.diagonals", "diagonals of recurrences as lanes: whole, in strips, in blocks of time"},
    {"rule.diamonds", "diamonds of time and place"},
    {"rule.epilogue", "elementwise readers at a product's block"},
    {"rule.free_members", "free members of bands as lanes, or unrolled and jammed"},
    {"rule.grid", "statements as blocks of threads"},
    {"rule.grid_bands", "recurrences on grids: loops that carry nothing as blocks and threads"},
    {"rule.grid_products", "products by the lanes of a warp together"},
    {"rule.grid_rows", "statements over the same rows in one kernel"},
    {"rule.grid_tiles", "tiles of blocks and threads, rows by the threads of a block"},
    {"rule.groups_of_rows", "strips of rows that share operands, in searches"},
    {"rule.jams", "several chains interleaved for bands without rows"},
    {"rule.more_blocks", "deep blocks and readers at their ends, in searches"},
    {"rule.more_streams", "non-temporal stores whatever the caches hold, in searches"},
    {"rule.more_taps", "orders of loops for stencils across channels, in searches"},
    {"rule.one_pass", "several tensors in one pass over memory"},
    {"rule.online", "maxima and sums of exponentials in one pass"},
    {"rule.packing", "operands are packed"},
    {"rule.panels", "panels of factorizations"},
    {"rule.panels_by_rows", "panels whose blocks go along rows first, in searches"},
    {"rule.resolutions", "pyramids of images in one band"},
    {"rule.right_looking", "right-looking updates"},
    {"rule.rows_in_lanes", "strips of rows with lanes across rows, in searches"},
    {"rule.rows_of_bands", "rows of vectors in bands as they stand"},
    {"rule.streams", "non-temporal stores"},
    {"rule.strips", "producers in strips of rows at their reader"},
    {"rule.tile_units", "blocks of tiles where the machine has an instruction for them"},
    {"rule.time_tiles", "parallelograms of time and place"},
    {"rule.tuples_in_blocks", "tuples folded block by block in strips of rows"},
    {"rule.unit_tiles", "products by a unit beside the CPU, in blocks of its tiles"},
    {"rule.values_in_lanes", "a sum's values as lanes"},
    {"rule.windows", "sliding windows in rings of rows"},
    {"rule.without_gathers", "the base order through LLVM's vectorizers, without gathers and scatters"},
    {"sketch.parts_of_sums", "parts of long sums by blocks of a device"},
};

std::set<std::string, std::less<>> left_out() {
  std::set<std::string, std::less<>> out;
  const char* said = std::getenv("PW_WITHOUT");
  std::string_view rest = said ? said : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) continue;
    if (std::none_of(std::begin(kAbilities), std::end(kAbilities), [&](const Ability& a) { return a.name == name; })) {
      std::fprintf(stderr, "PW_WITHOUT: there is no '%.*s' to leave out\n", static_cast<int>(name.size()), name.data());
      std::_Exit(2);
    }
    out.emplace(name);
  }
  return out;
}

}  // namespace

std::span<const Ability> abilities() {
  return kAbilities;
}

bool is_on(std::string_view ability) {
  static const std::set<std::string, std::less<>> without = left_out();
  return without.empty() || !without.contains(ability);
}

}  // namespace polyweft
