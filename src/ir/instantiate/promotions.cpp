#include "ir/instantiate/promotions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/instantiate/conditions.h"

namespace polyweft::ir {

namespace {

/// The layout in which a `const in` arrives: that of the reader with most points among those that promote it outside
/// all loops; the others read it as it is. Nullptr where the greatest reader does not.
const Promotion* layout_ahead(const SizedTemplate& schedule, TensorId tensor) {
  const Promotion* found = nullptr;
  double most = -1;
  for (const Stage& stage : schedule.stages()) {
    double points = 1;
    for (size_t k = 0; k < stage.lo.size(); ++k)
      points *= static_cast<double>(std::max<int64_t>(stage.hi[k] - stage.lo[k], 0));
    if (!reads_tensor(schedule.equation_of(stage), tensor) || points <= most) continue;
    most = points;
    found = nullptr;
    for (const Promotion& promotion : stage.promotions)
      if (promotion.tensor == tensor && promotion.depth == 0) found = &promotion;
  }
  return found;
}

/// The only read of a tensor in a right-hand side.
const Access* only_read(const Expr& e, TensorId tensor) {
  const Access* access = nullptr;
  int reads = 0;
  visit(e, [&](const ExprNode& node) {
    if (node.op == Op::read && node.access.id == tensor) access = &node.access, ++reads;
  });
  return reads == 1 ? access : nullptr;
}

/// Limits of what a statement of a band reads of a tensor, by its conditions: what lies beyond them may not be made
/// yet. One read, whose subscripts are single indices.
std::vector<Range> read_limits(const Body& body, const Window& window, TensorId tensor,
                               const LoopVariables& variables) {
  std::vector<Range> out;
  if (!body.is_in_band || !body.stage->placement.alone.empty()) return out;
  const Access* access = only_read(body.equation->rhs, tensor);
  for (size_t d = 0; d < window.origin.size(); ++d) {
    out.push_back({window.origin[d], window.extent[d], {}, {}});
    if (!access || access->index[d].data || access->index[d].affine.terms.size() != 1) continue;
    const Affine& e = access->index[d].affine;
    if (e.terms[0].quasi || e.terms[0].coeff != 1) continue;
    const uint32_t index = body.index_of(e.terms[0].var);
    const Affine first = body.ranges[index].origin + Affine::of(e.constant) - window.origin[d];
    if (!first.is_constant()) continue;
    Body tried = body;
    const Range read = cut(tried, index, Cut::outset, variables);
    const Affine moved = read.origin - body.ranges[index].origin + first;
    Range& range = out.back();
    range.lower.push_back(moved);
    range.upper.push_back({moved + Affine::of(read.extent), false});
    for (const Affine& lower : read.lower) range.lower.push_back(lower + moved);
    for (const Limit& limit : read.upper) range.upper.push_back({limit.e + moved, false});
  }
  return out;
}

/// The body in the first iteration of its loops from `depth` to `end`.
Body in_first_iteration(Body body, size_t depth, size_t end) {
  for (size_t k = depth; k < end && k < body.loops.size(); ++k) {
    Range& range = body.ranges[body.loops[k].index];
    range.extent = std::min(range.extent, body.loops[k].step);
  }
  return body;
}

}  // namespace

void Promotions::pack_const_inputs() {
  LoopNest& nest = nest_.nest();
  for (TensorId tensor : schedule_.program().inputs()) {
    if (!schedule_.tensor(tensor).is_const_input) continue;
    const Promotion* promotion = layout_ahead(schedule_, tensor);
    const View source = storage_.innermost(tensor);
    const Window window = windows_.hull(tensor);
    const BufferId packed = storage_.make_window(window, tensor, Scope::argument, ".p");
    const std::vector<LayoutPart> layout = promotion ? promotion->layout : std::vector<LayoutPart>{};
    if (promotion) nest_.buffer(packed).layout = schedule_.layout_of(layout, window.extent);
    nest_.buffer(packed).is_packed = true;
    std::replace(nest.arguments.begin(), nest.arguments.end(), source.buffer, packed);
    const View view{packed, window.origin, std::nullopt};
    const NodeId copy = copies_.copy({tensor, window, view, source, layout});
    nest.packs.push_back({source.buffer, packed, copy});
    storage_.pop(tensor);
    storage_.push(tensor, view);
  }
}

bool Promotions::may_hoist(uint32_t stage, const Promotion& promotion, size_t depth) {
  const bool is_done = std::any_of(hoisted_.begin(), hoisted_.end(), [&](const HoistedCopy& known) {
    return known.promotion == &promotion && known.depth < depth;
  });
  const bool is_input = schedule_.tensor(promotion.tensor).kind == TensorKind::input;
  return promotion.scope == Scope::heap && is_input && !is_done &&
         !nest_.buffer(storage_.view_of(promotion.tensor, stage).buffer).is_packed;
}

std::optional<Promotions::Reading> Promotions::reading_of(const Body& outer, size_t depth, uint32_t attached,
                                                          TensorId tensor) const {
  const auto window = windows_.window_of_all(outer, depth, schedule_.targets_of(attached));
  if (!window) return std::nullopt;
  Body body = windows_.body_in(attached, *window);
  auto read = windows_.footprint(body, tensor);
  if (!read) return std::nullopt;
  return Reading{std::move(body), *std::move(read)};
}

std::vector<HoistedCopy> Promotions::hoisted_copies(const Body& body, size_t depth) {
  std::vector<HoistedCopy> out;
  if (slides_.loops > 0 || body.stage->is_frame) return out;
  for (uint32_t attached : schedule_.attached_to(body.id)) {
    const Stage& stage = schedule_.stage(attached);
    const Placement& at = stage.placement;
    const bool is_window = at.kind == Placement::Kind::compute_at && !at.slide && !slides_.of_stage[attached];
    if (!is_window || at.depth <= depth) continue;
    for (const Promotion& promotion : stage.promotions) {
      if (!may_hoist(attached, promotion, depth)) continue;
      auto all = reading_of(body, depth, attached, promotion.tensor);
      const auto once = reading_of(in_first_iteration(body, depth, at.depth), depth, attached, promotion.tensor);
      if (!all || !once || all->window.origin != once->window.origin || all->window.extent != once->window.extent)
        continue;
      const auto runs_once = [&](const SizedLoop& loop) { return once->body.ranges[loop.index].extent <= loop.step; };
      const auto& loops = once->body.loops;
      if (!std::all_of(loops.begin(), loops.begin() + promotion.depth, runs_once)) continue;
      out.push_back({&promotion, depth, std::move(all->body)});
    }
  }
  return out;
}

bool Promotions::is_hoisted(const Promotion& promotion) const {
  return std::any_of(hoisted_.begin(), hoisted_.end(),
                     [&](const HoistedCopy& copy) { return copy.promotion == &promotion; });
}

NodeId Promotions::hoist(const HoistedCopy& copy, NestPlace at) {
  hoisted_.push_back(copy);
  const NodeId made = promote_for(copy.body, *copy.promotion, std::move(at));
  hoisted_.pop_back();
  return made;
}

NodeId Promotions::promote(const Promotion& promotion, NestPlace at) {
  const Body reader = at.body;
  return promote_for(reader, promotion, std::move(at));
}

NodeId Promotions::promote_for(const Body& reader, const Promotion& promotion, NestPlace at) {
  const TensorId tensor = promotion.tensor;
  const auto window = windows_.footprint(reader, tensor);
  if (!window) return inner_.emit_rest(std::move(at));
  const View source = storage_.view_of(tensor, reader.id);
  if (promotion.depth == 0 && nest_.buffer(source.buffer).is_packed && layout_ahead(schedule_, tensor))
    return inner_.emit_rest(std::move(at));
  const BufferId buffer = storage_.make_window(*window, tensor, promotion.scope, ".p");
  nest_.buffer(buffer).layout = schedule_.layout_of(promotion.layout, window->extent);
  const View view{buffer, window->origin, reader.id};
  const auto& loops = at.body.loops;
  const bool is_shared = at.depth == 0 && !loops.empty() && loops[0].mark == MarkKind::parallel;
  const MarkKind outermost = is_shared ? MarkKind::parallel : MarkKind::serial;
  const NodeId copy = copies_.copy({tensor, *window, view, source, promotion.layout, outermost,
                                    promotion.vectors, read_limits(reader, *window, tensor, nest_.variables())});
  storage_.push(tensor, view);
  const NodeId rest = inner_.emit_rest(std::move(at));
  storage_.pop(tensor);
  return nest_.within({buffer}, nest_.seq({copy, rest}));
}

}  // namespace polyweft::ir
