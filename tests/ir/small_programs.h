// Programs built by hand, for tests of src/ir that must not need the parser.
#pragma once

#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::test {

inline Subscript at(Affine e) {
  return {std::move(e), nullptr, {}, {}};
}

inline Expr read(const Program& p, TensorId id, std::vector<Affine> index) {
  Access access;
  access.id = id;
  for (Affine& e : index) access.index.push_back(at(std::move(e)));
  return make_read(p.tensors[id].type, std::move(access));
}

inline TensorId add_tensor(Program& p, std::string name, TensorKind kind, ElementType type, uint32_t rank,
                           std::vector<Affine> shape = {}) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.kind = kind;
  tensor.type = type;
  tensor.rank = rank;
  tensor.shape = std::move(shape);
  p.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(p.tensors.size() - 1);
}

inline Program with_parameters(std::string name, std::vector<Parameter> parameters) {
  Program p;
  p.name = std::move(name);
  p.parameters = std::move(parameters);
  for (VarId v = 0; v < p.parameters.size(); ++v)
    p.assumptions.push_back(guard_ge0(Affine::variable(v) - Affine::of(1)));
  return p;
}

inline Slot slot(VarId var, Affine lo, Affine hi) {
  return {var, std::move(lo), std::move(hi), {}};
}

inline Slot position(Affine e) {
  return {kNoVar, {}, {}, std::move(e)};
}

inline Expr reduce(Reducer reducer, std::vector<IndexRange> ranges, Expr body, Guard where = {}) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::reduce;
  node->type = reducer == Reducer::argmax || reducer == Reducer::argmin ? ElementType::i64 : body->type;
  node->reduction.reducer = reducer;
  node->reduction.ranges = std::move(ranges);
  node->reduction.where = std::move(where);
  node->args = {std::move(body)};
  return node;
}

inline Expr guarded(Guard g, Expr then, Expr otherwise) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::guarded;
  node->type = then->type;
  node->guard = std::move(g);
  node->args = {std::move(then), std::move(otherwise)};
  return node;
}

inline Expr number(ElementType type, double value) {
  Literal literal;
  literal.type = type;
  if (is_float(type))
    literal.f = value;
  else
    literal.i = static_cast<int64_t>(value);
  return make_literal(literal);
}

inline Affine zero() {
  return Affine::of(0);
}

/// out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]
inline Program gemm() {
  Program p = with_parameters("gemm", {{"M", 3}, {"N", 4}, {"K", 5}});
  Affine m = Affine::variable(0), n = Affine::variable(1), k = Affine::variable(2);
  TensorId a = add_tensor(p, "A", TensorKind::input, ElementType::f32, 2, {m, k});
  TensorId b = add_tensor(p, "B", TensorKind::input, ElementType::f32, 2, {k, n});
  TensorId c = add_tensor(p, "C", TensorKind::output, ElementType::f32, 2);
  Affine vi = Affine::variable(3), vj = Affine::variable(4), vk = Affine::variable(5);
  Equation e;
  e.targets = {c};
  e.slots = {slot(3, zero(), m), slot(4, zero(), n)};
  e.index_names = {"i", "j", "k"};
  Expr product = make_op(Op::mul, ElementType::f32, {read(p, a, {vi, vk}), read(p, b, {vk, vj})});
  e.rhs = reduce(Reducer::sum, {{5, zero(), k}}, product);
  p.equations = {e};
  return p;
}

/// let S[0] = X[0]; let S[i: 1..N] = S[i-1] + X[i]; out Y[i: N] = S[i] - max[k: 0..i+1] X[k]
inline Program prefix_sum(int64_t n) {
  Program p = with_parameters("prefix", {{"N", n}});
  Affine size = Affine::variable(0), i = Affine::variable(1), k = Affine::variable(2);
  TensorId x = add_tensor(p, "X", TensorKind::input, ElementType::i32, 1, {size});
  TensorId s = add_tensor(p, "S", TensorKind::local, ElementType::i32, 1);
  TensorId y = add_tensor(p, "Y", TensorKind::output, ElementType::i32, 1);
  Equation first, next, last;
  first.targets = next.targets = {s};
  first.slots = {position(zero())};
  first.rhs = read(p, x, {zero()});
  next.slots = {slot(1, Affine::of(1), size)};
  next.index_names = {"i"};
  next.rhs = make_op(Op::add, ElementType::i32, {read(p, s, {i - Affine::of(1)}), read(p, x, {i})});
  last.targets = {y};
  last.slots = {slot(1, zero(), size)};
  last.index_names = {"i", "k"};
  Expr best = reduce(Reducer::max, {{2, zero(), i + Affine::of(1)}}, read(p, x, {k}));
  last.rhs = make_op(Op::sub, ElementType::i32, {read(p, s, {i}), best});
  p.equations = {first, next, last};
  return p;
}

}  // namespace polyweft::test
