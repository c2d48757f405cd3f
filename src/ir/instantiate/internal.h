// The machinery of instantiate(): ranges of indices, bodies of nests, and the Emitter that writes LoopNest nodes.
//
// Every index of a stage has, at each place of the nest, a Range: the values origin + [0, extent), cut by limits. The
// range starts as the hull; a tile loop of step S with variable x turns (o, e) into (o + x, S) and cuts it by e - x where S does not
// divide e; a point loop leaves extent 1. Register loops (unroll, vector) need constant extents: before them, what may cut a range is
// either excluded by arithmetic, tested (`If full`), or replaced by the constant size of the last tile.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/determined.h"
#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// value - origin < e. positive: the loops around make sure that e > 0.
struct Limit {
  Affine e;
  bool positive = true;
};
struct Range {
  Affine origin;
  int64_t extent = 1;
  std::vector<Limit> upper;
  std::vector<Affine> lower;  ///< value - origin >= each (windows and conditions only)
  bool is_cut() const { return !upper.empty() || !lower.empty(); }
  bool is_point() const { return extent == 1 && !is_cut(); }
};

/// A loop with numbers for sizes.
struct SizedLoop {
  uint32_t index = 0;
  int64_t step = 1;
  MarkKind mark = MarkKind::serial;
  int64_t lanes = 0;
  bool reduced = false;
  bool lane = false;  ///< a register loop over the vectorized reduced index: its iterations have accumulators of their own
  bool is_register() const { return mark == MarkKind::unroll || mark == MarkKind::vector || mark == MarkKind::tensor; }
  std::string name = {};
  std::vector<int64_t> cuts = {};  ///< values of the index at which a new loop begins
  std::string detail = {};         ///< of a tensor loop: the instruction; `lanes` is its extent
  bool non_temporal = false;
  bool part = false;  ///< over parts of a reduction, each with accumulators of its own
  uint32_t wave = 0;  ///< the outermost of so many tile loops of a wavefront
  bool gone = false;  ///< over an index that others determine: no loop
};

/// Where the elements of a tensor live for the code below: buffer cell = element - origin. `only_stage`: promotions serve one stage.
struct View {
  BufferId buffer = 0;
  std::vector<Affine> origin;
  std::optional<uint32_t> only_stage;
  std::vector<int64_t> stride = {};  ///< elements between cells; empty: 1 in each dimension
  std::vector<Affine> cell = {};     ///< over kCellVar + d, coordinates of the element: those of the cell, before the origin is taken off; empty: the element's own
};
/// The cell of an element, origin taken off.
std::vector<Affine> cell_of(const View& view, const std::vector<Affine>& element);

/// What the innermost place of a nest does.
enum class Leaf : uint8_t { compute, init, load, store, fill };

/// One level of the tree that puts lanes together: lane x takes lane x + (count + 1) / 2.
struct MergeLevel {
  enum class Kind : uint8_t { unrolled, spill, lanes, store } kind = Kind::store;
  size_t dim = 0;
  int64_t count = 0;
};

/// An index without a loop, on its way to a value.
struct Gone {
  Determined is;
  bool is_settled = false;  ///< the conditions say its value instead of it
  bool is_point = false;    ///< its range is the value
};
/// of_indices + rest >= 0, where `rest` is over loop variables around.
struct Mixed {
  Affine of_indices, rest;
  bool is_done = false;
};
/// A tile of a frame whose tiles overlap (see Overlap), while what is inside is emitted.
struct OverlapTile {
  const Overlap* of = nullptr;
  uint32_t time = 0;
  Affine last;                ///< value of the time member at the block's last step
  std::vector<Range> ranges;  ///< of all members, before they grew
};

