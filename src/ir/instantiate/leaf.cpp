// The innermost places: one point of an equation, the first value of a reduction, one element moved.
#include <algorithm>

#include "ir/contract.h"
#include "ir/instantiate/internal.h"
#include "ir/slots.h"

namespace polyweft::ir {

const Reduction* reduction_of(const Equation& equation) {
  return equation.rhs && equation.rhs->op == Op::reduce ? &equation.rhs->reduction : nullptr;
}

namespace {

/// A product, or in class reassoc a sum of products: each is folded by itself.
bool is_foldable(NumericsClass cls, const Expr& e) {
  if (e->op == Op::add && cls == NumericsClass::reassoc) return is_foldable(cls, e->args[0]) && is_foldable(cls, e->args[1]);
  return e->op == Op::mul;
}

}  // namespace

bool is_fused(NumericsClass cls, const Equation& equation, bool fuses_halves) {
  const Reduction* reduction = reduction_of(equation);
  if (cls == NumericsClass::strict || !reduction || reduction->reducer != Reducer::sum) return false;
  const Expr& body = equation.rhs->args[0];
  return is_foldable(cls, body) && (body->type == ElementType::f32 || body->type == ElementType::f64 || (fuses_halves && body->type == ElementType::f16));
}

std::vector<Affine> cell_of(const View& view, const std::vector<Affine>& element) {
  std::map<VarId, Affine> map;
  for (uint32_t d = 0; d < element.size(); ++d) map[kCellVar + d] = element[d];
  std::vector<Affine> out;
  const size_t rank = view.cell.empty() ? element.size() : view.cell.size();
  for (size_t k = 0; k < rank; ++k) out.push_back((view.cell.empty() ? element[k] : substitute(view.cell[k], map)) - view.origin[k]);
  return out;
}

Access access_to(const View& view, const std::vector<Affine>& element) {
  Access out;
  out.id = view.buffer;
  const std::vector<Affine> cell = cell_of(view, element);
  for (size_t d = 0; d < cell.size(); ++d) out.index.push_back({view.stride.empty() ? cell[d] : floor_div(cell[d], view.stride[d]), nullptr, {}, {}});
  return out;
}

namespace {

void append(Access& access, const std::vector<Affine>& lanes) {
  for (const Affine& lane : lanes) access.index.push_back({lane, nullptr, {}, {}});
}

}  // namespace

std::map<VarId, Affine> Emitter::coordinates(const Body& body) const {
  std::map<VarId, Affine> out;
  for (uint32_t k = 0; k < body.ranges.size(); ++k) out[index_var(k)] = body.ranges[k].origin;
  return out;
}

TensorId Emitter::original(TensorId tensor) const {
  for (const auto& [alias, of] : t_.aliases)
    if (alias == tensor) return of;
  return tensor;
}

const View& Emitter::view_of(TensorId tensor, uint32_t stage_id) {
  const auto& views = views_[tensor];
  for (size_t k = views.size(); k-- > 0;)
    if (!views[k].only_stage || *views[k].only_stage == stage_id) return views[k];
  if (original(tensor) != tensor) return view_of(original(tensor), stage_id);
  error("PW0314", t_.program.tensors[tensor].name + " lives inside another loop, and is needed outside of it", {"place its readers there too, or distribute it"});
  nowhere_.origin.assign(t_.program.tensors[tensor].rank, Affine::of(0));
  return nowhere_;
}

/// Tensor reads become reads of the buffers that hold the elements here. Subscripts are over loop variables already.
Expr Emitter::with_buffers(const Expr& e, uint32_t stage_id) {
  return rewrite(e, [&](const Expr& node) -> Expr {
    if (node->op != Op::read) return nullptr;
    const View& view = view_of(node->access.id, stage_id);
    Access access;
    access.id = view.buffer;
    if (!view.cell.empty()) {  // no gathers: `store` saw to it
      std::vector<Affine> element;
      for (const Subscript& s : node->access.index) element.push_back(without_lanes(s.affine));
      return make_read(node->type, access_to(view, element));
    }
    for (size_t d = 0; d < node->access.index.size(); ++d) {
      Subscript s = node->access.index[d];
      s.affine = without_lanes(s.affine) - view.origin[d];
      access.index.push_back(std::move(s));
    }
    check_register_index(access);
    return make_read(node->type, std::move(access));
  });
}

std::vector<Affine> Emitter::element_of(const Body& body, uint32_t, const std::map<VarId, Affine>& map) const {
  std::vector<Affine> out;
  for (const Slot& slot : equation_of(*body.stage).slots) out.push_back(slot.var == kNoVar ? substitute(slot.position, map) : map.at(slot.var));
  return out;
}

std::vector<Access> Emitter::destinations(const Body& body, const std::map<VarId, Affine>& map) {
  std::vector<Access> out;
  std::vector<Affine> element = element_of(body, 0, map);
  const auto& targets = equation_of(*body.stage).targets;
  for (size_t k = 0; k < targets.size(); ++k) {
    const bool is_private = !body.accumulators.empty();
    out.push_back(access_to(is_private ? body.accumulators[k] : view_of(targets[k], body.id), element));
    if (is_private) append(out.back(), body.lanes);
    check_register_index(out.back());
  }
  return out;
}

Compute Emitter::header_of(const Body& body, Write how) const {
  Compute out;
  out.equation = body.stage->equation;
  out.how = how;
  const auto& origin = body.stage->origin;
  // First values that are a statement of their own have no reduction left; the equation that they begin does.
  if (const Reduction* reduction = reduction_of(origin ? t_.program.equations[origin->equation] : equation_of(*body.stage))) {
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
  const size_t count = of_element ? bound_indices(t_.program.equations[origin->equation]) : origin->instance.size();
  for (uint32_t k = 0; k < count; ++k) out.instance.push_back(substitute(origin->instance[k], map));
  return out;
}

NodeId Emitter::leaf(Body& body) {
  NodeId node = kNoNode;
  std::vector<Guard> tests;
  auto map = coordinates(body);
  for (const Guard& guard : body.stage->guards) {
    std::vector<VarId> used;
    collect_variables(guard, used);
    bool reduced = std::any_of(used.begin(), used.end(), [&](VarId v) { return index_of(v) >= body.stage->data_indices; });
    if (body.leaf == Leaf::compute || !reduced) tests.push_back(substitute(guard, map));
  }
  for (size_t k = 0; k < body.done.size(); ++k)
    if (!body.done[k]) tests.push_back(guard_ge0(substitute(body.conditions()[k], map)));
  switch (body.leaf) {
    case Leaf::compute:
      node = leaf_compute(body);
      break;
    case Leaf::init:
      node = leaf_init(body);
      break;
    case Leaf::fill:
      node = leaf_fill(body);
      break;
    default:
      node = body.merge_parts ? leaf_merge_parts(body) : body.merge_lanes ? leaf_merge(body) : leaf_move(body);
      break;
  }
  if (tests.empty() || failed_) return node;
  return add(If{tests.size() == 1 ? tests[0] : guard_all(std::move(tests)), node, kNoNode});
}

NodeId Emitter::leaf_compute(Body& body) {
  const Equation& equation = equation_of(*body.stage);
  auto map = coordinates(body);
  Compute out = header_of(body, reduction_of(equation) ? Write::accumulate : Write::store);
  out.fused = t_.fuses_products && is_fused(t_.cls, equation, t_.fuses_halves);
  out.dst = destinations(body, map);
  std::vector<Expr> values;
  if (equation.rhs->op == Op::tuple || equation.rhs->op == Op::reduce)
    values = equation.rhs->args;
  else
    values = {equation.rhs};
  const auto fuses = [&](ElementType type) {
    return t_.fuses_products && t_.cls != NumericsClass::strict &&
           (type == ElementType::f32 || type == ElementType::f64 || (t_.fuses_halves && type == ElementType::f16));
  };
  for (const Expr& value : values) {
    const Expr plain = out.fused ? contracted_inside(value, equation.targets[0], fuses) : contracted(value, equation.targets[0], fuses);
    out.rhs.push_back(with_buffers(substitute(plain, map), body.id));
  }
  const uint32_t own_data = body.stage->origin ? bound_indices(t_.program.equations[body.stage->origin->equation]) : body.stage->data_indices;
  for (uint32_t k = own_data; out.rhs.size() < out.dst.size(); ++k) {  // argmax: (value, index...)
    auto index = std::make_shared<ExprNode>();
    index->op = Op::affine;
    index->type = ElementType::i64;
    index->affine = out.instance[k];
    out.rhs.push_back(std::move(index));
  }
  return add(std::move(out));
}

NodeId Emitter::leaf_init(Body& body) {
  std::vector<VarId> vars;
  std::vector<int64_t> extents;
  if (body.lane_loops > 0)
    extents.assign(nest_.buffers[body.accumulators[0].buffer].extents.end() - static_cast<std::ptrdiff_t>(body.lane_loops),
                   nest_.buffers[body.accumulators[0].buffer].extents.end());
  for (size_t d = 0; d < body.lane_loops; ++d) {
    vars.push_back(variable("l" + std::to_string(d), 1, extents[d] - 1, true));
    body.lanes.push_back(Affine::variable(vars.back()));
  }
  Compute out = header_of(body, Write::init);
  out.dst = destinations(body, coordinates(body));
  NodeId node = add(std::move(out));
  for (size_t d = vars.size(); d-- > 0;) {
    Loop loop;
    loop.var = vars[d];
    loop.lo.of = {Affine::of(0)};
    loop.hi.of = {Affine::of(extents[d])};
    bool is_vector = body.last_lane_is_vector && d + 1 == vars.size();
    loop.mark.kind = is_vector ? MarkKind::vector : MarkKind::unroll;
    if (is_vector) loop.mark.width = static_cast<int32_t>(extents[d]);
    loop.body = node;
    node = add(std::move(loop));
  }
  return node;
}

/// Where an accumulator's final value goes: the tensor, or the cell of this part.
Access Emitter::result_of(const Body& body, size_t component, const std::vector<Affine>& element) {
  if (body.partials.empty()) return access_to(view_of(equation_of(*body.stage).targets[component], body.id), element);
  Access out = access_to(body.partials[component], element);
  append(out, {body.part});
  return out;
}

Copy Emitter::move(const Access& dst, const Access& src) const {
  Copy out;
  out.dst = dst;
  out.src = src;
  out.fill.type = nest_.buffers[dst.id].type;
  return out;
}

/// Accumulator to tensor (store) or back (load), each component of the state.
NodeId Emitter::leaf_move(Body& body) {
  const std::vector<Affine> element = element_of(body, 0, coordinates(body));
  std::vector<NodeId> moves;
  for (size_t k = 0; k < body.accumulators.size(); ++k) {
    Access own = access_to(body.accumulators[k], element);
    append(own, body.lanes);
    const Access result = result_of(body, k, element);
    check_register_index(own);
    check_register_index(result);
    moves.push_back(add(body.leaf == Leaf::store ? move(result, own) : move(own, result)));
  }
  return moves.size() == 1 ? moves[0] : seq(std::move(moves));
}

NodeId Emitter::leaf_fill(Body& body) {
  std::vector<Affine> element;
  for (const Range& range : body.ranges) element.push_back(range.origin);
  Copy out;
  out.dst = access_to(body.fill_view, element);
  out.src = access_to(body.fill_source, element);
  check_register_index(out.src);
  out.fill.type = nest_.buffers[out.dst.id].type;
  return add(std::move(out));
}

/// One level of the tree: lane x of a dimension takes lane x + by, for x in 0..count.
NodeId Emitter::merge_step(const Compute& header, const std::vector<View>& views, const std::vector<Affine>& element, std::vector<Affine> to, size_t dim, int64_t by,
                           int64_t count) {
  VarId var = variable("m", 1, count - 1, true);
  const bool is_last = dim + 1 == to.size();
  std::vector<Affine> from = to;
  to[dim] = Affine::variable(var);
  from[dim] = Affine::variable(var) + Affine::of(by);
  VarId lane = kNoVar;
  int64_t lanes = is_last ? 0 : nest_.buffers[views[0].buffer].extents.back();
  if (!is_last) {
    lane = variable("m.v", 1, lanes - 1, true);
    to.back() = from.back() = Affine::variable(lane);
  }
  Compute out = header;
  for (const View& view : views) {
    out.dst.push_back(access_to(view, element));
    append(out.dst.back(), to);
    Access source = access_to(view, element);
    append(source, from);
    out.rhs.push_back(make_read(nest_.buffers[view.buffer].type, std::move(source)));
  }
  auto loop = [&](VarId v, int64_t trips, MarkKind mark, NodeId inside) {
    Loop node;
    node.var = v;
    node.lo.of = {Affine::of(0)};
    node.hi.of = {Affine::of(trips)};
    node.mark.kind = mark;
    if (mark == MarkKind::vector) node.mark.width = static_cast<int32_t>(trips);
    node.body = inside;
    return add(std::move(node));
  };
  NodeId inner = add(std::move(out));
  if (!is_last) return loop(var, count, MarkKind::unroll, loop(lane, lanes, MarkKind::vector, inner));
  return loop(var, count, count > 1 ? MarkKind::vector : MarkKind::unroll, inner);
}

/// The lanes of elements while they are merged: registers where each step halves them. `shape`: of the elements.
View Emitter::make_rows(TensorId tensor, const std::vector<Affine>& origin, const std::vector<Affine>& element, std::vector<int64_t> shape, int64_t lanes) {
  Buffer row;
  row.name = t_.program.tensors[tensor].name + ".r";
  row.type = t_.program.tensors[tensor].type;
  row.scope = (lanes & (lanes - 1)) == 0 ? Scope::reg : Scope::stack;
  row.extents = std::move(shape);
  row.extents.push_back(lanes);
  row.layout = row_major(row.extents);
  row.tensor = tensor;
  row.element = element;
  nest_.buffers.push_back(std::move(row));
  return View{static_cast<BufferId>(nest_.buffers.size() - 1), origin, std::nullopt};
}

/// for lane: rows[lane] = first unrolled accumulator's lane.
NodeId Emitter::spill_lanes(const Body& body, const std::vector<Affine>& element) {
  const std::vector<int64_t>& extents = nest_.buffers[body.accumulators[0].buffer].extents;
  const int64_t width = extents.back();
  std::vector<Affine> lanes(extents.size() - element.size(), Affine::of(0));
  std::vector<NodeId> loops;
  for (size_t k = 0; k < body.rows.size(); ++k) {
    VarId lane = variable("m.v", 1, width - 1, true);
    lanes.back() = Affine::variable(lane);
    Access row = access_to(body.rows[k], element), own = access_to(body.accumulators[k], element);
    append(row, {Affine::variable(lane)});
    append(own, lanes);
    Loop copy;
    copy.var = lane;
    copy.lo.of = {Affine::of(0)};
    copy.hi.of = {Affine::of(width)};
    copy.mark.kind = MarkKind::vector;
    copy.mark.width = static_cast<int32_t>(width);
    copy.body = add(move(row, own));
    loops.push_back(add(std::move(copy)));
  }
  return seq(std::move(loops));
}

/// What a merge does one after the other: unrolled lanes in registers, a copy of the vector, its lanes in halves, the result.
std::vector<MergeLevel> Emitter::merge_levels(const Body& body) const {
  const std::vector<int64_t>& extents = nest_.buffers[body.accumulators[0].buffer].extents;
  const size_t rank = equation_of(*body.stage).slots.size(), lane_rank = extents.size() - rank;
  std::vector<MergeLevel> out;
  for (size_t d = 0; d + 1 < lane_rank; ++d)
    for (int64_t n = extents[rank + d]; n > 1; n = (n + 1) / 2) out.push_back({MergeLevel::Kind::unrolled, d, n});
  out.push_back({MergeLevel::Kind::spill});
  for (int64_t n = extents.back(); n > 1; n = (n + 1) / 2) out.push_back({MergeLevel::Kind::lanes, 0, n});
  out.push_back({MergeLevel::Kind::store});
  return out;
}

NodeId Emitter::leaf_merge_level(const Body& body, const MergeLevel& level) {
  const std::vector<Affine> element = element_of(body, 0, coordinates(body));
  const int64_t half = (level.count + 1) / 2;
  if (level.kind == MergeLevel::Kind::spill) return spill_lanes(body, element);
  if (level.kind == MergeLevel::Kind::lanes) return merge_step(header_of(body, Write::merge), body.rows, element, {Affine::of(0)}, 0, half, level.count - half);
  if (level.kind == MergeLevel::Kind::unrolled) {
    const size_t lane_rank = nest_.buffers[body.accumulators[0].buffer].extents.size() - element.size();
    return merge_step(header_of(body, Write::merge), body.accumulators, element, std::vector<Affine>(lane_rank, Affine::of(0)), level.dim, half, level.count - half);
  }
  std::vector<NodeId> stores;
  Compute into = header_of(body, Write::merge);
  for (size_t k = 0; k < body.rows.size(); ++k) {
    Access first = access_to(body.rows[k], element);
    append(first, {Affine::of(0)});
    const Access result = result_of(body, k, element);
    check_register_index(result);
    if (body.adds_to_result) {
      into.dst.push_back(result);
      into.rhs.push_back(make_read(nest_.buffers[first.id].type, first));
    } else {
      stores.push_back(add(move(result, first)));
    }
  }
  if (body.adds_to_result) return add(std::move(into));
  return seq(std::move(stores));
}

/// Merges the lanes of one element, or does one level of it.
NodeId Emitter::leaf_merge(Body& body) {
  if (body.merge_level) return leaf_merge_level(body, *body.merge_level);
  const std::vector<Affine> element = element_of(body, 0, coordinates(body));
  const int64_t lanes = nest_.buffers[body.accumulators[0].buffer].extents.back();
  for (TensorId tensor : equation_of(*body.stage).targets) body.rows.push_back(make_rows(tensor, element, element, std::vector<int64_t>(element.size(), 1), lanes));
  std::vector<NodeId> steps;
  for (const MergeLevel& level : merge_levels(body)) steps.push_back(leaf_merge_level(body, level));
  return within(body.rows, seq(std::move(steps)));
}

/// for m: part m takes part m + half, until one is left; its shape depends on the number of parts alone.
NodeId Emitter::leaf_merge_parts(Body& body) {
  const std::vector<Affine> element = element_of(body, 0, coordinates(body));
  const auto& targets = equation_of(*body.stage).targets;
  const Compute header = header_of(body, Write::merge);
  const auto cell = [&](size_t component, const Affine& part) {
    Access out = access_to(body.partials[component], element);
    append(out, {part});
    return out;
  };
  std::vector<NodeId> steps;
  for (int64_t n = nest_.buffers[body.partials[0].buffer].extents.back(); n > 1; n = (n + 1) / 2) {
    const int64_t half = (n + 1) / 2;
    VarId var = variable("m", 1, n - half - 1);
    Compute out = header;
    for (size_t k = 0; k < targets.size(); ++k) {
      out.dst.push_back(cell(k, Affine::variable(var)));
      out.rhs.push_back(make_read(nest_.buffers[body.partials[k].buffer].type, cell(k, Affine::variable(var) + Affine::of(half))));
    }
    Loop loop;
    loop.var = var;
    loop.lo.of = {Affine::of(0)};
    loop.hi.of = {Affine::of(n - half)};
    loop.body = add(std::move(out));
    steps.push_back(add(std::move(loop)));
  }
  for (size_t k = 0; k < targets.size(); ++k) steps.push_back(add(move(access_to(view_of(targets[k], body.id), element), cell(k, Affine::of(0)))));
  return seq(std::move(steps));
}

}  // namespace polyweft::ir
