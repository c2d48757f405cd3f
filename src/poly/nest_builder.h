// Private: buffers and Computes of a base LoopNest.
#pragma once

#include <functional>
#include <map>

#include "poly/model.h"
#include "polyweft/loop_nest.h"

namespace polyweft::poly {

/// Index of the equation -> expression over loop variables.
using Indices = std::map<VarId, Affine>;

/// Of a tensor: its first element and its extents, over the parameters (numbers where sizes are bound).
struct AffineBox {
  std::vector<Affine> lo, extent;
};
std::vector<AffineBox> affine_boxes(const std::vector<Box>& boxes);

class NestBuilder {
 public:
  /// `windows[t]`: empty, or the window of each dimension of local tensor t.
  NestBuilder(Sizes sizes, const Program& program, NumericsClass cls, std::vector<AffineBox> boxes,
              const std::vector<std::vector<int64_t>>& windows);

  LoopNest& nest() { return nest_; }
  const Program& program() const { return program_; }
  NodeId store(EquationId q, const Indices& at);
  NodeId init(EquationId q, const Indices& at);
  NodeId accumulate(EquationId q, const Indices& at);
  /// Plain loops over the equation's slots in their own order; reductions inside, in lexicographic order, but around
  /// the last slot where that runs along rows.
  NodeId loops(EquationId q);
  /// `body` inside a loop over var from lo to hi.
  NodeId loop(VarId var, Bound lo, Bound hi, int64_t step, NodeId body);
  NodeId when(Guard condition, NodeId then);
  /// The children as one node; a Seq only where there are several.
  NodeId sequence(std::vector<NodeId> children);
  VarId fresh(const std::string& name) { return nest_.new_loop_var(name); }
  /// Allocations around `root`, packs; the finished nest.
  LoopNest finish(NodeId root);
  /// Bytes of all heap buffers.
  int64_t workspace_bytes() const;

 private:
  void add_buffer(TensorId id, const std::vector<int64_t>& windows);
  void add_pack(TensorId id);
  void promise(Buffer& buffer, const Tensor& tensor) const;
  Access element(TensorId id, const Equation& equation, const Indices& at) const;
  std::vector<Access> targets(const Equation& equation, const Indices& at) const;
  Expr lowered(const Expr& e, const Indices& at) const;
  NodeId reduction_loops(EquationId q, Indices at);
  /// The last index of a reduction's target where its loop runs innermost; else kNoVar.
  VarId row_index(const Equation& equation) const;
  /// A loop over the slot around `body`, which gets the indices with the slot's.
  NodeId row(const Slot& slot, const std::string& name, const Indices& outer,
             const std::function<NodeId(const Indices&)>& body);

  const Program& program_;
  std::vector<AffineBox> boxes_;
  LoopNest nest_;
  std::vector<BufferId> buffer_of_;
};

}  // namespace polyweft::poly
