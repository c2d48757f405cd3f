#include "ir/instantiate/merges.h"

#include <algorithm>
#include <utility>

#include "ir/nests/axes.h"
#include "ir/values/slots.h"

namespace polyweft::ir {

Compute header_of(const SizedTemplate& schedule, const Body& body, Write how) {
  const std::vector<Equation>& equations = schedule.program().equations;
  Compute out;
  out.equation = body.stage->equation;
  out.how = how;
  const auto& origin = body.stage->origin;
  // First values that are a statement of their own have no reduction left; the equation that they begin does.
  if (const Reduction* reduction = reduction_of(origin ? equations[origin->equation] : *body.equation)) {
    out.reducer = reduction->reducer;
    out.combiner = reduction->combiner;
  }
  const bool of_element = how == Write::init || how == Write::merge;
  if (!origin) {
    const size_t count = of_element ? body.stage->data_indices : body.ranges.size();
    for (uint32_t k = 0; k < count; ++k) out.instance.push_back(body.ranges[k].origin);
    return out;
  }
  out.equation = origin->equation;
  const auto map = coordinates(body);
  const size_t count = of_element ? bound_indices(equations[origin->equation]) : origin->instance.size();
  for (uint32_t k = 0; k < count; ++k) out.instance.push_back(substitute(origin->instance[k], map));
  return out;
}

Access result_of(const Body& body, size_t component, const std::vector<Affine>& element, Storage& storage) {
  if (!body.partials.empty()) return access_to(body.partials[component], element, {body.part});
  return access_to(storage.view_of(body.equation->targets[component], body.id), element);
}

Copy moved(const NestWriter& nest, const Access& dst, const Access& src) {
  Copy out;
  out.dst = dst;
  out.src = src;
  out.fill.type = nest.buffer(dst.id).type;
  return out;
}

std::vector<MergeLevel> merge_levels(const Body& body, const NestWriter& nest) {
  const std::vector<int64_t>& extents = nest.buffer(body.accumulators[0].buffer).extents;
  const size_t rank = body.equation->slots.size(), lane_rank = extents.size() - rank;
  std::vector<MergeLevel> out;
  for (size_t d = 0; d + 1 < lane_rank; ++d)
    for (int64_t n = extents[rank + d]; n > 1; n = (n + 1) / 2) out.push_back({MergeLevel::Kind::unrolled, d, n});
  out.push_back({MergeLevel::Kind::spill});
  for (int64_t n = extents.back(); n > 1; n = (n + 1) / 2) out.push_back({MergeLevel::Kind::lanes, 0, n});
  out.push_back({MergeLevel::Kind::store});
  return out;
}

/// One level of the tree: lane x of a dimension takes lane x + half, for x in 0..count - half. Of unrolled lanes whole
/// vectors, else the lanes of one.
NodeId Merges::step(const Body& body, const MergeLevel& level, const std::vector<View>& views) {
  const std::vector<Affine> element = element_of(body, coordinates(body));
  const int64_t half = (level.count + 1) / 2, count = level.count - half;
  const Buffer& first = nest_.buffer(views[0].buffer);
  std::vector<Affine> to(first.extents.size() - element.size(), Affine::of(0));
  const bool is_last = level.dim + 1 == to.size();
  const int64_t lanes = first.extents.back();
  Compute out = header_of(schedule_, body, Write::merge);
  const VarId var = nest_.register_variable("m", count - 1);
  std::vector<Affine> from = to;
  to[level.dim] = Affine::variable(var);
  from[level.dim] = Affine::variable(var) + Affine::of(half);
  VarId lane = kNoVar;
  if (!is_last) {
    lane = nest_.register_variable("m.v", lanes - 1);
    to.back() = from.back() = Affine::variable(lane);
  }
  for (const View& view : views) {
    out.dst.push_back(access_to(view, element, to));
    out.rhs.push_back(make_read(nest_.buffer(view.buffer).type, access_to(view, element, from)));
  }
  const NodeId inner = nest_.add(std::move(out));
  if (is_last && count > 1) return nest_.add(vector_loop(var, count, inner));
  Loop unrolled = counted_loop(var, count, is_last ? inner : nest_.add(vector_loop(lane, lanes, inner)));
  unrolled.mark.kind = MarkKind::unroll;
  return nest_.add(std::move(unrolled));
}

/// for lane: rows[lane] = first unrolled accumulator's lane.
NodeId Merges::spill(const Body& body) {
  const std::vector<Affine> element = element_of(body, coordinates(body));
  const std::vector<int64_t>& extents = nest_.buffer(body.accumulators[0].buffer).extents;
  const int64_t width = extents.back();
  std::vector<Affine> lanes(extents.size() - element.size(), Affine::of(0));
  std::vector<NodeId> loops;
  for (size_t k = 0; k < body.rows.size(); ++k) {
    const VarId lane = nest_.register_variable("m.v", width - 1);
    lanes.back() = Affine::variable(lane);
    const Access row = access_to(body.rows[k], element, {Affine::variable(lane)});
    const Access own = access_to(body.accumulators[k], element, lanes);
    const NodeId copy = nest_.add(moved(nest_, row, own));
    loops.push_back(nest_.add(vector_loop(lane, width, copy)));
  }
  return nest_.seq(std::move(loops));
}

NodeId Merges::store(const Body& body) {
  const std::vector<Affine> element = element_of(body, coordinates(body));
  std::vector<NodeId> stores;
  Compute into = header_of(schedule_, body, Write::merge);
  for (size_t k = 0; k < body.rows.size(); ++k) {
    const Access first = access_to(body.rows[k], element, {Affine::of(0)});
    const Access result = result_of(body, k, element, storage_);
    storage_.check_register_index(result);
    if (body.adds_to_result) {
      into.dst.push_back(result);
      into.rhs.push_back(make_read(nest_.buffer(first.id).type, first));
    } else {
      stores.push_back(nest_.add(moved(nest_, result, first)));
    }
  }
  if (body.adds_to_result) return nest_.add(std::move(into));
  return nest_.seq(std::move(stores));
}

NodeId Merges::level(const Body& body, const MergeLevel& level) {
  switch (level.kind) {
    case MergeLevel::Kind::spill:
      return spill(body);
    case MergeLevel::Kind::lanes:
      return step(body, level, body.rows);
    case MergeLevel::Kind::unrolled:
      return step(body, level, body.accumulators);
    case MergeLevel::Kind::store:
      break;
  }
  return store(body);
}

NodeId Merges::lanes(Body& body) {
  if (body.merge_level) return level(body, *body.merge_level);
  const std::vector<Affine> element = element_of(body, coordinates(body));
  const int64_t lanes = nest_.buffer(body.accumulators[0].buffer).extents.back();
  const std::vector<int64_t> shape(element.size(), 1);
  std::vector<BufferId> rows;
  for (TensorId tensor : body.equation->targets) {
    rows.push_back(storage_.make_rows(tensor, element, shape, lanes));
    body.rows.push_back(View{rows.back(), element, std::nullopt});
  }
  std::vector<NodeId> steps;
  for (const MergeLevel& each : merge_levels(body, nest_)) steps.push_back(level(body, each));
  return nest_.within(rows, nest_.seq(std::move(steps)));
}

/// Parts that blocks fold, the threads of one more block put together: as many of them, at most, as any machine runs.
static bool are_of_blocks(const Body& body, int64_t merged) {
  constexpr int64_t kThreads = 1024;
  return merged <= kThreads && std::any_of(body.stage->loops.begin(), body.stage->loops.end(), [](const auto& loop) {
           return loop.kind == TemplateLoop::Kind::reduction_part && loop.mark.kind == MarkKind::axis &&
                  !is_thread_axis(loop.mark.detail);
         });
}

NodeId Merges::parts(const Body& body) {
  const std::vector<Affine> element = element_of(body, coordinates(body));
  const auto& targets = body.equation->targets;
  const Compute header = header_of(schedule_, body, Write::merge);
  const auto cell = [&](size_t k, const Affine& part) { return access_to(body.partials[k], element, {part}); };
  std::vector<NodeId> steps;
  for (int64_t n = nest_.buffer(body.partials[0].buffer).extents.back(); n > 1; n = (n + 1) / 2) {
    const int64_t half = (n + 1) / 2;
    const VarId var = nest_.variable("m", 1, n - half - 1);
    Compute out = header;
    for (size_t k = 0; k < targets.size(); ++k) {
      out.dst.push_back(cell(k, Affine::variable(var)));
      const Access other = cell(k, Affine::variable(var) + Affine::of(half));
      out.rhs.push_back(make_read(nest_.buffer(body.partials[k].buffer).type, other));
    }
    Loop level = counted_loop(var, n - half, nest_.add(std::move(out)));
    if (are_of_blocks(body, n - half)) level.mark = {MarkKind::axis, 0, "thread_x"};
    steps.push_back(nest_.add(std::move(level)));
  }
  for (size_t k = 0; k < targets.size(); ++k) {
    const Access result = access_to(storage_.view_of(targets[k], body.id), element);
    steps.push_back(nest_.add(moved(nest_, result, cell(k, Affine::of(0)))));
  }
  return nest_.seq(std::move(steps));
}

}  // namespace polyweft::ir
