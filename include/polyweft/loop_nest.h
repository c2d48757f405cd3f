// LoopNest: plain nested loops over typed buffers; what is checked, hashed, stored and handed to code generation.
//
// Meaning: that of plain nested loops. Marks change how a loop is lowered, never what it computes (the checker and the
// verifier see to that). A mask is the bound of a vector loop; explicit vectors exist only inside code generation. A
// register buffer is indexed by unroll and vector variables only, so each of its elements is one SSA value. Computes
// and buffers carry ghost tags (which point of which equation, which element of which tensor) for the checker and the
// interpreter's tag mode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "polyweft/program.h"

#pragma GCC visibility push(default)
namespace polyweft {

using BufferId = uint32_t;
using NodeId = uint32_t;
using ParamId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

/// Lower bound: the greatest of `of`; upper bound (exclusive): the least of `of`. Never empty.
struct Bound {
  std::vector<Affine> of;
  bool operator==(const Bound&) const = default;
};

/// Frozen: append only.
enum class Scope : uint8_t {
  argument = 0,
  constant = 1,
  heap = 2,
  stack = 3,
  reg = 4,
  shared = 5,
  scratchpad = 6,  ///< of a unit beside the CPU: filled and read by copies, and by the unit
  tile = 7,
  accumulator = 8  ///< the same, of sums
};
const char* name_of(Scope scope);
/// Memories of units, which the CPU does not address.
inline bool is_of_units(Scope scope) {
  return scope == Scope::tile || scope == Scope::scratchpad || scope == Scope::accumulator;
}

/// One physical dimension: a digit of logical dimension `dim` with radix `factor`. The last piece of a dim is its least
/// significant digit. Row-major over f32[kc, nc] is {{0, kc}, {1, nc}}; [j / 32, k, j % 32] is {{1, ceil(nc / 32)}, {0,
/// kc}, {1, 32}}.
struct Piece {
  uint32_t dim = 0;
  int64_t factor = 1;
  bool operator==(const Piece&) const = default;
};
/// Lines of memory and the units in them that a layout by xor exchanges.
inline constexpr int64_t kXorLineBytes = 128, kXorUnitBytes = 16, kXorBytes = 1024;
/// Physical dimensions, outermost first; `pad[p]` elements added to physical dimension p's extent (empty: none).
/// The product of a dim's factors is >= its (folded) extent.
struct Layout {
  std::vector<Piece> pieces;
  std::vector<int64_t> pad;
  /// Of shared memory: a unit of 16 bytes lies in its line of 128 bytes where its number xor the line's, modulo 8,
  /// says. Eight lines are a whole: the buffer begins and ends at multiples of 1,024 bytes.
  bool by_xor = false;
  bool operator==(const Layout&) const = default;
};
/// The cell index of `dim` is the logical index modulo `window`.
struct Fold {
  uint32_t dim = 0;
  int64_t window = 1;
  bool operator==(const Fold&) const = default;
};
/// Lies in the memory of another buffer, an output argument or one of the heap that is allocated around it: its first
/// cell `at_bytes` from that one's first. A write to a cell takes what all others with cells in the same bytes hold;
/// only a compute or copy that moves a value within its own bytes (which costs nothing) leaves both.
struct Within {
  uint32_t host = 0;
  int64_t at_bytes = 0;
  bool operator==(const Within&) const = default;
};
/// In Buffer::element, the logical cell coordinate d of the buffer is the variable kCellVar + d.
inline constexpr VarId kCellVar = 0x80000000u;
inline constexpr TensorId kNoTensor = UINT32_MAX;

/// Half open.
struct ValueRange {
  int64_t lo = 0, hi = 0;
  bool operator==(const ValueRange&) const = default;
};

/// Of a dimension whose extent depends on the sizes of a symbolic nest: Buffer::shape has it. In a layout: the whole
/// (folded) dimension.
inline constexpr int64_t kSymbolicExtent = -1;

/// Logical extents are constants (symbolic nests: or affine in the parameters) and indices start at 0 (a tensor with
/// box [lo, hi) is shifted by lo; `element` says so).
struct Buffer {
  std::string name;
  ElementType type = ElementType::f32;
  Scope scope = Scope::heap;
  std::vector<int64_t> extents;
  Layout layout;  ///< of the folded extents
  std::vector<Fold> folds;
  int64_t align_bytes = 64;     ///< argument buffers: element size
  TensorId tensor = kNoTensor;  ///< ghost: cell x holds tensor[element(x)]
  std::vector<Affine> element;  ///< over kCellVar + d and the loops around the Alloc; one a tensor dimension
  bool is_output = false;       ///< argument scope: written by the kernel
  bool is_packed = false;       ///< argument scope: a `const in`, in its packed layout, made by a pack function
  std::vector<Literal> data;    ///< constant scope, row-major
  std::optional<ValueRange> values = std::nullopt;  ///< argument scope: the caller's promise, scanned at the call
  std::vector<Affine> promise = {};  ///< symbolic nests: lo, hi of `values` where they depend on the sizes; else empty
  std::vector<Affine> shape =
      {};  ///< symbolic nests: logical extents over the parameters, one a dimension, none negative; else empty
  std::optional<Within> within = std::nullopt;  ///< heap scope: no memory of its own
};
/// The promise of an input of a bound program; none where it has none.
std::optional<ValueRange> promised_values(const Tensor& tensor);
/// Row-major layout of these extents.
Layout row_major(const std::vector<int64_t>& extents);
/// Extents after folding.
std::vector<int64_t> folded_extents(const Buffer& buffer);
/// Elements including layout rounding and pads.
int64_t allocated_elements(const Buffer& buffer);
/// Physical element offset of logical index (folds, layout, pads and xor applied).
int64_t physical_offset(const Buffer& buffer, const std::vector<int64_t>& index);

enum class Write : uint8_t { store = 0, init = 1, accumulate = 2, merge = 3 };

/// One point of one (normalized) equation.
///  store:      dst[c] = rhs[c].
///  init:       dst = the reducer's identity; rhs is empty; `instance` has the equation's slot indices only.
///  accumulate: dst = dst (reducer) rhs; `instance` has all indices, reduced ones included. fused: a float sum whose
///  rhs[0] is a mul node
///              becomes dst = fma(a, b, dst), one rounding. argmax/argmin: dst and rhs are (value, index...).
///  merge:      dst = dst (reducer) rhs where rhs reads another accumulator of the same element (rfactor trees).
/// Reduced points are folded in the order of execution.
struct Compute {
  EquationId equation = 0;
  std::vector<Affine> instance;  ///< ghost: values of the equation's indices, in order of its index_names
  Write how = Write::store;
  Reducer reducer = Reducer::sum;
  uint32_t combiner = 0;
  bool fused = false;
  std::vector<Access> dst;
  std::vector<Expr> rhs;
};
/// One element: dst <- src where `valid` holds, else `fill` (an absent src always fills). The loops around make the
/// box.
struct Copy {
  Access dst;
  Access src;
  Guard valid;
  Literal fill;
  bool has_src = true;
  /// A machine may make it at any time up to the Sync that waits for its group (ir/nests/asynchronous.h). Its meaning
  /// is that of a copy made at once.
  bool is_async = false;
};
struct Seq {
  std::vector<NodeId> children;
};
struct If {
  Guard condition;
  NodeId then = kNoNode;
  NodeId otherwise = kNoNode;
};
/// Lifetime of the buffer = body; one instance an iteration of the parallel loops around. Contents undefined at the
/// start.
struct Alloc {
  BufferId buffer = 0;
  NodeId body = kNoNode;
};
/// block: all iterations of the axis loops around reach it. async_commit: the asynchronous copies since the last one
/// are a group (which may be empty). async_wait: all groups have arrived but the `arg` latest ones. Other kinds have no
/// meaning yet.
struct Sync {
  enum class Kind : uint8_t {
    block = 0,
    warp = 1,
    grid = 2,
    async_wait = 3,
    wavefront = 4,
    async_commit = 5
  } kind = Kind::block;
  int32_t arg = 0;
  bool is_of_copies() const { return kind == Kind::async_wait || kind == Kind::async_commit; }
};
/// Frozen: append only.
enum class MarkKind : uint8_t { serial = 0, parallel = 1, vector = 2, unroll = 3, axis = 4, pipeline = 5, tensor = 6 };
/// Each read of `buffer` in the marked loop also asks the caches for the element that lies `by` further. A hint: it may
/// lie outside.
struct Prefetch {
  BufferId buffer = 0;
  std::vector<int64_t> by;  ///< one a logical dimension
  bool operator==(const Prefetch&) const = default;
};
struct Mark {
  MarkKind kind = MarkKind::serial;
  int32_t width =
      0;  ///< vector: lanes (the loop runs at most `width` iterations); parallel: tasks (0: one an iteration)
  std::string detail;         ///< axis name, tensor intrinsic
  bool non_temporal = false;  ///< vector, or serial around elements that only move: stores in it bypass the caches
  std::vector<Prefetch> prefetch = {};  ///< vector
  bool operator==(const Mark&) const = default;
};
/// for var = lo; var < hi; var += step. unroll loops: hi - lo is a constant. vector loops: step 1, v in [max(first,
/// ..), min(first + c, ..)), c <= width: lane k stands for first + k and is active where the bounds hold, so lanes may
/// be masked on both ends.
struct Loop {
  VarId var = kNoVar;
  Bound lo, hi;
  int64_t step = 1;
  Mark mark;
  NodeId body = kNoNode;
};
/// Of a vector loop: the lower bound that lane 0 stands for, the first for which some upper bound is at most the width
/// above it; null: there is none.
PW_EXPORT const Affine* first_lane(const Loop& loop);
using Node = std::variant<Seq, Loop, If, Alloc, Compute, Copy, Sync>;

/// A const input's packing: a nest of its own over `source` (row-major argument) and `packed`, emitted as
/// NAME_pack_TENSOR.
struct Pack {
  BufferId source = 0;
  BufferId packed = 0;
  NodeId root = kNoNode;
};

/// A form of the program that a nest computes in its place: a maximum over an index and the sums of exponentials below
/// it, block by block of that index, as one reduction over tuples. Equal in class reassoc (docs/theorems.md, T11).
struct OnlineMaximum {
  uint32_t maximum = 0;  ///< tensor of the program
  int64_t block = 0;     ///< values of the index in a block
  bool operator==(const OnlineMaximum&) const = default;
};
struct LoopNest {
  std::string name;  ///< symbol: the program's name
  NumericsClass cls = NumericsClass::reassoc;
  std::vector<Parameter>
      params;  ///< values are the binding (of a symbolic nest: defaults); VarIds 0 .. params.size() - 1
  std::vector<std::string> loop_names;  ///< of variable params.size() + k; for people, not for the hash
  std::vector<Buffer> buffers;
  std::vector<BufferId> arguments;  ///< inputs then outputs, program order: the ABI
  std::vector<Combiner> combiners;  ///< of the program
  std::vector<Node> nodes;
  NodeId root = kNoNode;
  std::vector<Pack> packs;
  bool symbolic = false;  ///< the sizes are arguments of the kernel, after the buffers: right for all values that meet
                          ///< `assumptions`
  std::vector<Guard> assumptions;  ///< symbolic: over the parameters
  /// Code generation leaves vectors, unrolling and register promotion to the compiler's own pipeline (LLVM's O3). Such
  /// a nest has no tensor or axis loops and no register buffers; vector loops are those of copies. Like a mark it
  /// changes how the nest is lowered, never what it computes; sums are reassociated where the class allows it.
  bool auto_vectorized = false;
  /// With auto_vectorized: the compiler's vectorizers take no gathers and no scatters, which they think cheaper than
  /// some processors have them.
  bool avoids_gathers = false;
  /// Equations and tensors that the nest's tags name are those of the program with these, in this order.
  std::vector<OnlineMaximum> online;

