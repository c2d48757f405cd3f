#include "targets/common/values/combiners.h"

#include <algorithm>

#include "targets/common/fold_order.h"

namespace polyweft::targets {

// Value and index of argmax/argmin: a NaN wins over every number, ties go to the lexicographically first index.
std::vector<llvm::Value*> Combiners::argument_reduction(const Compute& compute, const std::vector<llvm::Value*>& state,
                                                        const std::vector<llvm::Value*>& value) {
  const ElementType type = compute.rhs[0]->type;
  const bool is_max = compute.reducer == Reducer::argmax;
  ExprNode node;
  node.type = ElementType::boolean;
  node.args = {compute.rhs[0], compute.rhs[0]};
  const auto relation = [&](Op op, llvm::Value* a, llvm::Value* b) {
    node.op = op;
    return scalar_.apply(node, {a, b});
  };
  std::vector<llvm::Value*> out;
  const auto taken = [&](llvm::Value* take) {
    for (size_t i = 0; i < value.size(); ++i) out.push_back(b_.CreateSelect(take, value[i], state[i]));
    return out;
  };
  const auto [upwards, is_new] =
      upwards_.try_emplace(&compute, false);  // a fold that is written out comes by once a copy
  if (is_new) upwards->second = folds_upwards(nest_, compute);
  if (upwards->second) {  // greater, or a NaN, but not after a NaN; or the first term
    llvm::Value* better = b_.CreateNot(relation(is_max ? Op::le : Op::ge, value[0], state[0]));
    if (is_float(type)) better = b_.CreateAnd(better, relation(Op::eq, state[0], state[0]));
    const unsigned bits = state[1]->getType()->getScalarSizeInBits();
    llvm::Value* none = llvm::ConstantInt::get(state[1]->getType(), llvm::APInt::getSignedMaxValue(bits));
    return taken(b_.CreateOr(better, b_.CreateICmpEQ(state[1], none)));
  }
  llvm::Value* better = relation(is_max ? Op::gt : Op::lt, value[0], state[0]);
  llvm::Value* equal = relation(Op::eq, value[0], state[0]);
  if (is_float(type)) {
    llvm::Value* value_nan = relation(Op::ne, value[0], value[0]);
    llvm::Value* state_nan = relation(Op::ne, state[0], state[0]);
    better = b_.CreateOr(better, b_.CreateAnd(value_nan, b_.CreateNot(state_nan)));
    equal = b_.CreateOr(equal, b_.CreateAnd(value_nan, state_nan));
  }
  llvm::Value* earlier = llvm::Constant::getNullValue(better->getType());
  for (size_t i = value.size(); i-- > 1;)
    earlier =
        b_.CreateOr(b_.CreateICmpSLT(value[i], state[i]), b_.CreateAnd(b_.CreateICmpEQ(value[i], state[i]), earlier));
  return taken(b_.CreateOr(better, b_.CreateAnd(equal, earlier)));
}

std::vector<llvm::Value*> Combiners::combined(const Compute& compute, const std::vector<llvm::Value*>& state,
                                              const std::vector<llvm::Value*>& value) {
  if (compute.reducer == Reducer::argmax || compute.reducer == Reducer::argmin)
    return argument_reduction(compute, state, value);
  if (compute.reducer != Reducer::combiner)
    return {scalar_.combine(compute.reducer, compute.rhs[0]->type, state[0], value[0])};
  const Combiner& combiner = nest_.combiners[compute.combiner];
  const size_t n = combiner.types.size();
  Expressions::Operands operands;
  for (size_t i = 0; i < n; ++i) {
    operands[static_cast<VarId>(i)] = state[i];
    operands[static_cast<VarId>(n + i)] = value[i];
  }
  Expressions::Operands outer = expressions_.exchange_operands(std::move(operands));
  pair_exponentials(combiner);
  std::vector<llvm::Value*> out;
  for (const auto& result : combiner.result) out.push_back(expressions_.expression(result));
  expressions_.forget_known();
  expressions_.exchange_operands(std::move(outer));
  return out;
}

namespace {

/// exp(x - max(a, b)) where x is a or b.
struct Shifted {
  const ExprNode* node = nullptr;
  Expr own, other, greater;
};
std::vector<Shifted> shifted_exponentials(const Combiner& combiner) {
  std::vector<Shifted> out;
  for (const Expr& result : combiner.result)
    visit(result, [&](const ExprNode& e) {
      if (e.op != Op::exp || !is_float(e.type) || e.args[0]->op != Op::sub || e.args[0]->args[1]->op != Op::max) return;
      const Expr& x = e.args[0]->args[0];
      const Expr& greater = e.args[0]->args[1];
      for (size_t k = 0; k < 2; ++k)
        if (equal(x, greater->args[k])) {
          out.push_back({&e, x, greater->args[1 - k], greater});
          return;
        }
    });
  return out;
}

}  // namespace

// Rescaling to a common maximum M = max(a, b) takes exp(a - M) and exp(b - M), and one of the two is exp(0): with e =
// exp(-|a - b|) they are e for the smaller and (M - M) + 1 for the greater, which is 1, or NaN where M is infinite as M
// - M is. The same bits, one exponential.
void Combiners::pair_exponentials(const Combiner& combiner) {
  const std::vector<Shifted> all = shifted_exponentials(combiner);
  const auto pairs_with = [](const Shifted& x, const Shifted& y) {
    return x.node->type == y.node->type && equal(x.own, y.other) && equal(x.other, y.own);
  };
  for (const Shifted& shifted : all) {
    if (expressions_.is_known(shifted.node) ||
        std::none_of(all.begin(), all.end(), [&](const Shifted& y) { return pairs_with(shifted, y); }))
      continue;
    const auto apply = [&](Op op, std::vector<llvm::Value*> args, ElementType type) {
      ExprNode node;
      node.op = op;
      node.type = type;
      node.args = {shifted.own, shifted.own};
      return scalar_.apply(node, std::move(args));
    };
    const ElementType type = shifted.node->type;
    llvm::Value *own = expressions_.expression(shifted.own), *other = expressions_.expression(shifted.other),
                *greater = expressions_.expression(shifted.greater);
    llvm::Value* apart = apply(Op::neg, {apply(Op::abs, {apply(Op::sub, {own, other}, type)}, type)}, type);
    llvm::Value* smaller = apply(Op::exp, {apart}, type);
    llvm::Value* one = scalar_.constant(Literal{type, 1, 0});
    llvm::Value* whole = apply(Op::add, {apply(Op::sub, {greater, greater}, type), one}, type);
    const auto value_of = [&](llvm::Value* x) {
      return b_.CreateSelect(apply(Op::eq, {x, greater}, ElementType::boolean), whole, smaller);
    };
    for (const Shifted& y : all) {
      if (y.node->type != type) continue;
      if (equal(y.own, shifted.own) && equal(y.other, shifted.other)) expressions_.note(y.node, value_of(own));
      if (pairs_with(shifted, y)) expressions_.note(y.node, value_of(other));
    }
  }
}

}  // namespace polyweft::targets