/// A nest being written: loops left to do, ranges reached. Copied at branches.
struct Body {
  const Stage* stage = nullptr;
  uint32_t id = 0;
  std::vector<SizedLoop> loops;
  std::vector<Range> ranges;
  std::vector<char> done;  ///< of its conditions: nothing left to test
  std::vector<Gone> gone;
  std::vector<Mixed> mixed;
  std::shared_ptr<const OverlapTile> tile;               ///< of a frame
  std::shared_ptr<const std::vector<Affine>> rewritten;  ///< the stage's conditions, without indices that are gone; null: as they are
  const std::vector<Affine>& conditions() const { return rewritten ? *rewritten : stage->inside; }
  Leaf leaf = Leaf::compute;
  bool branched = false;      ///< register limits are settled
  std::set<uint32_t> masked;  ///< indices whose limits are left to the masks of their vector loop
  bool inset_tried = false;
  bool classed = false;            ///< conditions on data indices alone were tested around the accumulator
  bool crossed = false;            ///< and some of them do not hold in the whole tile
  bool initialized = false;        ///< a reduction's first value is written: conditions on reduced indices may cut
  std::vector<View> accumulators;  ///< one a component of the state; empty: results go to the tensors
  std::vector<Affine> lanes;       ///< accumulator's dimensions after the tensor's: one a register loop over a reduced index
  size_t lane_loops = 0;           ///< leaf init: so many loops over all lanes, innermost (data loops may be parallel)
  bool last_lane_is_vector = false;
  bool merge_lanes = false;               ///< leaf store: merge the lanes first
  bool adds_to_result = false;            ///< and fold them into what the tensor holds
  std::vector<View> rows;                 ///< where the lanes of a vector are merged, one a component
  std::optional<MergeLevel> merge_level;  ///< only this one, for all elements
  std::vector<View> partials;             ///< where the results of parts stand, one more dimension than the tensors; one a component
  Affine part;                            ///< number of this part
  bool merge_parts = false;               ///< leaf store: merge the parts
  View fill_view, fill_source;            ///< leaf fill: the ranges run over the tensor's own dimensions
};

/// A box of elements, at constant distance from outer loop variables.
struct Window {
  std::vector<Affine> origin;
  std::vector<int64_t> extent;
  std::vector<int64_t> least, most;  ///< values that occur lie in [least, most]
};
/// Where the conditions of all reads never hold.
inline bool is_empty(const Window& window) {
  return std::any_of(window.extent.begin(), window.extent.end(), [](int64_t extent) { return extent <= 0; });
}

/// A sliding window under way: an iteration at value i of the host's index computes what lies from rate * i + rest on along `dim`.
struct Follower {
  uint32_t index = 0, dim = 0;
  int64_t rate = 1;
  Affine rest;
};
/// What a stage placed at a sliding loop reads and makes while the loop runs, before any of it is emitted.
struct Slider {
  uint32_t stage = 0;
  Window window;             ///< over `moving`'s variable
  std::vector<Affine> base;  ///< least element that the whole loop needs
  bool is_sliding = false;
};

struct CopyOptions {
  MarkKind outermost = MarkKind::serial;
  std::vector<Range> limits = {};  ///< one a dimension, the window cut by what is read; empty: all of it
};

class Emitter {
 public:
  Emitter(const NestTemplate& nest_template, const std::vector<int64_t>& decisions);
  Result<LoopNest> run();

 private:
  // instantiate.cpp: root, buffers, sizes
  void make_tensor_buffers();
  BufferId make_tensor_buffer(TensorId id);
  bool made_in_band(TensorId id) const;
  int64_t first_vector(const Stage& stage, uint32_t index) const;
  std::optional<int64_t> first_of_lanes(TensorId id, const Affine& cell) const;
  NodeId root();
  const Promotion* layout_ahead(TensorId tensor) const;
  void pack_const_inputs();
  Layout layout_of(const std::vector<LayoutPart>& parts, const std::vector<int64_t>& extents) const;
  Body body_of(uint32_t stage_id);
  bool is_null_reduction(const Body& body) const;
  /// Has the body's statement no element at all, some index having no value?
  bool has_no_elements(const Body& body) const;
  std::vector<SizedLoop> sized_loops(const Stage& stage) const;
  int64_t size_of(const Size& size) const;
  NodeId seq(std::vector<NodeId> children);
  NodeId add(Node node) { return nest_.add(std::move(node)); }
  VarId variable(const std::string& name, int64_t step, int64_t hi, bool is_register = false);
  void check_register_index(const Access& access);
  NodeId error(std::string code, std::string message, std::vector<std::string> notes = {});

