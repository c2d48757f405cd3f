// The innermost places: one point of an equation, the first value of a reduction, one element moved.
#include <algorithm>

#include "ir/instantiate_internal.h"

namespace polyweft::ir {

const Reduction* reduction_of(const Equation& equation) {
  return equation.rhs && equation.rhs->op == Op::reduce ? &equation.rhs->reduction : nullptr;
}

bool is_fused(NumericsClass cls, const Equation& equation, bool fuses_halves) {
  const Reduction* reduction = reduction_of(equation);
  if (cls == NumericsClass::strict || !reduction || reduction->reducer != Reducer::sum) return false;
  const Expr& body = equation.rhs->args[0];
  return body->op == Op::mul && (body->type == ElementType::f32 || body->type == ElementType::f64 || (fuses_halves && body->type == ElementType::f16));
}

Access access_to(const View& view, const std::vector<Affine>& element) {
  Access out;
  out.id = view.buffer;
  for (size_t d = 0; d < element.size(); ++d) {
    const Affine apart = element[d] - view.origin[d];
    out.index.push_back({view.stride.empty() ? apart : floor_div(apart, view.stride[d]), nullptr, {}, {}});
  }
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

const View& Emitter::view_of(TensorId tensor, uint32_t stage_id) {
  const auto& views = views_[tensor];
  for (size_t k = views.size(); k-- > 0;)
    if (!views[k].only_stage || *views[k].only_stage == stage_id) return views[k];
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
  for (TensorId target : equation_of(*body.stage).targets) {
    out.push_back(access_to(body.accumulator ? *body.accumulator : view_of(target, body.id), element));
    if (body.accumulator) append(out.back(), body.lanes);
    check_register_index(out.back());
  }
  return out;
}

Compute Emitter::header_of(const Body& body, Write how) const {
  Compute out;
  out.equation = body.stage->equation;
  out.how = how;
  if (const Reduction* reduction = reduction_of(equation_of(*body.stage))) {
    out.reducer = reduction->reducer;
    out.combiner = reduction->combiner;
  }
  size_t count = how == Write::init || how == Write::merge ? body.stage->data_indices : body.ranges.size();
  const auto& origin = body.stage->origin;
  if (origin) out.equation = origin->equation;
  const auto map = origin ? coordinates(body) : std::map<VarId, Affine>{};
  for (uint32_t k = 0; k < count; ++k) out.instance.push_back(origin ? substitute(origin->instance[k], map) : body.ranges[k].origin);
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
    if (!body.done[k]) tests.push_back(guard_ge0(substitute(body.stage->inside[k], map)));
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
  for (const Expr& value : values) out.rhs.push_back(with_buffers(substitute(value, map), body.id));
  for (uint32_t k = body.stage->data_indices; out.rhs.size() < out.dst.size(); ++k) {  // argmax: (value, index...)
    auto index = std::make_shared<ExprNode>();
    index->op = Op::affine;
    index->type = ElementType::i64;
    index->affine = body.ranges[k].origin;
    out.rhs.push_back(std::move(index));
  }
  return add(std::move(out));
}

NodeId Emitter::leaf_init(Body& body) {
  std::vector<VarId> vars;
  std::vector<int64_t> extents;
  if (body.lane_loops > 0)
    extents.assign(nest_.buffers[body.accumulator->buffer].extents.end() - static_cast<std::ptrdiff_t>(body.lane_loops),
                   nest_.buffers[body.accumulator->buffer].extents.end());
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
Access Emitter::result_of(const Body& body, const std::vector<Affine>& element) {
  if (!body.partial) return access_to(view_of(equation_of(*body.stage).targets[0], body.id), element);
  Access out = access_to(*body.partial, element);
  append(out, {body.part});
  return out;
}

/// Accumulator to tensor (store) or back (load).
NodeId Emitter::leaf_move(Body& body) {
  auto map = coordinates(body);
  std::vector<Affine> element = element_of(body, 0, map);
  Copy out;
  out.dst = access_to(*body.accumulator, element);
  append(out.dst, body.lanes);
  out.src = result_of(body, element);
  if (body.leaf == Leaf::store) std::swap(out.dst, out.src);
  check_register_index(out.dst);
  check_register_index(out.src);
  out.fill.type = nest_.buffers[out.dst.id].type;
  return add(std::move(out));
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
NodeId Emitter::merge_step(const Compute& header, const View& view, const std::vector<Affine>& element, std::vector<Affine> to, size_t dim, int64_t by, int64_t count) {
  VarId var = variable("m", 1, count - 1, true);
  const bool is_last = dim + 1 == to.size();
  std::vector<Affine> from = to;
  to[dim] = Affine::variable(var);
  from[dim] = Affine::variable(var) + Affine::of(by);
  VarId lane = kNoVar;
  int64_t lanes = is_last ? 0 : nest_.buffers[view.buffer].extents.back();
  if (!is_last) {
    lane = variable("m.v", 1, lanes - 1, true);
    to.back() = from.back() = Affine::variable(lane);
  }
  Compute out = header;
  out.dst = {access_to(view, element)};
  append(out.dst[0], to);
  Access source = access_to(view, element);
  append(source, from);
  out.rhs = {make_read(nest_.buffers[view.buffer].type, std::move(source))};
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

/// The lanes of one element while they are merged: registers where each step halves them.
View Emitter::make_rows(TensorId tensor, const std::vector<Affine>& element, int64_t lanes) {
  Buffer row;
  row.name = t_.program.tensors[tensor].name + ".r";
  row.type = t_.program.tensors[tensor].type;
  row.scope = (lanes & (lanes - 1)) == 0 ? Scope::reg : Scope::stack;
  row.extents.assign(element.size(), 1);
  row.extents.push_back(lanes);
  row.layout = row_major(row.extents);
  row.tensor = tensor;
  row.element = element;
  nest_.buffers.push_back(std::move(row));
  return View{static_cast<BufferId>(nest_.buffers.size() - 1), element, std::nullopt};
}

/// Merges unrolled lanes in registers, then the lanes of the vector, then stores the result.
NodeId Emitter::leaf_merge(Body& body) {
  auto map = coordinates(body);
  std::vector<Affine> element = element_of(body, 0, map);
  TensorId tensor = equation_of(*body.stage).targets[0];
  Compute header = header_of(body, Write::merge);
  const View& accumulator = *body.accumulator;
  const std::vector<int64_t> extents = nest_.buffers[accumulator.buffer].extents;
  size_t rank = element.size(), lane_rank = extents.size() - rank;
  std::vector<NodeId> steps;
  std::vector<Affine> zero(lane_rank, Affine::of(0));
  for (size_t d = 0; d + 1 < lane_rank; ++d)
    for (int64_t n = extents[rank + d]; n > 1; n = (n + 1) / 2) steps.push_back(merge_step(header, accumulator, element, zero, d, (n + 1) / 2, n - (n + 1) / 2));
  int64_t lanes = extents.back();
  const View view = make_rows(tensor, element, lanes);
  const ElementType type = t_.program.tensors[tensor].type;
  VarId lane = variable("m.v", 1, lanes - 1, true);
  Copy spill;
  spill.dst = access_to(view, element);
  append(spill.dst, {Affine::variable(lane)});
  spill.src = access_to(accumulator, element);
  zero.back() = Affine::variable(lane);
  append(spill.src, zero);
  spill.fill.type = type;
  Loop copy;
  copy.var = lane;
  copy.lo.of = {Affine::of(0)};
  copy.hi.of = {Affine::of(lanes)};
  copy.mark.kind = MarkKind::vector;
  copy.mark.width = static_cast<int32_t>(lanes);
  copy.body = add(std::move(spill));
  steps.push_back(add(std::move(copy)));
  for (int64_t n = lanes; n > 1; n = (n + 1) / 2) steps.push_back(merge_step(header, view, element, {Affine::of(0)}, 0, (n + 1) / 2, n - (n + 1) / 2));
  Copy store;
  store.dst = result_of(body, element);
  store.src = access_to(view, element);
  append(store.src, {Affine::of(0)});
  store.fill.type = type;
  steps.push_back(add(std::move(store)));
  return add(Alloc{view.buffer, seq(std::move(steps))});
}

/// for m: part m takes part m + half, until one is left; its shape depends on the number of parts alone.
NodeId Emitter::leaf_merge_parts(Body& body) {
  auto map = coordinates(body);
  const std::vector<Affine> element = element_of(body, 0, map);
  const TensorId tensor = equation_of(*body.stage).targets[0];
  const Compute header = header_of(body, Write::merge);
  const auto cell = [&](Affine part) {
    Access out = access_to(*body.partial, element);
    append(out, {std::move(part)});
    return out;
  };
  std::vector<NodeId> steps;
  for (int64_t n = nest_.buffers[body.partial->buffer].extents.back(); n > 1; n = (n + 1) / 2) {
    const int64_t half = (n + 1) / 2;
    VarId var = variable("m", 1, n - half - 1);
    Compute out = header;
    out.dst = {cell(Affine::variable(var))};
    out.rhs = {make_read(nest_.buffers[body.partial->buffer].type, cell(Affine::variable(var) + Affine::of(half)))};
    Loop loop;
    loop.var = var;
    loop.lo.of = {Affine::of(0)};
    loop.hi.of = {Affine::of(n - half)};
    loop.body = add(std::move(out));
    steps.push_back(add(std::move(loop)));
  }
  Copy store;
  store.dst = access_to(view_of(tensor, body.id), element);
  store.src = cell(Affine::of(0));
  store.fill.type = nest_.buffers[store.dst.id].type;
  steps.push_back(add(std::move(store)));
  return seq(std::move(steps));
}

}  // namespace polyweft::ir
