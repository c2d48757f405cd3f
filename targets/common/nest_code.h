// Emits the body of one function from a LoopNest subtree.
//
// Variables of unroll and vector loops never become LLVM values: they are substituted (a number; `start + lane`) before
// an expression is emitted, so each expression is affine in serial variables plus a lane stride. A register buffer is a
// map element -> SSA value; loops and branches around it get phis.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/nests/frequencies.h"
#include "ir/nests/instruction.h"
#include "ir/nests/shared_memory.h"
#include "ir/nests/workspace.h"
#include "ir/passes/scans.h"
#include "polyweft/loop_nest.h"
#include "targets/common/exact_leaves.h"
#include "targets/common/loops/branches.h"
#include "targets/common/nest_walk.h"
#include "targets/common/values/exact_integers.h"
#include "targets/common/values/statements.h"

namespace polyweft::targets {

class NestCode : CodeEmitter, AddressParts, MemoryPart {
 public:
  /// `bases`: address of element 0 of each buffer known so far (arguments, constants), null elsewhere.
  NestCode(const NewFunction& of, std::vector<llvm::Value*> bases);

  llvm::IRBuilder<>& builder() { return b_; }
  void emit(NodeId id) override;
  llvm::Value* expression(const Expr& e) override { return expressions_.expression(e); }
  llvm::Value* exact_index(const Expr& data) override { return exact_integers_.exact_index(data); }
  /// The kernel, a pack function or the body of a parallel loop, with the block of memory that its buffers lie in.
  void emit_region(NodeId root);
  /// Makes stores past the caches visible to whoever looks after the return.
  void fence_after(NodeId id);
  /// Binds the sizes of a symbolic nest and computes its strides, where the builder stands.
  void open_sizes(const std::vector<llvm::Value*>& values);
  /// Branches say how often they are taken. `frequencies` are of this nest and must outlive this.
  void expect(const ir::Frequencies& frequencies, int threads) { branches_.expect(frequencies, threads); }
  /// Frees and returns `code` from here; the builder continues in a block of its own.
  int64_t instructions() const;
  /// Does what was emitted use the tile unit, in this function or in a task of it?
  bool uses_tiles() const { return uses_tiles_; }

 private:
  // running values as vectors: nest_scans.cpp

  static constexpr VarId kFirstOfScan = 0x7ffffff1;
  void serial_or_scan(const Loop& loop);
  bool scan_loop(const Loop& loop);  ///< true: emitted

  // control: nest_control.cpp; loops: nest_loops.cpp; parallel ones: nest_tasks.cpp
  void on(const Seq&);
  void on(const If&);
  void on(const Alloc&);
  void on(const Compute&);
  void on(const Copy&);
  void on(const Sync&);
  void on(const Loop&);
  /// What a loop's iterations hold instead of its body, where they are parts of another loop or more than the body.
  struct LoopBody {
    std::function<void(llvm::Value* iv)> emit;
    int64_t trips;             ///< of the whole loop; 0: those of this one
    bool is_straight = false;  ///< whatever the loop's own body is
    std::vector<RunningValue> running = {};
  };
  void serial_loop(const Loop& loop) { serial_loop(loop, LoopBody{nullptr, 0}); }
  void serial_loop(const Loop&, const LoopBody& body);
  void with_streams(const Loop& loop, const std::function<void()>& code);
  void add_streamed_by(const Loop& loop, std::vector<BufferId>& out) const;
  std::vector<BufferId> streamed_arguments(NodeId id) const;
  void unroll_loop(const Loop&);
  void vector_loop(const Loop&);
  /// Lanes that a mask must tell from the others, over what lane 0 stands for.
  struct MaskedLanes {
    int64_t fixed = 0;            ///< no lane from here on is active
    std::vector<Affine> lengths;  ///< nor from the least of these on
    std::vector<Affine> late;     ///< nor below the greatest of these
  };
  MaskedLanes masked_lanes(const Loop& loop) const;
  bool does_nothing(NodeId id);  ///< but move values to where they are
  void one_lane(const Loop&, const MaskedLanes& open, const std::function<void()>& inside);
  void over_lanes(const Loop&, const std::function<void()>& inside);
  void parallel_loop(const Loop&);
  void unpack_closure(llvm::Function* task, llvm::Function* work, int64_t step);
  void emit_if_any_lane(NodeId id, std::optional<double> share);
  // the workspace: nest_heap.cpp
  llvm::Value* allocate(llvm::Value* bytes);  ///< aligned
  void free_last();
  void open_symbolic(BufferId id);
  void allocate_symbolic(BufferId id, NodeId body);
  std::vector<BufferId> open_symbolic_inside(NodeId id);
  void open_block(const ir::Block& block);
  void close_block(const ir::Block& block);
  void tell_apart(const ir::Block& block);
  void allocate_stack(BufferId id, NodeId body);
  bool touches(NodeId id, BufferId buffer) const;

