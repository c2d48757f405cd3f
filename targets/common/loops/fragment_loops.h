// Products and sums that the lanes of a warp hold together (ir::Fragment).
//
//   alloc a: f32[32, 64] tile                 each lane: 64 registers
//     if 0 - t >= 0                           all lanes go in: the first one's work is the warp's
//       for i, j: init a[i, j]                each lane for the cells it holds: i, j are sums of its number's digits
//     for k: if 0 - t >= 0
//       tensor i, j, p: a[..] += A * B        each lane loads its parts of A and B, and multiplies
//     if 0 - t >= 0
//       for i, j: C[i, j] = a[i, j] + ..      each lane for the cells it holds
//
// In the nest one thread along x does all of this for its warp, so that its meaning, and what was proven of it, has no
// lanes. What that thread does besides in such a place stays its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/loops/branches.h"
#include "targets/common/loops/serial_loops.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/statements.h"

namespace polyweft::targets {

class FragmentLoops : MemoryPart {
 public:
  FragmentLoops(const Addresses& addresses, Branches& branches, SerialLoops& serial_loops, Statements& statements,
                CodeEmitter& further)
      : MemoryPart(addresses),
        branches_(branches),
        serial_loops_(serial_loops),
        statements_(statements),
        further_(further) {}

  /// Emits a buffer of sums that warps hold, with all that is done while it lives. False: it is no such buffer.
  bool allocates(const Alloc& alloc);
  /// Emits the node where a warp works together, or begins to. False: it is code of each thread.
  bool takes(NodeId id);

  /// The kernel's products may read shared memory by themselves: what threads write there must be published.
  void begin_kernel(NodeId root);
  bool publishes() const { return publishes_; }
  /// Products of a node that is this one, and nothing else, may be under way when it has been emitted. kNoNode: none.
  void may_leave(NodeId id) { may_leave_ = id; }
  /// Waits for products that are under way, unless the node does not touch what they do.
  void finish_before(NodeId id);
  void finish();
  /// At the end of an iteration of a loop whose threads walk together: the last products may run on into the next one.
  void end_iteration(const Loop& loop);

 private:
  /// How lanes hold a buffer.
  struct Held {
    const ir::Instruction* instruction = nullptr;
    std::vector<size_t> dims;             ///< of the buffer, for each dimension of the instruction's result
    std::vector<int64_t> fragments = {};  ///< along each dimension of the buffer; elsewhere its extent
    const ir::Fragment& fragment() const { return instruction->operands[0].fragment; }
  };
  /// A loop whose variable stands for a coordinate of held cells: coordinate = variable + rest.
  struct Along {
    const Loop* loop = nullptr;
    Affine rest;
  };

  /// Of products under way: where they read.
  struct UnderWay {
    BufferId buffer = 0;
    std::vector<Affine> first;    ///< cell, by dimension
    std::vector<int64_t> length;  ///< cells from there on
  };

  bool is_for_warp(NodeId id) const;
  bool only_products(NodeId id) const;
  void product_of_shared(const ir::TensorMatch& match, const Access& sums, int64_t first);
  SharedFactor shared_factor(const ir::TensorMatch& match, size_t operand);
  bool leaves_alone(NodeId id);
  bool may_run_on(const Loop& loop);
  bool only_copies_apart(NodeId id, const std::map<VarId, Affine>& later);
  bool lies_apart(const Access& access, const std::map<VarId, Affine>& later) const;
  bool touches_held(NodeId id) const;
  void by_first_lane(NodeId id);
  bool lies_inside(const ir::TensorMatch& match, size_t axis);
  void product(const Loop& loop);
  std::vector<llvm::Value*> words(const ir::TensorMatch& match, size_t operand, bool is_whole);
  std::vector<llvm::Value*> matrices(const ir::TensorMatch& match, size_t operand);
  void bind_digit(int64_t below, int64_t extent);
  Affine digit(int64_t below, int64_t extent) const;
  llvm::Value* word(const ir::TensorMatch& match, size_t operand, int64_t first, int64_t cells, bool is_whole);
  Affine coordinate(const ir::Fragment& fragment, uint32_t dim, int64_t cell) const;
  int64_t first_cell(const Held& held, const std::vector<Affine>& index) const;
  std::optional<std::vector<Along>> along(const Access& access, const std::vector<const Loop*>& chain) const;
  bool cells(const Loop& loop);
  void cell(const std::vector<const Loop*>& inner, size_t depth, const Node& leaf);
  Node with_places(const Node& leaf) const;
  Access place(const Access& access) const;
  bool writes_what_others_read(const Node& leaf) const;

  Branches& branches_;
  SerialLoops& serial_loops_;
  Statements& statements_;
  CodeEmitter& further_;
  std::map<BufferId, Held> held_ = {};
  bool is_together_ = false;
  VarId lane_ = kNoVar;                                           ///< the variable of the loop over lanes
  std::map<std::string, VarId> digits_ = {};                      ///< of the lane's number, by divisor and extent
  std::map<std::string, std::vector<llvm::Value*>> loaded_ = {};  ///< operands, in this block of code
  const llvm::BasicBlock* loaded_in_ = nullptr;
  bool publishes_ = false, in_products_ = false;
  bool is_open_ = false;  ///< products were begun that are in no group yet
  NodeId may_leave_ = kNoNode, kernel_ = kNoNode;
  std::set<BufferId> sums_under_way_ = {};
  std::vector<UnderWay> under_way_ = {};
  int64_t cell_now_ = 0;  ///< of a fragment, in a loop over cells
};

}  // namespace polyweft::targets