  // range.cpp
  std::pair<int64_t, int64_t> numeric_bounds(const Affine& e) const;
  std::optional<int64_t> residue(const Affine& e, int64_t modulus) const;
  Affine without_lanes(const Affine& e) const;
  Affine without_idle_limits(const Quasi& clamped) const;
  bool never_cuts(const Limit& limit, int64_t extent) const;
  void prune(Range& range) const;
  void settle(Range& range) const;
  void drop_implied(Range& range) const;
  std::optional<Range> constant_rest(const Range& range) const;
  Range advanced(const Range& range, const Affine& by, int64_t extent) const;
  Affine corner(const Body& body, const Affine& condition, std::optional<VarId> but, bool greatest) const;
  bool mentions_reduced(const Body& body, const Affine& condition) const;
  bool others_fixed(const Body& body, const Affine& condition, VarId but) const;
  bool is_applicable(const Body& body, size_t k) const;
  void settle_gone(Body& body, size_t depth) const;
  std::vector<Guard> value_of_gone(Body& body) const;
  bool has_open_value(const Body& body) const;
  enum class Cut : uint8_t { outset, exact, exact_upper };
  Range cut(Body& body, uint32_t index, Cut how) const;

  // loops.cpp
  NodeId emit(Body body, size_t depth);
  NodeId emit_loop(Body body, size_t depth);
  NodeId emit_serial(Body body, size_t depth);
  bool is_in_band(const Body& body) const;
  NodeId emit_sides(Body body, size_t depth);
  std::vector<int64_t> begins_of_parts(const Body& body, size_t depth) const;
  NodeId emit_parts(const Body& body, size_t depth);
  NodeId emit_part(Body body, size_t depth);
  NodeId emit_wave(Body body, size_t depth);
  void bound_waves(const Body& body, std::vector<Loop>& loops, const std::vector<Affine>& tile) const;
  static std::optional<uint32_t> uneven_tiles(const Body& body, size_t depth);
  static const SizedLoop* uneven_group(const Body& body, size_t depth);
  NodeId emit_groups(Body body, size_t depth, uint32_t index, int64_t step);
  NodeId emit_unroll(Body body, size_t depth);
  NodeId emit_vector(Body body, size_t depth);
  void mark_prefetches(const Body& body, Mark& mark);
  NodeId with_fixed_conditions(Body body, size_t depth);
  std::optional<uint32_t> index_to_branch(Body& body, size_t depth) const;
  bool is_row_of_vectors(const Body& body, size_t depth, uint32_t index) const;
  NodeId emit_branch(Body body, size_t depth, uint32_t index);
  NodeId emit_serialized(Body body, size_t depth, uint32_t index);
  NodeId emit_inset(Body body, size_t depth);
  std::optional<NodeId> emit_divided(const Body& body, size_t depth, const Range& bounds);
  std::optional<Range> edge_steps(const Body& body, const SizedLoop& loop, const Range& bounds, const Affine& limit, bool begins) const;
  NodeId serial_loop(Body body, size_t depth, const Range& bounds, int64_t end);
  bool all_register_from(const Body& body, size_t depth) const;

