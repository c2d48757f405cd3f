// Trace: a schedule as text. A list of typed steps and a table of decisions; what people edit, databases keep and
// replay repeats.
//
// Statements are named by the tensor they define (`C`; `T.1` for an accumulator that normalization made; `A@2` for the
// second equation of A). Loops are named by the decision that sizes them (`mc`), by index and level (`i.1` is the
// outermost tile loop of i), or by the index alone for the point loop (`i`); the lanes of a vectorized loop are `j.v`.
// `root` is outside all loops. Grammar: docs/schedules.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "polyweft/loop_nest.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// A number of iterations or elements: a constant, or a named decision (then `constant` is 0).
struct Size {
  int64_t constant = 0;
  std::string decision;
  bool operator==(const Size&) const = default;
};

/// tile C [j: nc, k: kc, i: mc]: new tile loops outside the point loops, in this order. Each size is rounded up to a
/// multiple of the next smaller one of the same index when instantiated.
struct TileStep {
  struct Level {
    std::string index;
    Size size;
    bool operator==(const Level&) const = default;
  };
  std::string statement;
  std::vector<Level> levels;
  bool operator==(const TileStep&) const = default;
};
/// permute C [mc, nc, k, i, j]: the named loops take the places they occupy now, in this order.
struct PermuteStep {
  std::string statement;
  std::vector<std::string> loops;
  bool operator==(const PermuteStep&) const = default;
};
/// parallel C mc: one task an iteration of this loop. parallel C i in 2: a new loop i.p outside all others, over two
/// parts of index i that are equal to within a register tile.
struct ParallelStep {
  std::string statement, loop;
  int64_t parts = 0;  ///< set: `loop` is an index
  bool operator==(const ParallelStep&) const = default;
};
/// vectorize C j 16: lanes j.v inside; the loop over vectors is unrolled where j is tiled, else serial. Moves j to the
/// innermost place.
struct VectorizeStep {
  std::string statement, loop;
  Size lanes;
  bool operator==(const VectorizeStep&) const = default;
};
/// unroll C i, s: unroll and jam.
struct UnrollStep {
  std::string statement;
  std::vector<std::string> loops;
  bool operator==(const UnrollStep&) const = default;
};
/// split C s at 1, 2: the values of index s up to, from and between these become loops of their own, one after the
/// other. Bounds that depend on s are constants in a part of one value, and conditions that hold in a whole part are
/// gone.
struct SplitStep {
  std::string statement, loop;
  std::vector<int64_t> at;  ///< values of the index, ascending
  bool operator==(const SplitStep&) const = default;
};
/// index_set_split Y y, t mod 2: statement Y becomes the statements Y.p1, Y.p2, .., one for each class of residues of
/// these indices that has a point. In a part the index counts the values of its class, so that conditions on residues
/// are gone and quotients are sums. index_set_split Y y at 1, 13: one part for each range of data index y. Later steps
/// that name Y act on each part.
struct IndexSetSplitStep {
  std::string statement;
  std::vector<std::string> indices;
  int64_t modulus = 0;      ///< 0: ranges
  std::vector<int64_t> at;  ///< values of the one index, ascending
  bool operator==(const IndexSetSplitStep&) const = default;
};
/// One physical dimension of a layout: dimension `dim` of the tensor (`d1`, or the name of the index that subscripts
/// it), whole, divided by `factor` (upper digit) or modulo `factor` (lower digit).
struct LayoutDigit {
  enum class Part : uint8_t { whole, quotient, remainder } part = Part::whole;
  std::string dim;
  Size factor;
  bool operator==(const LayoutDigit&) const = default;
};
/// promote B in C at kc heap layout [j / nr, k, j % nr]: copies B's footprint inside loop kc of C into a buffer.
/// Without `in`: the one statement that has loop kc and reads B. `const in` tensors promoted at root are packed ahead
/// of time. promote L read 2 in S ..: only the second of S's reads of L. shared .. vectors 8: each thread copies eight
/// neighbours at once where they lie in one row.
struct PromoteStep {
  std::string tensor, statement, at;
  Scope scope = Scope::heap;
  std::vector<LayoutDigit> layout;  ///< empty: row-major over the tensor's dimensions
  uint32_t read = 0;                ///< from 1; 0: all of them
  uint32_t vectors = 1;             ///< elements that a thread copies at once, scope shared
  bool operator==(const PromoteStep&) const = default;
};
/// accumulate C at mr reg: partial results live in a private buffer inside loop mr; below it reduced loops run
/// outermost.
struct AccumulateStep {
  std::string statement, at;
  Scope scope = Scope::reg;
  bool operator==(const AccumulateStep&) const = default;
};
/// inline P: recomputed at every read.
struct InlineStep {
  std::string statement;
  bool operator==(const InlineStep&) const = default;
};
/// The buffer lives outside the loop, and an iteration computes only what the ones before have not. `slide`: a ring of
/// exactly the window's size along the dimension that moves; `slide fold 4`: of the next multiple of 4; `slide whole`:
/// no ring, all that the loop reads.
struct Sliding {
  bool is_whole = false;
  Size multiple = {1, ""};
  bool operator==(const Sliding&) const = default;
};
/// compute_at P in Y at x heap layout [d1, d0]: inside loop x of Y, what this iteration reads of P is computed into a
/// private buffer.
struct ComputeAtStep {
  std::string producer, consumer, at;
  Scope scope = Scope::heap;
  std::vector<LayoutDigit> layout = {};           ///< empty: row-major
  std::optional<Sliding> sliding = std::nullopt;  ///< nothing: each iteration computes all that it reads
  bool operator==(const ComputeAtStep&) const = default;
};
/// fuse Z into Y at i: Z runs at the end of each iteration of loop i of Y, over the same values of their common
/// indices.
struct FuseStep {
  std::string statement, into, at;
  bool operator==(const FuseStep&) const = default;
};
/// distribute Z: back to a nest of its own (undoes fuse, compute_at and inline). distribute jacobi at t: loops of a
/// band inside t are no longer shared; each of its statements gets them for itself, one statement after the other.
struct DistributeStep {
  std::string statement;
  std::string at = {};  ///< of a band; empty: a statement
  bool operator==(const DistributeStep&) const = default;
};
/// A sum of multiples of names, and a constant.
struct LinearText {
  std::vector<std::pair<int64_t, std::string>> terms;
  int64_t constant = 0;
  bool operator==(const LinearText&) const = default;
};
/// band jacobi [t, i, j] of B: [t, i + 2*t, j + 2*t], A: [t, i + 2*t + 1, j + 2*t + 1]: these statements run in common
/// loops over members t, i, j, in this sequence where all members are equal. Values are over a statement's indices; an
/// affine schedule in one step.
struct BandStep {
  struct Statement {
    std::string name;
    std::vector<LinearText> members;
    bool operator==(const Statement&) const = default;
  };
  std::string name;
  std::vector<std::string> members;
  std::vector<Statement> statements;
  bool operator==(const BandStep&) const = default;
};
/// isolate L.1, L.2 in cholesky at j.1 where j - k - 1: tiles of the band, as they are inside loop j.1, in which the
/// condition (a value that is not negative) holds at every point run these statements alone, as statements of their own
/// L.1.far, L.2.far, with loops of their own. Once more at a loop further in: L.1.far2, L.2.far2.
struct IsolateStep {
  std::vector<std::string> statements;
  std::string band, at;
  std::vector<LinearText> where;
  bool operator==(const IsolateStep&) const = default;
};
/// store A [d0, d2 + 2*d1, d1]: element (d0, d1, d2) of A lies in the cell with these coordinates, the last of which
/// moves fastest.
struct StoreStep {
  std::string tensor;
  std::vector<LinearText> cell;
  std::string output = {};  ///< set, and no cell: store A in A_out, in the cells of this output
  std::vector<LayoutDigit> layout =
      {};  ///< digits of the coordinates c0, c1, .. of the cells, outermost first; empty: as they stand
  bool operator==(const StoreStep&) const = default;
};
/// wavefront jacobi [t.1, i.1, j.1]: the first of these outermost tile loops counts the sum of their tiles' numbers;
/// what it leaves free runs at once, along the second.
struct WavefrontStep {
  std::string band;
  std::vector<std::string> loops;
  bool operator==(const WavefrontStep&) const = default;
};
/// overlap jacobi [t: 5, i: 64, j: 256] heap: blocks of 5 steps of the first member; in each the tiles of the others
/// compute all that they need in cells of their own, so that no tile of a block waits for another.
struct OverlapStep {
  std::string band;
  std::vector<TileStep::Level> levels;
  Scope scope = Scope::heap;
  bool operator==(const OverlapStep&) const = default;
};
/// cut A.1.folds where j - k - 64: before its band, a statement or part of a sum in two pieces, A.1.folds.p1 where the
/// value is not negative and A.1.folds.p2, which the band names with members of their own.
struct CutStep {
  std::string of;
  LinearText where;
  bool operator==(const CutStep&) const = default;
};
/// snapshot C of path read 2 in path@2: what that read needs is copied when it is made, into C[k, i], over the indices
/// that its subscripts move with; the statement reads the copy. Cells of the tensor may then be taken by later elements
/// before the statement runs. C is a statement of a band like any other.
struct SnapshotStep {
  std::string name, tensor;
  uint32_t read = 1;
  std::string statement;
  bool operator==(const SnapshotStep&) const = default;
};
/// skew jacobi i by 2*t: member i of a band becomes i + 2*t.
struct SkewStep {
  std::string band, member;
  LinearText by;
  bool operator==(const SkewStep&) const = default;
};
/// shift A@2 i by 1: member i of one statement of a band becomes i + 1.
struct ShiftStep {
  std::string statement, member;
  int64_t by = 0;
  bool operator==(const ShiftStep&) const = default;
};
/// reverse table i: member i of a band becomes -i.
struct ReverseStep {
  std::string band, member;
  bool operator==(const ReverseStep&) const = default;
};
/// fold A d0 mod 2: elements of A whose first coordinates are equal modulo 2 share a cell. `down`: the one with the
/// smaller coordinate lives later. A hint: where only the other direction is legal, that is taken.
struct FoldStep {
  std::string tensor, dim;
  int64_t window = 1;
  bool forward = true;
  bool operator==(const FoldStep&) const = default;
};
/// tensorize C k by vpdpbusd_512; tensorize C i, j, k.2, k by tdpbusd: point loop k, which its tile loop gives the
/// instruction's extent, and the lanes become one instruction.
struct TensorizeStep {
  std::string statement;
  std::vector<std::string>
      loops;  ///< one for each axis of the instruction, outermost first; a vector instruction's lanes are not named
  std::string instruction;
  bool operator==(const TensorizeStep&) const = default;
};
/// stream Y: what the lanes of Y store bypasses the caches.
struct StreamStep {
  std::string statement;
  bool operator==(const StreamStep&) const = default;
};
/// prefetch X in S along i by 4: each vector that S reads of X also asks for what it reads 4 iterations of index i
/// later.
struct PrefetchStep {
  std::string tensor, statement, index;
  Size by;
  bool operator==(const PrefetchStep&) const = default;
};
/// rfactor C k in 16: index k in parts (a loop k.p around the accumulator), each folded on its own; a tree puts the
/// parts together.
struct RfactorStep {
  std::string statement, index;
  int64_t parts = 0;
  bool operator==(const RfactorStep&) const = default;
};
/// bind C i.1 to block_y: iterations are blocks of a grid or threads of a block. Axes: block_x .. block_z, thread_x ..
/// thread_z.
struct BindStep {
  std::string statement, loop, axis;
  bool operator==(const BindStep&) const = default;
};
/// autovectorize: the loops that the other steps leave keep their order, and vectors, unrolling and registers are left
/// to the compiler (LLVM's O3 pipeline with its vectorizers). With no other step: the base order, compiled as a C
/// compiler would compile plain loops. autovectorize without gathers: its vectors load and store elements that lie
/// apart one by one, or not at all.
struct AutovectorizeStep {
  bool avoids_gathers = false;
  bool operator==(const AutovectorizeStep&) const = default;
};
/// batch 16; batch 16 in 2: so many elements of the outermost loops that all statements share are lanes, each with what
/// it makes of its element in registers; short loops inside are unrolled. in: equal parts of the outermost loop at
/// once. On the base order, alone.
struct BatchStep {
  int64_t lanes = 0, parts = 1;
  bool operator==(const BatchStep&) const = default;
};
/// online m by 256: maximum m and the sums over its index of exponentials below it become one reduction over tuples,
/// 256 values of the index at a time (ir::with_online_maximum). The first step.
struct OnlineStep {
  std::string statement;
  int64_t block = 0;
  bool operator==(const OnlineStep&) const = default;
};
/// pipeline C k.1 by 2: each copy that C has inside loop k.1 (`promote .. at k.1`) has so many slots, and is made, by
/// asynchronous copies, as many iterations less one before the one that reads it. By 1: as if the step were not there.
struct PipelineStep {
  std::string statement, loop;
  Size by;
  bool operator==(const PipelineStep&) const = default;
};
using Step = std::variant<TileStep, PermuteStep, ParallelStep, VectorizeStep, UnrollStep, PromoteStep, AccumulateStep,
                          InlineStep, ComputeAtStep, FuseStep, DistributeStep, SplitStep, TensorizeStep, StreamStep,
                          PrefetchStep, IndexSetSplitStep, BindStep, RfactorStep, BandStep, SkewStep, ShiftStep,
                          ReverseStep, FoldStep, IsolateStep, WavefrontStep, StoreStep, CutStep, SnapshotStep,
                          OverlapStep, AutovectorizeStep, BatchStep, OnlineStep, PipelineStep>;

