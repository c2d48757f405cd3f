// A template and the numbers for its decisions: all that is known before a nest is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/instantiate/body.h"
#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// Looks at a template and its decisions, which must live as long.
class SizedTemplate {
 public:
  SizedTemplate(const NestTemplate& nest_template, const std::vector<int64_t>& decisions);

  const NestTemplate& nest_template() const { return t_; }
  const Program& program() const { return t_.program; }
  const std::vector<Stage>& stages() const { return t_.stages; }
  const Stage& stage(uint32_t id) const { return t_.stages[id]; }
  const Tensor& tensor(TensorId id) const { return t_.program.tensors[id]; }
  const Box& box(TensorId id) const { return t_.boxes[id]; }
  const Equation& equation_of(const Stage& stage) const { return t_.program.equations[stage.equation]; }
  const std::vector<TensorId>& targets_of(uint32_t stage) const { return equation_of(t_.stages[stage]).targets; }
  /// The stages that are placed in it, in order.
  const std::vector<uint32_t>& attached_to(uint32_t stage) const { return attached_[stage]; }
  /// What an alias stands for; another tensor itself.
  TensorId original(TensorId tensor) const;
  /// How the tiles of a frame overlap, or null.
  const Overlap* overlap_of(uint32_t stage) const;
  /// How a tensor outlives blocks of tiles that overlap, or null.
  const Overlap::Kept* kept_of(TensorId id) const;
  /// Does a stage read it, or one attached to it?
  bool reads_inside(uint32_t stage, TensorId tensor) const;

  int64_t size_of(const Size& size) const;
  /// The same where 0 is a value: a step is left out.
  int64_t distance_of(const Size& size) const;
  /// Physical dimensions of a window with these extents.
  Layout layout_of(const std::vector<LayoutPart>& parts, const std::vector<int64_t>& extents) const;
  /// Sizes become numbers; each is rounded up to a multiple of the next smaller one of the same index; parts of a
  /// parallel index to a multiple of its register tile.
  std::vector<SizedLoop> sized_loops(const Stage& stage) const;
  /// The whole stage, on the hulls of its indices.
  Body body_of(uint32_t stage) const;

 private:
  const NestTemplate& t_;
  const std::vector<int64_t>& decisions_;
  std::vector<std::vector<uint32_t>> attached_;  ///< by stage
};

bool defines(const Equation& equation, TensorId tensor);
bool reads_tensor(const Equation& equation, TensorId tensor);
/// The reduction that is an equation's right-hand side, or null.
const Reduction* reduction_of(const Equation& equation);

}  // namespace polyweft::ir