  // hooks.cpp, accumulators.cpp
  NodeId hooks(Body body, size_t depth, size_t which);
  void line_up(const Stage& guest, View& view);
  NodeId hook_compute_at(Body body, size_t depth, size_t which, uint32_t stage_id);
  NodeId hook_promotion(Body body, size_t depth, size_t which, const Promotion& promotion);
  struct Carried {
    uint32_t guest = 0;
    const Promotion* promotion = nullptr;
    size_t depth = 0;
    Body body;  ///< of the guest, over all that the host has here
  };
  std::vector<Carried> carried_out(const Body& body, size_t depth);
  NodeId hook_parts(Body body, size_t depth, size_t which);
  NodeId hook_fused(Body body, size_t depth, size_t which, const std::vector<uint32_t>& guests);
  std::optional<size_t> private_results(uint32_t stage_id) const;
  static void mark_implied(Body& body, size_t count);
  void narrow(const Affine& e);
  NodeId hook_alone(const Body& body, size_t depth, size_t which, const std::vector<uint32_t>& guests);
  Window slot_window(const Body& body) const;
  static int64_t whole_lanes(const Body& body, uint32_t index);
  Layout lanes_innermost(const Body& body, size_t depth, const std::vector<int64_t>& extents) const;
  std::string round_to_tiles(const Body& body, size_t depth, Buffer& made) const;
  NodeId hook_accumulator(Body body, size_t depth, size_t which);
  std::optional<NodeId> hook_tile_classes(const Body& body, size_t depth, size_t which);
  std::vector<Body> tile_classes(const Body& body, size_t condition, const Affine& least, std::vector<Guard>& tests) const;
  View make_accumulator(const Body& body, size_t depth, TensorId tensor, const std::vector<int64_t>& lanes);
  NodeId within(const std::vector<View>& views, NodeId body);
  NodeId hook_init(Body body, size_t depth, size_t which);
  NodeId after_hooks(Body body, size_t depth);
  NodeId data_nest(const Body& body, size_t depth, Leaf leaf);
  /// The loops over data indices from `depth` inwards, with another leaf, and no condition that moves with a sum.
  Body without_sum(const Body& body, size_t depth, Leaf leaf) const;
  NodeId lane_nest(const Body& body, size_t depth);
  NodeId finish_lanes(const Body& body, size_t depth);
  Guard first_reduced(const Body& body) const;

  // overlap.cpp
  const Overlap* overlap_of(uint32_t stage_id) const;
  const Overlap::Kept* kept_of(TensorId id) const;
  bool is_made_in_tiles(TensorId id) const;
  int64_t window_between_blocks(TensorId id, uint32_t dim, int64_t window) const;
  void bind_to_tile(Body& body, const Body& host) const;
  NodeId hook_overlap(Body body, size_t depth, size_t which);
  Body grown(const Body& body, const Overlap& overlap);
  View make_tile_cells(const Body& body, TensorId tensor, Scope scope);
  NodeId copy_before(const Body& body, const Overlap::Kept& kept, const View& view, const View& source);
  std::vector<NodeId> copies_after(const Body& exact, const Overlap& overlap, const std::map<TensorId, View>& views);

  // slides.cpp
  bool slides_at(const Body& body, size_t depth, uint32_t stage_id) const;
  NodeId hook_slides(Body body, size_t depth, size_t which);
  std::vector<Slider> sliders_at(const Body& body, size_t depth, VarId var);
  bool follow(const Body& body, size_t depth, VarId var, Slider& slider);
  BufferId make_ring(const Slider& slider, const Range& range, int64_t step);
  int64_t iterations_before(const std::vector<Slider>& sliders, const Range& range, int64_t step);
  std::vector<char> needed_before(const std::vector<Slider>& sliders) const;
  Body body_before(const Slider& slider, Window window, VarId var, const Affine& start, std::vector<Guard>& tests);
  NodeId warm_up(const std::vector<Slider>& sliders, size_t which, const Affine& start, VarId var, const Affine& at);
  NodeId iterations(const std::vector<Slider>& sliders, const Affine& start, VarId var, int64_t count, int64_t step);
  Window only_new(const Follower& follower, Window window, const Affine& at) const;

  // windows.cpp
  std::pair<int64_t, int64_t> values_of(const Body& body, const Subscript& s, int64_t least, int64_t most) const;
  void widen(std::optional<Window>& window, const Access& access, const Body& body, TensorId tensor) const;
  Window hull_window(TensorId tensor) const;
  void join(std::optional<Window>& window, Window other, TensorId tensor) const;
  std::optional<Window> footprint(const Body& body, TensorId tensor) const;
  using KnownWindows = std::map<TensorId, std::optional<Window>>;  ///< of one body and depth
  bool reads_inside(uint32_t stage, TensorId tensor) const;
  std::optional<Window> window_at(const Body& host, size_t depth, TensorId tensor);
  std::optional<Window> window_at(const Body& host, size_t depth, TensorId tensor, KnownWindows& known);
  std::optional<Window> window_of_all(const Body& host, size_t depth, const std::vector<TensorId>& targets);
  std::optional<Window> window_of_all(const Body& host, size_t depth, const std::vector<TensorId>& targets, KnownWindows& known);
  Body body_in(uint32_t stage_id, const Window& window);
  Body body_tied(uint32_t stage_id, const Body& host);
  BufferId make_window(const Window& window, TensorId tensor, Scope scope, const std::string& suffix);
  NodeId copy_nest(const Window& window, TensorId tensor, const View& dst, const View& src, const std::vector<LayoutPart>& layout, const CopyOptions& options = {});
  std::vector<Range> read_limits(const Body& body, const Window& window, TensorId tensor) const;

