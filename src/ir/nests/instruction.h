// Tensor instructions: files of targets/instructions, each with the affine nest that the instruction computes, and how
// it is called.
//
//   instruction 1
//   name dot_bytes_512
//   needs byte-dots wide | tiles          # features of the target; "|" between sets of which one is enough
//   issues 1                              # how long it holds a multiply-add unit, in multiply-adds; for cost models
//   classes strict contract reassoc       # numerics classes whose rules its arithmetic keeps
//   call llvm.of.the.instruction (D: i32x16, A: i8x64, B: i8x64)
//   fragment D lane i%8 j/2%4 cell i/8 j%2   # of a warp's instruction, for each operand: which lane holds a cell, and
//                                            # as which of its cells; digits of the coordinates, greatest first;
//                                            # "*2" in the lane's number: so many copies
//   nest 1 dot_bytes_512 class strict     # one Compute that accumulates, inside loops of constant extent
//
// Each operand is subscripted by loop variables alone: its cells, row-major, are the bytes of its register. A sub-nest
// is the instruction if renaming loops and buffers makes the two equal; nothing is recognised by name.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::ir {

/// Tiles of a tile unit, and those among them that an instruction reads beside its result.
inline constexpr int64_t kLiveTiles = 8, kOperandTiles = 2, kTileCells = 256;
/// Cells of sums that a lane of a warp may hold beside what it reads.
inline constexpr int64_t kLaneSums = 224;

/// How the lanes of a warp, or of several that work together, hold a box of cells: the lane's number, and that of the
/// cell among its own, by digits floor(coordinate / divisor) mod extent, greatest first. Each cell is in one place;
/// lanes whose numbers differ in a digit of no dimension hold the same cells.
struct Fragment {
  static constexpr uint32_t kCopies = 0xffffffff;
  struct Digit {
    uint32_t dim = 0;  ///< of the operand; kCopies: of none
    int64_t divisor = 1, extent = 1;
  };
  std::vector<Digit> lane, cell;
  bool empty() const { return lane.empty(); }
};
/// Places that numbers of these digits have: the product of their extents.
int64_t places_of(const std::vector<Fragment::Digit>& digits);

struct Instruction {
  struct Operand {
    BufferId buffer = 0;           ///< of `nest`
    ElementType type;              ///< of its cells
    std::vector<uint32_t> loops;   ///< the loop of each dimension
    std::string register_element;  ///< "i32", "i8", "f32", "bf16"
    int32_t register_lanes = 0;
    int32_t parts = 1;  ///< so many registers, whose sum is the operand: f32 cells cut into bf16, exactly
    Fragment fragment;  ///< of a warp's instruction; `register_lanes` are then the cells of one lane
    /// Read by the instruction itself from the block's memory: rows of 128 bytes laid out by xor.
    bool is_shared() const { return register_element == "shared"; }
  };
  struct Axis {
    VarId var = kNoVar;
    int64_t extent = 1;
    bool is_reduced = false;  ///< the result has no such dimension
  };
  std::string name;
  std::string file = {};                        ///< that it was read from; empty: it is part of the library
  std::vector<std::vector<std::string>> needs;  ///< one of these sets of features
  std::vector<NumericsClass> classes;
  double issues = 1;  ///< multiply-adds that a unit could do in its time
  std::string call;
  std::vector<Operand> operands;  ///< in the order of the call; the first is the result and its old value
  std::vector<Axis> axes;         ///< loops, outermost first
  LoopNest nest;
  Compute compute;

  bool allows(NumericsClass cls) const;
  /// Its registers are tiles, rows of one data axis by lanes of another.
  bool is_tile() const { return !operands.empty() && operands[0].register_element == "tile16"; }
  /// A unit executes it on rows in memories of its own.
  bool is_of_unit() const { return !operands.empty() && operands[0].register_element == "local"; }
  /// The lanes of a warp execute it together, each with a part of the operands in its registers.
  bool is_of_warp() const { return !operands.empty() && !operands[0].fragment.empty(); }
  /// Its lanes start it together, and wait for it later: its factors lie in shared memory.
  bool reads_shared() const { return is_of_warp() && operands.size() > 1 && operands[1].is_shared(); }
  /// Of a warp's instruction.
  int64_t lanes() const { return places_of(operands[0].fragment.lane); }
  template <class Features>
  bool runs_on(const Features& target) const {
    for (const auto& set : needs) {
      bool all = true;
      for (const auto& feature : set) all = all && target.has(feature);
      if (all) return true;
    }
    return false;
  }
};

/// PW0416 for what is not an instruction: a malformed header, or a nest that is not one accumulation over a box.
Result<Instruction> parse_instruction(const std::string& text);
/// The files of targets/instructions, as they were when this was built, by name; then those of add_instructions().
const std::deque<Instruction>& known_instructions();
/// From now on the files NAME.instruction of this folder count too. For a process that has asked for none yet. PW0020
/// for a folder or a file that is none.
Status add_instructions(const std::string& folder);
/// "C: i32[16, 16] += A: i8[16, 16] * B: i8[16, 16]", result first.
std::string product_text(const Instruction& instruction);
/// The warp's instruction whose outermost loop this is; null: it is no such loop.
const Instruction* warp_product(const Loop& loop);
inline bool is_warp_product(const Loop& loop) {
  return warp_product(loop) != nullptr;
}
/// Of a buffer whose sums a warp's instruction adds to: that instruction; null where there is none in the subtree.
const Instruction* warp_instruction_of(const LoopNest& nest, NodeId id, BufferId sums);
/// Does the first thread along x do what stands under this condition for its warp, with sums that the warp holds? The
/// variable of the loop over these threads; else nothing.
std::optional<VarId> lane_of_warp(const LoopNest& nest, const If& choice);
/// Names of those that a target with these features has.
std::vector<std::string> instructions_of(const Target& target);
/// Of these names those whose arithmetic keeps the rules of a class.
std::vector<std::string> allowed_instructions(const std::vector<std::string>& names, NumericsClass cls);
/// PW0416 where there is none.
Result<const Instruction*> instruction_named(const std::string& name);

/// An accumulation as the matcher sees it: of a nest's Compute, or of an equation.
struct Accumulation {
  Reducer reducer = Reducer::sum;
  ElementType type = ElementType::f32;
  std::vector<Affine> destination;
  Expr value;
};
/// Which access stands for each operand but the result, in the order of `operands`; none: the constant 1 in all cells
/// (a factor that the accumulation does not have).
struct OperandBinding {
  std::vector<std::optional<Access>> access;
};
/// Is the accumulation over `vars` (one for each axis) the instruction's own? PW0417 says what differs. An operand's
/// access may move with the axes that subscript the operand and with no other; the result's must move with each of its
/// axes.
Result<OperandBinding> match(const Instruction& instruction, const Accumulation& wanted,
                             const std::vector<VarId>& vars);

/// A sub-nest that is an instruction.
struct TensorMatch {
  const Instruction* instruction = nullptr;
  std::vector<const Loop*> loops;  ///< of each axis
  const Compute* compute = nullptr;
  OperandBinding binding;
};
/// The loop with the mark `tensor` and all inside. Loops of reduced axes have exactly the instruction's extent; the
/// others at most.
Result<TensorMatch> match_tensor_loop(const LoopNest& nest, const Loop& outermost);

}  // namespace polyweft::ir
