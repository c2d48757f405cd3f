// Plans: the steps that one rule proposes for one stage. A sketch is a plan for each stage, one after the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedules/sketches/sketches.h"
#include "schedules/sketches/table.h"

namespace polyweft::schedules {

struct Plan {
  std::vector<Step> steps;
  std::vector<Decision> decisions;
  std::vector<Constraint> constraints;
  void append(const Plan& other);
};

/// Which operands are copied into the order in which the register block reads them.
enum class Packing : uint8_t { none, vectors, all };
/// open: sizes are decisions with candidates; settled: one good guess (for stages that cost little).
enum class Openness : uint8_t { open, settled };
/// Whether the stage has a nest of its own or runs inside another's loop.
enum class Site : uint8_t { root, attached };

struct PlanContext {
  const NestTemplate& t;
  const Stage& stage;
  const Machine& machine;
  StageTable table;
  Openness openness = Openness::settled;
  Site site = Site::root;
  Packing packing = Packing::none;
  /// The loop over register tiles of lanes stands outside the other data indices: a strip of the operand that moves
  /// with the lanes stays in cache for all rows (weights larger than the cache), instead of all of it for each row.
  bool lanes_outside = false;
  /// The loop over register tiles of rows stands outside the one over lanes: a panel of rows stays in the first cache,
  /// read where it lies, while the other operand's block comes from the second.
  bool rows_outside = false;
  /// An operand that is larger than the second cache is read once, panel after panel: all rows use a piece of a panel
  /// while it is near (few rows: what binds is the memory). It is copied piece by piece, or was packed ahead and is
  /// asked for before it is needed.
  bool panels_outside = false;
  /// Sums and vectors of a block may take every register: multiply-adds broadcast values from memory. For searches.
  bool uses_all_registers = false;
  /// Sums are not cut: blocks of columns are as deep as they are. For searches.
  bool is_whole_depth = false;
  /// Inside another's loop, too, a sum is cut so that a block of columns stays in the first cache.
  bool cuts_attached = false;
  /// Inside another's loop: where operands are copied that lanes find apart, whole, the lanes' dimension innermost.
  std::optional<std::string> copies_at = std::nullopt;
  /// This many values of an outer index share what is copied inside another's loop: a loop over their groups outside.
  struct Group {
    uint32_t index = 0;
    int64_t size = 1;
    bool operator==(const Group&) const = default;
  };
  std::optional<Group> group = std::nullopt;
  /// Decisions offer more sizes than first choices look at. For searches.
  bool has_more_sizes = false;
  /// Set where a constant that this stage reads is packed for a greater one: its panels are this wide.
  std::optional<Size> panel = std::nullopt;
  int64_t row_vectors = 4;  ///< of a stencil on rows of its reader, in registers at a time
  int64_t lanes() const;    ///< of the stage's element type
  std::string name(uint32_t index) const;
  std::string decision(
      const std::string& what) const;  ///< unique in the program: "nr" for a lone statement, else "nr_C"
};
PlanContext context_for(const NestTemplate& t, uint32_t stage, const Machine& machine);

/// Has the stage loops, its own or in another's nest?
bool is_alive(const NestTemplate& t, uint32_t stage);
/// Does the stage alone make one local tensor, and nothing else?
bool is_private(const NestTemplate& t, uint32_t stage);
/// The template after these steps; nothing where one is refused.
std::optional<NestTemplate> with_steps(NestTemplate t, const std::vector<Step>& steps);

/// Rule 1 to 3: a register tile u x v, cache tiles, packing. Empty steps where the stage has no such shape.
/// Rule 10: an instruction whose nest the stage's sum is, over the lanes and a tile of one reduced index.
struct TensorUse {
  std::string instruction;
  uint32_t reduced = 0;
  int64_t extent = 1;  ///< of the tile
  std::vector<TensorId>
      lane_groups;  ///< operands that need `extent` values of the reduced index side by side for each lane
  std::vector<TensorId> row_groups =
      {};  ///< operands that all lanes share and whose values of the reduced index lie apart: packed by rows
};
struct BlockShape {
  uint32_t vector = 0;
  std::optional<uint32_t> unrolled;
  std::vector<int64_t> cuts = {};  ///< of `vector`: parts in which clamps do not act
  int64_t lane_block = 0;          ///< tiles of lanes must divide it (index / lane_block is a subscript); 0: any
  bool must_pack = false;
  std::optional<TensorUse> tensor = std::nullopt;
};
/// The first instruction of the target that fits; none where packing would cost more than it saves.
std::optional<TensorUse> tensor_use(const PlanContext& c, const BlockShape& shape);
/// The layout with its digit of the reduced index in groups, innermost.
std::vector<LayoutDigit> in_groups(std::vector<LayoutDigit> layout, const PlanContext& c, const ReadRow& row,
                                   const TensorUse& use);
/// Blocks of tiles for a tile unit, see tiles.cpp. Empty steps where the target has no instruction that fits.
enum class TileOrder : uint8_t { columns_outside, columns_outside_packed, rows_outside, rows_packed };
struct TileForm {
  TileOrder order = TileOrder::rows_outside;
  const PlanContext* reader = nullptr;  ///< elementwise, of the sums alone: runs in the block
  bool in_parts = true;                 ///< of the reduced index; with a reader always, else where that is better
};
Plan plan_tiles(const PlanContext& c, const TileForm& form);
/// Which indices of a sum an instruction for tiles takes as rows, columns and depth. Its tiles of sums are square.
struct TileAxes {
  uint32_t rows = 0, columns = 0, reduced = 0;
  int64_t side = 0, depth = 0;
  TensorId by_rows = 0;  ///< the operand that moves with rows
};
std::optional<TileAxes> tile_axes(const PlanContext& c);
/// Has the sum whole tiles along all axes? Then no vectors come near what blocks of tiles do, and there is no need to
/// propose any.
bool fills_tiles(const PlanContext& c);
std::optional<BlockShape> block_shape(const PlanContext& c);
/// Lanes of the block: no more than the next power of two above the extent, so that short rows need narrow vectors
/// only.
int64_t block_lanes(const PlanContext& c, const BlockShape& shape);
Plan plan_block(const PlanContext& c, const BlockShape& shape);
/// How wide plan_block makes the tiles of lanes: a constant or the name of the decision.
Size lane_tile(const PlanContext& c, const BlockShape& shape);
/// A stencil's taps, where the stage runs on rows of its reader: all of them unrolled around a vector of the row.
bool is_row_stencil(const PlanContext& c);
Plan plan_row_stencil(const PlanContext& c);
/// Lanes across channels, neighbours that read the same vectors: all taps and some columns unrolled (0: as many as is
/// good; else those of its reader).
bool is_tap_block(const PlanContext& c, const BlockShape& shape);
Plan plan_tap_block(const PlanContext& c, const BlockShape& shape, int64_t columns = 0);
/// The same for searches: where the loop over tiles of lanes stands, their width a decision.
enum class TapOrder : uint8_t { outside_rows, inside_rows, inside_columns };
Plan plan_open_taps(const PlanContext& c, const BlockShape& shape, TapOrder order);
/// plan_block with a second unrolled index, some of whose values share what a block has loaded; nothing where there is
/// none. Two of them, each block of rows in a loop of its own, or a few in one loop.
enum class BlockRows : uint8_t { two_apart, open };
std::optional<Plan> plan_block_of_rows(const PlanContext& c, const BlockShape& shape, BlockRows rows);
/// plan_block, and the elementwise reader at the end of each of its tiles.
Plan plan_block_with_reader(const PlanContext& c, const PlanContext& reader, const BlockShape& shape);
/// Begins of the parts in which the conditions on the index are constants, in tiles of `tile` values; empty where there
/// are too many.
std::vector<int64_t> cuts_at_borders(const PlanContext& c, uint32_t index, int64_t tile);
/// A stencil of taps that a product reads point by point, in one nest with it: a tile of columns or a row at a time.
bool is_chain(const PlanContext& producer, const PlanContext& host);
/// streams: streaming stores of the product's output. prefetch_rows: that many rows of what the stencil reads are
/// prefetched; 0: none.
struct ChainForm {
  bool by_rows = false, streams = false;
  int64_t prefetch_rows = 0;
};
Plan plan_chain(const PlanContext& producer, const PlanContext& host, const ChainForm& form);
/// What a block of so many rows and columns (decisions) keeps in vector registers: its sums and a row of vectors. Of
/// `registers` one has what is broadcast, and one stays free: where all are taken, LLVM passes the sums on from
/// register to register and one through memory (4 x 3 vectors on 16 registers: 0.5 of the speed of 6 x 2).
Constraint block_in_registers(const std::string& rows, const std::string& columns, int64_t lanes, int64_t registers);
/// The dimensions in order but this one, which is innermost.
std::vector<LayoutDigit> layout_with_last(size_t rank, size_t last);
/// [d / f, the other dimensions, d % f] for dimension `dim` of what the row reads.
std::vector<LayoutDigit> panel_layout(const ReadRow& row, uint32_t dim, const Size& factor);
/// The same as a register tile of `reader`, inside its loop `place`.
Plan plan_stencil_in_registers(const PlanContext& c, const std::string& reader, const std::string& place);
/// A reduction along unit stride: lanes are partial results.
std::optional<uint32_t> lane_index(const PlanContext& c);
Plan plan_lanes(const PlanContext& c, uint32_t index);
/// Sums with lanes along the outputs, several vectors at a time and nothing else in registers: dense along the index of
/// unit stride. Nothing where they are not.
std::optional<Plan> plan_columns(const PlanContext& c);
/// The state has several components (argmax with its value, combiners).
Plan plan_states(const PlanContext& c);
/// Elementwise: vectors along the unit-stride index.
Plan plan_pure(const PlanContext& c);
/// Elementwise, where lanes would gather by quotients and remainders of the row's index: in 2 to 4 classes of residues,
/// each dense, fused at tiles of the row. Nothing where there are no such classes.
std::optional<Plan> plan_interleaved(const PlanContext& c);
/// The rule that fits.
Plan plan_stage(const PlanContext& c);
/// Rule 4: the reduction's tile stays in registers until the elementwise reader has used it.
Plan plan_epilogue(const PlanContext& reduction, const PlanContext& reader, const BlockShape& shape);
/// Rule 12: chains of stencils in one nest each, row by row of their last stage, with producers in rings of rows.
/// Nothing where no rows are shared.
std::optional<Plan> plan_windows(const NestTemplate& t, const Machine& machine, bool streams);
/// So many stages that to rank other sketches, or many sizes of this one, takes longer than they are worth.
bool is_long_chain(const NestTemplate& t);
/// Can the epilogue rule apply to these two?
bool is_epilogue_of(const NestTemplate& t, uint32_t reduction, uint32_t reader);
/// Does the reader use each sum once, where it is made? As above, and both may have the same conditions on their
/// indices.
bool reads_in_place(const NestTemplate& t, uint32_t reduction, uint32_t reader);

/// The sketch with the loops of each nest of its own shared out among the cores, in equal parts of one data index;
/// nests of little work stay as they are. Nothing where such a step is refused.
std::optional<NestTemplate> in_parts(const NestTemplate& sketch, const Machine& machine);
/// So little to do that one thread may be done before others have begun.
bool may_not_pay(const NestTemplate& base, const Machine& machine);

double bytes_of(const NestTemplate& t, TensorId tensor);
/// Instances of a stage, its conditions left aside.
double points_of(const Stage& stage);
/// A size with candidates (open) or the guess (settled), clipped and without duplicates.
Size add_size(Plan& plan, const PlanContext& c, const std::string& what, int64_t guess,
              std::vector<int64_t> candidates);
/// Candidates of a cache tile: the extent in 1, 2, 3, .. equal parts near the wanted sizes.
std::vector<int64_t> equal_parts(int64_t extent, const std::vector<int64_t>& wanted, int64_t unit);
/// All loops of a stage after `tile`, by name: `outer` indices, then the tile loops in order, then point loops.
std::vector<std::string> loop_order(const PlanContext& c, const std::vector<uint32_t>& outer,
                                    const std::vector<TileStep::Level>& levels, const std::vector<uint32_t>& points);
/// The same with `outer` after the first `before` tile loops.
std::vector<std::string> loop_order(const PlanContext& c, size_t before, const std::vector<uint32_t>& outer,
                                    const std::vector<TileStep::Level>& levels, const std::vector<uint32_t>& points);

}  // namespace polyweft::schedules
