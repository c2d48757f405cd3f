// NestTemplate: a schedule whose sizes are still open; plain values, no isl. Search and cost models see only this and
// `instantiate`.
//
// Memory model. A template owns the bound, normalized program, the numeric hulls of its index ranges, and one Stage per
// equation: the loops around it, outermost first, and where it runs (a nest of its own, or inside a loop of another
// stage). Every legality question was answered when the template was made (schedules/), for all sizes of the decisions;
// instantiate() is arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"
#include "polyweft/trace.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// A loop of a stage. Its variable counts from the start of the enclosing loop of the same index.
struct TemplateLoop {
  /// What an iteration does of its index: one value; those of a tile, in steps of one; a lane of a vector; a part of a
  /// reduction, which has an accumulator of its own; an equal part of the index, for a thread.
  enum class Kind : uint8_t { point, tile, lanes, reduction_part, thread_part } kind = Kind::point;
  uint32_t index = 0;              ///< number of the equation's index
  Size step;                       ///< distance between iterations; 1 for point loops and lanes
  Mark mark;                       ///< serial, parallel, unroll; vector: `lanes` says how many
  Size lanes;                      ///< of a vector loop; of a loop over parts their number
  std::string name;                ///< in traces and nests: "i", "i.1", "i.v", "i.p"
  std::vector<int64_t> cuts = {};  ///< values of the index at which a new loop begins; serial, outermost over its index
  uint32_t wave =
      0;  ///< the outermost of so many tile loops that a wavefront runs over: it counts the sum of their tiles' numbers
  Size slots = {1, ""};  ///< of each copy inside this loop, where it is pipelined
  bool operator==(const TemplateLoop&) const = default;
};
struct LayoutPart {
  uint32_t dim = 0;
  LayoutDigit::Part part = LayoutDigit::Part::whole;
  Size factor;
  bool operator==(const LayoutPart&) const = default;
};
/// A private copy of what a stage reads of a tensor inside loops[depth - 1] (depth 0: outside all loops).
struct Promotion {
  TensorId tensor = 0;
  uint32_t depth = 0;
  Scope scope = Scope::heap;
  std::vector<LayoutPart> layout;
  uint32_t vectors = 1;  ///< PromoteStep::vectors
  bool operator==(const Promotion&) const = default;
};
struct Accumulator {
  uint32_t depth = 0;
  Scope scope = Scope::reg;
  bool operator==(const Accumulator&) const = default;
};
/// Reads of a tensor ask the caches for what they read `by` iterations of an index later.
struct Ahead {
  TensorId tensor = 0;
  uint32_t index = 0;
  Size by;
  bool operator==(const Ahead&) const = default;
};
/// A buffer whose contents follow the host's loop: in each iteration the window of what is read moves up along one
/// dimension of the tensor.
struct Slide {
  uint32_t index = 0;  ///< of the host: the loop is over it
  uint32_t dim = 0;    ///< of the tensor
  bool is_whole = false;
  Size multiple = {
      1, ""};  ///< not whole: the cells along `dim` are a ring of the window's size, rounded up to a multiple of this
  bool operator==(const Slide&) const = default;
};
/// Where a stage runs. at_root: its own nest. compute_at: inside loops[depth - 1] of `host`, before what follows there,
/// on what is read there. fused: inside loops[depth - 1] of `host`, after what is there, on the same values of `ties`
/// (own index -> host's index).
struct Placement {
  enum class Kind : uint8_t { at_root, compute_at, fused, inlined } kind = Kind::at_root;
  uint32_t host = 0;  ///< stage number
  uint32_t depth = 0;
  Scope scope = Scope::heap;
  std::vector<std::pair<uint32_t, uint32_t>> ties;
  std::vector<LayoutPart> layout = {};        ///< of compute_at's buffer
  std::optional<Slide> slide = std::nullopt;  ///< of compute_at: the buffer lives outside loops[depth - 1]
  /// Fused into a frame: where all of these are >= 0 at all points reached, these stages run, and nothing else inside.
  std::vector<Affine> alone = {};
  bool operator==(const Placement&) const = default;
};
/// Smallest and largest distance of a dependence along each index (SCHEDULES.md section 1): the table that T1..T4 read.
struct DeltaBox {
  std::string relation;         ///< "order of sum", "flow X -> Y"
  std::vector<int64_t> lo, hi;  ///< one an index of the stage
  bool operator==(const DeltaBox&) const = default;
};
/// Which instances of the program's equation a part of a split statement runs.
struct Origin {
  EquationId equation = 0;
  std::vector<Affine> instance;  ///< its indices over those of the part
  bool operator==(const Origin&) const = default;
};
/// What must stay in order among the statements of a band. Statements are numbered as in the band.
struct BandRelation {  // one for each read access: what two reads of one tensor need is kept apart
  /// flow: source defines (or folds into) what sink reads. anti: source reads or defines an element of a folded tensor,
  /// sink defines a later element of its cell. order: source and sink fold into one element, source first in the order
  /// of the text (matters where the class keeps it).
  enum class Kind : uint8_t { flow = 0, anti = 1, order = 2 } kind = Kind::flow;
  uint32_t source = 0, sink = 0;
  TensorId tensor = 0;
  std::vector<int64_t> lo, hi;  ///< exact least and greatest member(sink) - member(source)
  bool may_be_zero = false;     ///< some pair has distance 0 along every member
  bool is_lex_positive = true;  ///< every other pair has a lexicographically positive distance
  std::string witness;  ///< a pair that has not, or one of a statement with itself within a value of the outermost
                        ///< member, for people; else empty
};
/// What a statement of a band does of a reduction: all of it, the first values of its elements, or what is folded into
/// them.
enum class SumPart : uint8_t { whole = 0, first = 1, folds = 2 };
/// A statement in a band: its instances have values of the band's members.
struct BandPlace {
  EquationId equation = 0;        ///< of the program that the template began with
  std::vector<Guard> piece = {};  ///< which of its points, over the equation's indices
  std::vector<Affine> members =
      {};  ///< value of each member, over the equation's indices (of first values: without reduced ones)
  SumPart part = SumPart::whole;
};
/// A statement, or a part of a sum, that a band takes in two pieces: where the value is not negative, and where it is.
struct StatementCut {
  EquationId equation = 0;
  SumPart part = SumPart::whole;
  Affine where = {};  ///< over the equation's indices
};
/// A read of an equation that has cells of its own: tensor `name` over those of the equation's indices that the read's
/// subscripts move with, x, and an equation name[x] = tensor[f(x)], the program's last ones.
struct Snapshot {
  EquationId equation = 0;
  TensorId tensor = 0;
  uint32_t read = 1;  ///< among the equation's reads of the tensor, as earlier snapshots left them
  std::string name;
  bool operator==(const Snapshot&) const = default;
};
/// The outermost loops of a band are tiles in which its tensors have cells of their own: a block of the first member,
/// time, then tiles of others. What a tile needs of its neighbours it computes again. At step t of a block whose last
/// step is z a statement's range along a member begins below * (z - t) + first before the tile, and ends above * (z -
/// t) + last behind it.
struct Overlap {
  uint32_t depth = 0;  ///< so many loops; 0: nothing overlaps
  Scope scope = Scope::heap;
  std::vector<int64_t> below, above;              ///< by member
  std::vector<std::vector<int64_t>> first, last;  ///< by statement, as band.places, then by member
  /// Of a tensor that outlives blocks: which of its coordinates is time, plus what; how many steps before a block its
  /// statements read, how many steps of a block anybody reads later.
  struct Kept {
    TensorId tensor = 0;
    uint32_t dim = 0;
    int64_t plus = 0, before = 0, after = 0;
    bool operator==(const Kept&) const = default;
  };
  std::vector<Kept> kept;
};
/// Loops over common members; the statements run inside, in sequence. Stage number `frame` has the loops.
struct Band {
  uint32_t frame = 0;
  std::vector<BandPlace> places;
  std::vector<BandRelation> relations;
  Overlap overlap = {};
};
/// The elements of a tensor share cells modulo `window` along `dim`. forward: of two elements of a cell the one further
/// along lives later.
struct TensorFold {
  TensorId tensor = 0;
  uint32_t dim = 0;
  int64_t window = 1;
  bool forward = true;
  std::vector<Affine> cell = {};  ///< not empty: `dim` is a coordinate of these cells, as TensorStorage gives them; the
                                  ///< same in all folds of a tensor
  bool operator==(const TensorFold&) const = default;
};
/// Where the elements of a tensor lie: coordinates of the cell as functions of those of the element, and back.
struct TensorStorage {
  TensorId tensor = 0;
  std::vector<Affine> cell;             ///< outermost first, over kCellVar + d, coordinate d of the element
  std::vector<Affine> element;          ///< over kCellVar + k, coordinate k of the cell
  std::vector<LayoutPart> layout = {};  ///< digits of the cell's coordinates, outermost first; empty: the coordinates
  bool operator==(const TensorStorage&) const = default;
};
/// One equation and its loops.
struct Stage {
  EquationId equation = 0;
  std::optional<Origin> origin =
      std::nullopt;             ///< set: `equation` was added to the template's program by index-set splitting
  std::string name;             ///< as in traces
  uint32_t data_indices = 0;    ///< the first ones are the slots'; the rest are reduced
  std::vector<int64_t> lo, hi;  ///< hull of each index, half open
  std::vector<Affine> inside;   ///< further linear conditions e >= 0 over index variables, not implied by the hull
  std::vector<Guard> guards;    ///< what is neither: tested before each point
  std::vector<DeltaBox> relations;
  std::vector<TemplateLoop> loops;  ///< outermost first; together they visit every index
  std::vector<Promotion> promotions;
  std::vector<Ahead> ahead;
  std::optional<Accumulator> accumulator;
  Placement placement;
  bool is_reduction() const { return lo.size() > data_indices || reduces; }
  bool reduces = false;
  SumPart part = SumPart::whole;  ///< first: no folds, and no loops over reduced indices; folds: the first values are
                                  ///< written elsewhere
  bool is_frame = false;  ///< loops of a band: its equation defines nothing, what is fused into it runs in sequence in
                          ///< the innermost loop
  bool needs_band = false;  ///< part of a recurrence, and in no band yet
  std::optional<uint32_t> parted =
      {};  ///< reduced index whose loop `.p`, just outside the accumulator, runs over parts that a tree merges
};
struct NestTemplate {
  Program program;  ///< bound and normalized
  NumericsClass cls = NumericsClass::reassoc;
  std::vector<Box> boxes;     ///< of each tensor
  std::vector<Stage> stages;  ///< in an order in which nests of their own may run; inside a frame in sequence
  std::vector<Band> bands;
  std::vector<StatementCut> cuts;     ///< of statements that are in no band yet
  std::vector<OnlineMaximum> online;  ///< `program` is in this form of what the trace is for
  std::vector<Snapshot>
      snapshots;  ///< tensors and equations at the end of what the template began with; copies in the nest
  std::vector<TensorFold> folds;
  std::vector<TensorStorage> storages;
  std::vector<std::pair<TensorId, TensorId>> in_outputs;  ///< a local that lives in the cells of an output
  std::vector<std::pair<TensorId, TensorId>>
      aliases;                     ///< a tensor that stands for another in some reads, which have copies of their own
  Trace trace;                     ///< what made it; its decisions and constraints are the search space
  bool auto_vectorized = false;    ///< the nest is left to the compiler's own vectorizers (LoopNest::auto_vectorized)
  bool avoids_gathers = false;     ///< with auto_vectorized: LoopNest::avoids_gathers
  std::optional<BatchStep> batch;  ///< set: elements of the batch are lanes (ir::batch_lanes)
  bool fuses_products =
      true;  ///< classes that may round a*b+c once do so; false for a target without such an instruction
  bool fuses_halves = false;              ///< and products of f16, where the target computes in halves
  std::shared_ptr<const LoopNest> fixed;  ///< set: the program has a recurrence and this is its nest (no decisions)
};

/// The LoopNest of these values for trace.decisions, in their order. Arithmetic only, 0.05-1 ms. PW031x where the sizes
/// do not fit together (a register block that is too large, a layout that does not cover a footprint, ...): such a
/// candidate is no candidate.
Result<LoopNest> instantiate(const NestTemplate& nest_template, const std::vector<int64_t>& decisions);

}  // namespace polyweft
#pragma GCC visibility pop