  // dot products of short integers: nest_dots.cpp
  struct Dots {
    const Loop* lanes = nullptr;
    const Compute* compute = nullptr;
    std::array<const Access*, 2> reads = {};
    int64_t products = 0;  ///< that an instruction adds to a lane
  };
  std::optional<Dots> dots_of(const Loop& loop) const;
  bool dense_dots(const Loop& loop, const Affine& lo, int64_t trips);
  llvm::Value* load_dense(const Access& read, int64_t vectors);

  // copies across the order of memory: nest_transpose.cpp
  struct Transposition {
    const Loop *rows = nullptr, *columns = nullptr;  ///< the source is dense along columns, the result along rows
    const Access *src = nullptr, *dst = nullptr;
    bool non_temporal = false;
    Affine from, to;  ///< element offsets
    int64_t most_rows = 0;
  };
  std::optional<Transposition> transposition_of(const Loop& outer);
  bool transposing_copy(const Loop& outer);  ///< true: emitted
  bool transposing_groups(const Loop& outer);
  void emit_transposition(const Transposition& turn, unsigned lanes);
  void transpose_all(const Transposition& turn, unsigned lanes);
  void transpose_square(const Transposition& turn, unsigned lanes, llvm::Value* rows, llvm::Value* columns);
  void counted_loop(llvm::Value* lo, llvm::Value* hi, int64_t step, const std::function<void(llvm::Value*)>& body);

  // expressions: nest_expressions.cpp

  // subscripts that depend on data: nest_exact.cpp

  // memory: nest_memory.cpp; vectors across two lines: nest_lines.cpp; hints: nest_prefetch.cpp; states of several
  // components: nest_combiners.cpp
  // lanes whose elements lie apart, with what lies between them: nest_groups.cpp

  // tensor instructions: nest_tensor.cpp
  void tensor_loop(const Loop&);
  bool interleaved_copy(const Loop& rows, const Affine& lo, int64_t count);
  std::optional<Affine> rows_apart(const Access& access, VarId row, const Affine& lo, int64_t count,
                                   std::optional<int64_t> distance);
  llvm::Value* load_bits(const Access& access, llvm::Type* element);
  bool call_instruction(const ir::TensorMatch& match, const Loop& reduced);
  llvm::Value* operand(const ir::TensorMatch& match, size_t number,
                       const Loop& reduced);  ///< null: it lies in memory in another way
  llvm::Type* register_type_of(const ir::Instruction::Operand& operand);

  // small matrices in vector registers: nest_matrix.cpp
  bool multiply_matrices(const ir::TensorMatch& match);
  std::optional<std::vector<Affine>> matrix_rows(const ir::TensorMatch& match, const ir::Instruction::Operand& operand,
                                                 const Access& access);
  static std::vector<Affine> merged_rows(std::vector<Affine> rows, int64_t columns);
  llvm::Value* load_matrix(const ir::Instruction::Operand& operand, BufferId buffer, const std::vector<Affine>& rows);
  void store_matrix(llvm::Value* value, BufferId buffer, const std::vector<Affine>& rows);

  // tile units: nest_tiles.cpp; sums that stay in tiles: nest_tile_sums.cpp; operands in parts: nest_tile_parts.cpp
  static constexpr VarId kAxis = 0x7ffffe00;  ///< stands for the loop of an axis while places are computed
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
  struct Strided {
    Affine first;
    std::vector<int64_t> strides;  ///< elements; 0 for axes of one iteration
  };
  void scan_for_tiles();
  bool scan_for_tiles(NodeId id, bool& has_parallel);
  void with_tiles(NodeId id);
  void release_tiles();
  void tile_loop(const Loop& loop, const ir::TensorMatch& match);
  std::optional<Strided> strided(const Access& access, const std::vector<const Loop*>& loops);
  std::optional<TilePlace> tile_place(const ir::TensorMatch& match, size_t number);
  std::optional<TilePlan> tile_plan(const ir::TensorMatch& match);
  using Tiles = std::map<Registers::Key, std::pair<int, TilePlace>>;  ///< accumulators: number and place in memory
  bool gather_tiles(NodeId id, BufferId buffer, Tiles& tiles);
  bool gather_tiles_of_loop(const Loop& loop, BufferId buffer, Tiles& tiles);
  bool is_zero_init(NodeId id, BufferId buffer) const;
  struct TileCopy {
    bool is_load = false, emits = false;
    std::multimap<int, TileRows>* into = nullptr;  ///< where to note the moves, by tile
  };
  bool copy_tiles(NodeId id, BufferId buffer, const Tiles& tiles, TileCopy how, std::vector<int>& moved);
  bool start_tiles(const std::vector<NodeId>& parts, BufferId buffer, const Tiles& tiles, bool emits);
  std::vector<NodeId> flattened(NodeId id) const;
  void allocate_tiles(BufferId id, NodeId body);
  size_t hold_tiles(const std::vector<NodeId>& parts, size_t begin, size_t end, BufferId id, const Tiles& tiles);
  int tile_of(const TilePlace& place, int part, const std::vector<int>& pinned);
  void prefetch_tile(const TilePlace& place, llvm::Value* pointer);
  std::pair<llvm::Value*, int64_t> rows_of_turn(const TilePlace& place);
  llvm::Value* in_parts(const TilePlace& place);
  void cut_in_parts(const TilePlace& place, llvm::Value* first, llvm::Value* stage, int64_t begin, int64_t end);
  void cut_ahead(int64_t turns);
  int64_t tile_products_of(NodeId id) const;
  void keep_stores_awake(const Loop& loop, llvm::Value* iv, int64_t products);
  bool passes_by(const TilePlace& place) const;
  int free_tile(const std::vector<int>& pinned);
  llvm::Value* staged(const TilePlace& place, int number);
  void load_tile(int number, TileRows from, TileUse use = TileUse::again);
  void store_tile(int number, TileRows to);

