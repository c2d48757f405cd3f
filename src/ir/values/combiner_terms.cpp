#include "ir/values/combiner_terms.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/values/scalar.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kLargestIndex = 1000;

bool is_structured(Op op) {
  return op == Op::variable || op == Op::affine || op == Op::read || op == Op::reduce || op == Op::component;
}

TermLeaf leaf_for(const Program& program, const Expr& e) {
  TermLeaf leaf{e, e->type, 0, 1};
  if (is_integer(e->type)) leaf = {e, e->type, least_of(e->type), greatest_of(e->type)};
  if (e->op == Op::variable || e->op == Op::affine) leaf = {e, e->type, 0, kLargestIndex};
  if (e->op != Op::read) return leaf;
  const Tensor& tensor = program.tensors[e->access.id];
  if (!tensor.values_lo || is_float(tensor.type)) return leaf;
  std::vector<int64_t> sizes;
  for (const Parameter& parameter : program.parameters) sizes.push_back(parameter.value);
  leaf.lo = std::max(leaf.lo, evaluate(*tensor.values_lo, sizes));
  leaf.hi = std::max(leaf.lo, std::min(leaf.hi, evaluate(*tensor.values_hi, sizes) - 1));
  return leaf;
}

/// A body that gives several values: tuples under guards.
void alternatives(const Expr& body, std::vector<std::vector<Expr>>& out) {
  if (body->op == Op::tuple) return out.push_back(body->args);
  if (body->op != Op::guarded) return out.push_back({body});
  for (const Expr& side : body->args) alternatives(side, out);
}

std::vector<Expr> free_components(const Combiner& combiner) {
  std::vector<Expr> out;
  for (ElementType type : combiner.types) {
    auto node = std::make_shared<ExprNode>(*make_variable(static_cast<VarId>(out.size())));
    node->op = Op::read;  // of nothing: free in its type
    node->type = type;
    node->access.id = UINT32_MAX;
    node->access.index = {{Affine::of(static_cast<int64_t>(out.size())), nullptr, {}, {}}};
    out.push_back(std::move(node));
  }
  return out;
}

double sampled_float(Sample kind, Rng& rng) {
  static constexpr std::array<double, 3> kSpecial = {INFINITY, -INFINITY, NAN};
  if (kind == Sample::special && rng.chance(0.4)) return kSpecial[rng.below(3)];
  switch (rng.below(3)) {
    case 0:
      return static_cast<double>(rng.between(-4, 4));
    case 1:
      return static_cast<double>(rng.between(-64, 64)) / 8;
    default:
      return (rng.uniform() * 2 - 1) * std::pow(10.0, static_cast<double>(rng.between(-2, 3)));
  }
}

int64_t sampled_integer(const TermLeaf& leaf, Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return rng.chance(0.5) ? leaf.lo : leaf.hi;
    case 1:
      return rng.between(leaf.lo, leaf.hi);
    case 2:
      return std::clamp<int64_t>(rng.between(-1000, 1000), leaf.lo, leaf.hi);
    default:
      return std::clamp<int64_t>(rng.between(-9, 9), leaf.lo, leaf.hi);
  }
}

}  // namespace

TermShape::TermShape(const Program& program, std::vector<Expr> components) : components_(std::move(components)) {
  for (const Expr& e : components_) collect(program, e);
}

void TermShape::collect(const Program& program, const Expr& e) {
  ++size_;
  if (e->op == Op::literal) return;
  if (e->op == Op::read && e->access.id == UINT32_MAX)
    return add_leaf({e, e->type, is_integer(e->type) ? least_of(e->type) : 0, greatest_of(e->type)});
  if (is_structured(e->op)) return add_leaf(leaf_for(program, e));
  if (e->op == Op::guarded) add_leaf({e, ElementType::boolean, 0, 1});
  for (const Expr& arg : e->args) collect(program, arg);
}

void TermShape::add_leaf(TermLeaf leaf) {
  if (!leaf_of(leaf.node)) leaves_.push_back(std::move(leaf));
}

std::optional<size_t> TermShape::leaf_of(const Expr& e) const {
  for (size_t k = 0; k < leaves_.size(); ++k)
    if (leaves_[k].node == e || equal(leaves_[k].node, e)) return k;
  return std::nullopt;
}

std::vector<Literal> TermShape::small_values(size_t leaf) const {
  const TermLeaf& it = leaves_[leaf];
  if (it.type == ElementType::boolean) return {integer_literal(it.type, 0), integer_literal(it.type, 1)};
  std::vector<Literal> out;
  for (int64_t value : {0, 1, -1, 2, -2, 3, -3, 4, -4}) {
    if (is_float(it.type))
      out.push_back(float_literal(it.type, static_cast<double>(value)));
    else if (it.lo <= value && value <= it.hi)
      out.push_back(integer_literal(it.type, value));
  }
  for (int64_t value = it.lo; out.empty() && value <= it.hi && value - it.lo < 5; ++value)
    out.push_back(integer_literal(it.type, value));
  return out;
}

Literal TermShape::sample(size_t leaf, Sample kind, Rng& rng) const {
  const TermLeaf& it = leaves_[leaf];
  if (is_float(it.type)) return float_literal(it.type, sampled_float(kind, rng));
  return integer_literal(it.type, sampled_integer(it, rng));
}

std::vector<Literal> TermShape::term(const std::vector<Literal>& values) const {
  std::vector<Literal> out;
  for (const Expr& e : components_) out.push_back(value(e, values));
  return out;
}

Literal TermShape::value(const Expr& e, const std::vector<Literal>& values) const {
  if (e->op == Op::literal) return e->literal;
  if (is_structured(e->op)) return values[*leaf_of(e)];
  if (e->op == Op::guarded) return value(e->args[values[*leaf_of(e)].i != 0 ? 0 : 1], values);
  PW_CHECK(e->args.size() <= 3);
  Literal args[3];
  for (size_t k = 0; k < e->args.size(); ++k) args[k] = value(e->args[k], values);
  return apply(e->op, e->type, std::span<const Literal>(args, e->args.size()), MathLibrary::own);
}

std::vector<TermShape> term_shapes(const Program& program, uint32_t combiner) {
  const size_t count = program.combiners[combiner].types.size();
  std::vector<std::vector<Expr>> bodies;
  for (const Equation& equation : program.equations)
    visit(equation.rhs, [&](const ExprNode& e) {
      if (e.op != Op::reduce || e.reduction.reducer != Reducer::combiner || e.reduction.combiner != combiner) return;
      if (e.args.size() == count && count > 1) return bodies.push_back(e.args);
      alternatives(e.args[0], bodies);
    });
  std::erase_if(bodies, [&](const std::vector<Expr>& body) { return body.size() != count; });
  if (bodies.empty()) bodies.push_back(free_components(program.combiners[combiner]));
  std::vector<TermShape> out;
  for (std::vector<Expr>& body : bodies) out.emplace_back(program, std::move(body));
  return out;
}

}  // namespace polyweft::ir