/// A named number and, for search, what it may be. `candidates` is empty or holds `value`.
struct Decision {
  std::string name;
  int64_t value = 0;
  std::vector<int64_t> candidates;
  bool operator==(const Decision&) const = default;
};
/// sum of coeff * product of decisions <= at_most. Decisions by name; a decision may repeat.
struct Monomial {
  double coeff = 1;
  std::vector<std::string> decisions;
  bool operator==(const Monomial&) const = default;
};
struct Constraint {
  std::string name;  ///< "registers", "L2"; for people
  std::vector<Monomial> terms;
  double at_most = 0;
  bool operator==(const Constraint&) const = default;
};

struct Trace {
  std::vector<Step> steps;
  std::vector<Decision> decisions;
  std::vector<Constraint> constraints;
  bool operator==(const Trace&) const = default;
  /// Versioned text ("trace 1 ..."); parse_trace(text()) equals the trace.
  PW_EXPORT std::string text() const;
};

/// One step on one line, without its line end.
std::string print(const Step& step);
/// PW0301 with line and column for what is not a trace. At most 64 KiB, 1024 steps, 64 decisions.
PW_EXPORT Result<Trace> parse_trace(const std::string& text);
/// The trace with these values for its decisions, in their order.
Trace with_values(const Trace& trace, const std::vector<int64_t>& values);
/// Values of the decisions, in their order.
std::vector<int64_t> values_of(const Trace& trace);
/// The first constraint that these values break; null where there is none.
const Constraint* violated(const Trace& trace, const std::vector<int64_t>& values);
/// The trace for a program whose names differ: statement and tensor names are replaced by map[name] where present.
Trace renamed(const Trace& trace, const std::map<std::string, std::string>& names);

}  // namespace polyweft
#pragma GCC visibility pop
