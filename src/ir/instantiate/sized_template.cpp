#include "ir/instantiate/sized_template.h"

#include <algorithm>
#include <map>
#include <utility>

namespace polyweft::ir {

SizedTemplate::SizedTemplate(const NestTemplate& nest_template, const std::vector<int64_t>& decisions)
    : t_(nest_template), decisions_(decisions), attached_(nest_template.stages.size()) {
  for (uint32_t k = 0; k < t_.stages.size(); ++k) {
    const Placement& at = t_.stages[k].placement;
    if (at.kind != Placement::Kind::at_root && at.kind != Placement::Kind::inlined) attached_[at.host].push_back(k);
  }
}

TensorId SizedTemplate::original(TensorId tensor) const {
  for (const auto& [alias, of] : t_.aliases)
    if (alias == tensor) return of;
  return tensor;
}

const Overlap* SizedTemplate::overlap_of(uint32_t stage) const {
  for (const Band& band : t_.bands)
    if (band.frame == stage && band.overlap.depth > 0) return &band.overlap;
  return nullptr;
}

const Overlap::Kept* SizedTemplate::kept_of(TensorId id) const {
  for (const Band& band : t_.bands)
    for (const Overlap::Kept& kept : band.overlap.kept)
      if (kept.tensor == id) return &kept;
  return nullptr;
}

bool SizedTemplate::reads_inside(uint32_t stage, TensorId tensor) const {
  if (reads_tensor(equation_of(t_.stages[stage]), tensor)) return true;
  return std::any_of(attached_[stage].begin(), attached_[stage].end(),
                     [&](uint32_t inner) { return reads_inside(inner, tensor); });
}

int64_t SizedTemplate::size_of(const Size& size) const {
  return std::max<int64_t>(distance_of(size), 1);
}

int64_t SizedTemplate::distance_of(const Size& size) const {
  if (size.decision.empty()) return size.constant;
  for (size_t k = 0; k < t_.trace.decisions.size(); ++k)
    if (t_.trace.decisions[k].name == size.decision) return decisions_[k];
  PW_CHECK(false);
  return 0;
}

Layout SizedTemplate::layout_of(const std::vector<LayoutPart>& parts, const std::vector<int64_t>& extents) const {
  if (parts.empty()) return row_major(extents);
  std::vector<int64_t> low(extents.size(), 1);
  for (const LayoutPart& part : parts)
    if (part.part == LayoutDigit::Part::remainder) low[part.dim] = size_of(part.factor);
  Layout layout;
  for (const LayoutPart& part : parts) {
    int64_t extent = std::max<int64_t>(extents[part.dim], 1);
    int64_t factor = part.part == LayoutDigit::Part::remainder ? low[part.dim]
                     : part.part == LayoutDigit::Part::whole   ? extent
                                                               : (extent + low[part.dim] - 1) / low[part.dim];
    layout.pieces.push_back({part.dim, factor});
  }
  return layout;
}

std::vector<SizedLoop> SizedTemplate::sized_loops(const Stage& stage) const {
  std::vector<SizedLoop> out;
  for (const TemplateLoop& loop : stage.loops) {
    const bool has_lanes = loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::tensor;
    out.push_back({loop.index, size_of(loop.step), loop.mark.kind, has_lanes ? size_of(loop.lanes) : 0,
                   loop.index >= stage.data_indices, false, loop.name, loop.cuts, loop.mark.detail,
                   loop.mark.non_temporal, loop.kind == TemplateLoop::Kind::reduction_part, loop.wave, false,
                   size_of(loop.slots)});
  }
  for (const SizedLoop& vector : std::vector<SizedLoop>(out))
    if (vector.mark == MarkKind::vector && vector.reduced)
      for (SizedLoop& loop : out) loop.lane |= loop.is_register() && loop.index == vector.index;
  std::map<uint32_t, int64_t> inner, tile;
  for (size_t k = out.size(); k-- > 0;) {
    const bool is_part = out[k].mark == MarkKind::parallel && stage.loops[k].lanes.constant > 0;
    int64_t& unit = (is_part ? tile : inner).try_emplace(out[k].index, 1).first->second;
    out[k].step = (out[k].step + unit - 1) / unit * unit;
    unit = out[k].mark == MarkKind::vector ? out[k].lanes : out[k].step;
    if (!out[k].is_register()) tile.try_emplace(out[k].index, out[k].step);
  }
  return out;
}

Body SizedTemplate::body_of(uint32_t stage_id) const {
  const Stage& stage = t_.stages[stage_id];
  Body body;
  body.stage = &stage;
  body.equation = &equation_of(stage);
  body.id = stage_id;
  body.first_index = t_.program.index_var(0);
  body.is_in_band = stage.placement.kind == Placement::Kind::fused && t_.stages[stage.placement.host].is_frame;
  body.overlap = overlap_of(stage_id);
  body.loops = sized_loops(stage);
  body.done.assign(stage.inside.size(), 0);
  for (Determined& each : determined_indices(t_, stage_id)) {
    for (SizedLoop& loop : body.loops)
      if (loop.index == each.index && loop.step == 1) loop.is_determined = true;
    body.determined.push_back({std::move(each)});
  }
  body.initialized = !stage.reduces || stage.part == SumPart::folds;
  if (stage.part == SumPart::first) body.leaf = Leaf::init;
  for (size_t k = 0; k < stage.lo.size(); ++k)
    body.ranges.push_back({Affine::of(stage.lo[k]), std::max<int64_t>(stage.hi[k] - stage.lo[k], 0), {}, {}});
  return body;
}

bool defines(const Equation& equation, TensorId tensor) {
  return std::find(equation.targets.begin(), equation.targets.end(), tensor) != equation.targets.end();
}

bool reads_tensor(const Equation& equation, TensorId tensor) {
  bool found = false;
  visit(equation.rhs, [&](const ExprNode& e) { found |= e.op == Op::read && e.access.id == tensor; });
  return found;
}

const Reduction* reduction_of(const Equation& equation) {
  return equation.rhs && equation.rhs->op == Op::reduce ? &equation.rhs->reduction : nullptr;
}

}  // namespace polyweft::ir