  NodeId add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size() - 1);
  }
  VarId new_loop_var(std::string loop_name) {
    loop_names.push_back(std::move(loop_name));
    return static_cast<VarId>(params.size() + loop_names.size() - 1);
  }
};

/// Versioned text ("nest 1 ..."); parse(print(n)) equals n up to numbering of nodes. Size-limited: it crosses process
/// borders.
PW_EXPORT std::string print(const LoopNest& nest);
PW_EXPORT Result<LoopNest> parse_loop_nest(const std::string& text);
/// What a symbolic nest is at these sizes, as a nest with constant extents: its meaning. PW0418 for sizes that the
/// assumptions exclude or that are too large.
PW_EXPORT Result<LoopNest> specialize(const LoopNest& nest, const std::vector<int64_t>& sizes);
/// The largest size that a symbolic nest takes: extents are 32-bit numbers in the ABI.
inline constexpr int64_t kLargestSize = INT32_MAX;
/// Structural rules (variables bound once and before use, register buffers indexed by unroll/vector variables, vector
/// bounds, ranks, types, no write to inputs ...). PW04xx.
Status verify(const LoopNest& nest);
/// 128 bits as 32 hex digits over the printed structure without names; loops of one iteration do not count.
std::string hash(const LoopNest& nest);

}  // namespace polyweft
#pragma GCC visibility pop
