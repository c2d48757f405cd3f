#include "ir/instantiate/leaves.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "ir/normalize/contract.h"
#include "ir/values/slots.h"

namespace polyweft::ir {

namespace {

bool may_fuse(const NestTemplate& t, ElementType type) {
  const bool has_fma = type == ElementType::f32 || type == ElementType::f64;
  return has_fma || (t.fuses_halves && type == ElementType::f16);
}

/// A product, or in class reassoc a sum of products: each is folded by itself.
bool is_foldable(NumericsClass cls, const Expr& e) {
  if (e->op == Op::add && cls == NumericsClass::reassoc)
    return is_foldable(cls, e->args[0]) && is_foldable(cls, e->args[1]);
  return e->op == Op::mul;
}

/// Whether a sum of products may be folded by fma.
bool is_fused(const NestTemplate& t, const Equation& equation) {
  const Reduction* reduction = reduction_of(equation);
  if (t.cls == NumericsClass::strict || !reduction || reduction->reducer != Reducer::sum) return false;
  const Expr& body = equation.rhs->args[0];
  return is_foldable(t.cls, body) && may_fuse(t, body->type);
}

/// What must hold at the point.
std::vector<Guard> open_tests(const Body& body) {
  std::vector<Guard> tests;
  const auto map = coordinates(body);
  for (const Guard& guard : body.stage->guards) {
    std::vector<VarId> used;
    collect_variables(guard, used);
    const bool is_reduced =
        std::any_of(used.begin(), used.end(), [&](VarId v) { return body.index_of(v) >= body.stage->data_indices; });
    if (body.leaf == Leaf::compute || !is_reduced) tests.push_back(substitute(guard, map));
  }
  for (size_t k = 0; k < body.done.size(); ++k)
    if (!body.done[k]) tests.push_back(guard_ge0(substitute(body.conditions()[k], map)));
  return tests;
}

Expr index_value(const Affine& e) {
  auto out = std::make_shared<ExprNode>();
  out->op = Op::affine;
  out->type = ElementType::i64;
  out->affine = e;
  return out;
}

}  // namespace

NodeId Leaves::leaf(Body& body) {
  std::vector<Guard> tests = open_tests(body);
  const NodeId node = unguarded(body);
  if (tests.empty() || nest_.failed()) return node;
  return nest_.add(If{tests.size() == 1 ? tests[0] : guard_all(std::move(tests)), node, kNoNode});
}

NodeId Leaves::unguarded(Body& body) {
  switch (body.leaf) {
    case Leaf::compute:
      return compute(body);
    case Leaf::init:
      return init(body);
    case Leaf::fill:
      return fill(body);
    default:
      return body.merge_parts ? merges_.parts(body) : body.merge_lanes ? merges_.lanes(body) : move(body);
  }
}

std::vector<Access> Leaves::destinations(const Body& body, const std::map<VarId, Affine>& map) {
  std::vector<Access> out;
  const std::vector<Affine> element = element_of(body, map);
  const auto& targets = body.equation->targets;
  for (size_t k = 0; k < targets.size(); ++k) {
    const bool is_private = !body.accumulators.empty();
    out.push_back(is_private ? access_to(body.accumulators[k], element, body.lanes)
                             : access_to(storage_.view_of(targets[k], body.id), element));
    storage_.check_register_index(out.back());
  }
  return out;
}

NodeId Leaves::compute(const Body& body) {
  const NestTemplate& t = schedule_.nest_template();
  const Equation& equation = *body.equation;
  const auto map = coordinates(body);
  Compute out = header_of(schedule_, body, reduction_of(equation) ? Write::accumulate : Write::store);
  out.fused = t.fuses_products && is_fused(t, equation);
  out.dst = destinations(body, map);
  const bool is_tuple = equation.rhs->op == Op::tuple || equation.rhs->op == Op::reduce;
  const std::vector<Expr> values = is_tuple ? equation.rhs->args : std::vector<Expr>{equation.rhs};
  const auto fuses = [&](ElementType type) {
    return t.fuses_products && t.cls != NumericsClass::strict && may_fuse(t, type);
  };
  for (const Expr& value : values) {
    const Expr plain = out.fused ? contracted_inside(value, equation.targets[0], fuses)
                                 : contracted(value, equation.targets[0], fuses);
    out.rhs.push_back(storage_.with_buffers(substitute(plain, map), body.id));
  }
  const auto& origin = body.stage->origin;
  const uint32_t own_data =
      origin ? bound_indices(schedule_.program().equations[origin->equation]) : body.stage->data_indices;
  for (uint32_t k = own_data; out.rhs.size() < out.dst.size(); ++k)  // argmax: (value, index...)
    out.rhs.push_back(index_value(out.instance[k]));
  return nest_.add(std::move(out));
}

NodeId Leaves::init(Body& body) {
  std::vector<VarId> vars;
  std::vector<int64_t> extents;  // of the loops over lanes
  if (body.lane_loops > 0) {
    const std::vector<int64_t>& all = nest_.buffer(body.accumulators[0].buffer).extents;
    extents.assign(all.end() - static_cast<std::ptrdiff_t>(body.lane_loops), all.end());
  }
  for (size_t d = 0; d < body.lane_loops; ++d) {
    vars.push_back(nest_.register_variable("l" + std::to_string(d), extents[d] - 1));
    body.lanes.push_back(Affine::variable(vars.back()));
  }
  Compute out = header_of(schedule_, body, Write::init);
  out.dst = destinations(body, coordinates(body));
  NodeId node = nest_.add(std::move(out));
  for (size_t d = vars.size(); d-- > 0;) {
    const bool is_vector = body.last_lane_is_vector && d + 1 == vars.size();
    Loop loop = is_vector ? vector_loop(vars[d], extents[d], node) : counted_loop(vars[d], extents[d], node);
    if (!is_vector) loop.mark.kind = MarkKind::unroll;
    node = nest_.add(std::move(loop));
  }
  return node;
}

/// Accumulator to tensor (store) or back (load), each component of the state.
NodeId Leaves::move(const Body& body) {
  const std::vector<Affine> element = element_of(body, coordinates(body));
  std::vector<NodeId> moves;
  for (size_t k = 0; k < body.accumulators.size(); ++k) {
    const Access own = access_to(body.accumulators[k], element, body.lanes);
    const Access result = result_of(body, k, element, storage_);
    storage_.check_register_index(own);
    storage_.check_register_index(result);
    const bool is_store = body.leaf == Leaf::store;
    moves.push_back(nest_.add(is_store ? moved(nest_, result, own) : moved(nest_, own, result)));
  }
  return nest_.seq(std::move(moves));
}

NodeId Leaves::fill(const Body& body) {
  std::vector<Affine> element;
  for (const Range& range : body.ranges) element.push_back(range.origin);
  const Access from = access_to(body.fill_source, element);
  storage_.check_register_index(from);
  return nest_.add(moved(nest_, access_to(body.fill_view, element), from));
}

}  // namespace polyweft::ir