  // leaf.cpp
  NodeId leaf(Body& body);
  NodeId leaf_compute(Body& body);
  NodeId leaf_init(Body& body);
  NodeId leaf_move(Body& body);
  NodeId leaf_fill(Body& body);
  NodeId leaf_merge_parts(Body& body);
  Access result_of(const Body& body, size_t component, const std::vector<Affine>& element);
  Copy move(const Access& dst, const Access& src) const;
  NodeId leaf_merge(Body& body);
  NodeId leaf_merge_level(const Body& body, const MergeLevel& level);
  std::vector<MergeLevel> merge_levels(const Body& body) const;
  NodeId spill_lanes(const Body& body, const std::vector<Affine>& element);
  View make_rows(TensorId tensor, const std::vector<Affine>& origin, const std::vector<Affine>& element, std::vector<int64_t> shape, int64_t lanes);
  NodeId merge_step(const Compute& header, const std::vector<View>& views, const std::vector<Affine>& element, std::vector<Affine> to, size_t dim, int64_t by,
                    int64_t count);
  Compute header_of(const Body& body, Write how) const;
  std::map<VarId, Affine> coordinates(const Body& body) const;
  std::vector<Affine> element_of(const Body& body, uint32_t target, const std::map<VarId, Affine>& map) const;
  Expr with_buffers(const Expr& e, uint32_t stage_id);
  std::vector<Access> destinations(const Body& body, const std::map<VarId, Affine>& map);
  const View& view_of(TensorId tensor, uint32_t stage_id);
  TensorId original(TensorId tensor) const;
  VarId index_var(uint32_t k) const { return t_.program.index_var(k); }
  uint32_t index_of(VarId var) const { return var - t_.program.index_var(0); }
  const Equation& equation_of(const Stage& stage) const { return t_.program.equations[stage.equation]; }

  const NestTemplate& t_;
  const std::vector<int64_t>& decisions_;
  LoopNest nest_;
  std::vector<std::vector<View>> views_;  ///< by tensor; the last applicable one counts
  struct VarFacts {
    int64_t step = 1, hi = 0;  ///< a multiple of step in [0, hi]
    bool is_register = false;  ///< of an unrolled or vector loop
  };
  std::vector<VarFacts> facts_;                      ///< by VarId - params
  std::vector<std::vector<uint32_t>> hosted_;        ///< by stage: stages placed in it, in order
  std::vector<Carried> carried_;                     ///< promotions of guests that stand outside loops of their hosts, under way
  std::vector<std::optional<Follower>> followers_;   ///< by stage: while its window slides
  int sliding_ = 0;                                  ///< inside so many hooks of sliding windows: windows are what subscripts say, not cut to the tensor's box
  View nowhere_;                                     ///< after an error
  std::vector<std::unique_ptr<Stage>> made_stages_;  ///< of copy nests
  bool failed_ = false;
  Error error_;
};

inline constexpr int64_t kLineBytes = 64;  ///< of the cache
bool has_long_rows(const Buffer& buffer);
/// Cells before the first element of each row put what begins `first` cells further on a cache line.
void put_on_line(Buffer& buffer, View& view, int64_t first);
/// Rows of several cache lines begin on lines, and not all at one place of the first cache.
void align_rows(Buffer& buffer);
bool reads_tensor(const Equation& equation, TensorId tensor);
Access access_to(const View& view, const std::vector<Affine>& element);
/// The reduction that is an equation's right-hand side, or null.
const Reduction* reduction_of(const Equation& equation);
/// Whether a sum of products may be folded by fma.
bool is_fused(NumericsClass cls, const Equation& equation, bool fuses_halves);

}  // namespace polyweft::ir
