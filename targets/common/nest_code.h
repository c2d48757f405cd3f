// Code for a subtree of a nest, in one function: which node becomes what. The parts know the rest, from values of
// integers up to kinds of loops; each owns its state and sees that of the parts before it by const references.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/nests/frequencies.h"
#include "targets/common/loops/axis_loops.h"
#include "targets/common/loops/fragment_loops.h"
#include "targets/common/loops/parallel_loops.h"
#include "targets/common/loops/scan_loops.h"
#include "targets/common/loops/streaming_stores.h"
#include "targets/common/loops/tensor_loops.h"
#include "targets/common/loops/transpositions.h"
#include "targets/common/loops/unit_loops.h"
#include "targets/common/loops/unrolled_loops.h"
#include "targets/common/tiles/late_blocks.h"
#include "targets/common/values/exact_integers.h"
#include "targets/common/values/statements.h"

namespace polyweft::targets {

class NestCode : CodeEmitter, AddressParts, MemoryPart {
 public:
  /// `bases`: address of element 0 of each buffer known so far (arguments, constants), null elsewhere.
  NestCode(const NewFunction& of, std::vector<llvm::Value*> bases);

  llvm::IRBuilder<>& builder() { return b_; }
  /// Branches say how often they are taken. `frequencies` are of this nest and must outlive this.
  void expect(const ir::Frequencies& frequencies, int threads) { branches_.expect(frequencies, threads); }
  /// Binds the sizes of a symbolic nest and computes its strides, where the builder stands.
  void open_sizes(const std::vector<llvm::Value*>& values);
  /// The function is a task of a loop of another one. What its variables are is then said one by one.
  void start_as_task(const Variables& outside, const Buffers& around);
  Variables& variables() { return variables_; }
  void open_strides();

  /// The kernel, a pack function or the body of a parallel loop, with the block of memory that its buffers lie in.
  void emit_region(NodeId root);
  /// A kernel of a device, for the subtree: every buffer that is allocated there and is not one thread's alone has its
  /// base already.
  void emit_kernel(NodeId root);
  /// Makes streaming stores visible to whoever looks after the return.
  void fence_after(NodeId id) {
    streaming_stores_.fence_after(id);
    unit_loops_.finish();
  }
  /// PW0502 where there are more instructions; asked while they are made, since ten times as many take a hundred times
  /// as long.
  void limit_instructions(int64_t most) { most_instructions_ = most; }
  void refuse_too_many() const;
  int64_t instructions() const;
  /// Does what was emitted use the tile unit, in this function or in a task of it?
  bool uses_tiles() const { return tile_instructions_.uses_tiles(); }

 private:
  TileState tiles();
  void emit(NodeId id) override;
  void emit_node(NodeId id);
  llvm::Value* expression(const Expr& e) override { return expressions_.expression(e); }
  llvm::Value* exact_index(const Expr& data) override { return exact_integers_.exact_index(data); }

  void on(const Seq&);
  void on(const If&);
  void on(const Alloc&);
  void on(const Compute&);
  void on(const Copy&);
  void on(const Sync&);
  void on(const Loop&);
  void vector_loop(const Loop&);
  bool does_nothing(NodeId id);  ///< but move values to where they are
  void allocate_symbolic(BufferId id, NodeId body);
  void allocate_stack(BufferId id, NodeId body);

  int64_t most_instructions_ = INT64_MAX;
  uint32_t emitted_ = 0;           ///< nodes, each as often as it is unrolled
  std::vector<int8_t> idle_ = {};  ///< by node, once known: does it do nothing?

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
  TileInstructions tile_instructions_;
  TilePlaces tile_places_;
  TileRegisters tile_registers_;
  TileParts tile_parts_;
  TileOperands tile_operands_;
  TileProducts tile_products_;
  TileSums tile_sums_;
  HeapBlocks heap_blocks_;
  VectorLoops vector_loops_;
  SerialLoops serial_loops_;
  ScanLoops scan_loops_;
  InterleavedCopies interleaved_copies_;
  DotProducts dot_products_;
  UnrolledLoops unrolled_loops_;
  MatrixProducts matrix_products_;
  TensorLoops tensor_loops_;
  Transpositions transpositions_;
  LateBlocks late_blocks_;
  ParallelLoops parallel_loops_;
  AsyncCopies async_copies_;
  FragmentLoops fragment_loops_;
  AxisLoops axis_loops_;
  StreamingStores streaming_stores_;
  UnitLoops unit_loops_;
};

}  // namespace polyweft::targets