  // blocks of tiles in a pipeline: nest_late.cpp
  static constexpr VarId kLateRow = 0x7ffffd00;  ///< the first of some rows of a reader
  struct LateBlock {
    const Loop *around = nullptr, *products = nullptr, *reader = nullptr;  ///< reader: may be null
    NodeId reader_node = kNoNode;
    BufferId sums = 0;
    std::vector<BufferId> homes;  ///< buffers on the stack: of the sums, of their copies
    std::vector<NodeId> copies;
    Tiles tiles;
  };
  struct Late {
    llvm::Value* is_later = nullptr;  ///< i1: there is a block before
    std::multimap<int, TileRows> moves;
    std::set<int> waiting;  ///< tiles that still hold sums of the block before
  };
  std::optional<LateBlock> late_block(const Loop& loop);
  bool are_products_apart(const LateBlock& block) const;
  std::multimap<int, TileRows> moves_of(const LateBlock& block);
  std::multimap<int, TileRows> moves_home(const LateBlock& block);
  void copy_rows(const TileRows& from, const TileRows& to, llvm::Value* first, int64_t count);
  void make_room(int number);
  void late_block_body(const LateBlock& block, llvm::Value* is_later);
  void rows_of_reader(const Loop& reader, llvm::Value* first, int64_t count);
  bool late_loop(const Loop& loop);

  int unrolled_ = 0;                // loops around that are written out
  std::vector<int8_t> idle_;        // by node, once known: does it do nothing?
  std::vector<llvm::Value*> heap_;  // live heap blocks of this function, to free on failure
  std::vector<bool> tile_nodes_;    // nodes with tile instructions and no parallel loop inside; empty: there are none
  bool tiles_on_ = false, uses_tiles_ = false;
  std::vector<llvm::Instruction*> tile_settings_;  // emitted since tiles were switched on
  Tiles sums_;                                     // accumulators that are in tiles now
  size_t around_tiles_ = 0;                        // of them: those around the sums that are in tiles
  std::map<std::string, int> tile_numbers_;        // of operands; valid where loads_ has the key
  std::vector<int> tile_order_;                    // numbers, least recently used first
  std::vector<llvm::Value*> tile_stages_;          // of each number, made when needed
  std::vector<llvm::Value*> part_stages_;          // of operands in parts
  struct Uncut {
    TilePlace place;
    llvm::Value *first = nullptr, *stage = nullptr;
    int64_t row = 0;
  };
  llvm::Value* unread_ = nullptr;  // a line on the stack that tiles are stored to and nobody reads
  int64_t tile_products_ = 0;      // emitted so far
  int64_t products_to_come_ = 0;   // in the straight block of tiles at hand, where that is known
  const std::vector<Prefetch>* tile_prefetch_ = nullptr;  // of the instruction at hand
  std::vector<Uncut> uncut_;                              // operands of the next iteration
  Late* late_ = nullptr;             // in the first products of a block: what the block before left
  Streams* tile_streams_ = nullptr;  // of the loop around, where it has a block of tiles and nothing else inside

  Registers registers_;
  Accesses accesses_;
  Prefetches prefetches_;
  StridedLanes strided_lanes_;
  AlignedPairs aligned_pairs_;
  NeighbourLoads neighbour_loads_;
  Memory memory_;
  Branches branches_;
  Division division_;
  RunningValues running_values_;
  ExactIntegers exact_integers_;
  Expressions expressions_;
  Combiners combiners_;
  Statements statements_;
};

}  // namespace polyweft::targets
