#include "targets/common/values/statements.h"

#include <algorithm>
#include <numeric>

#include "ir/nests/shared_memory.h"

namespace polyweft::targets {

/// The state and a product, rounded once; of a sum of products one after the other.
llvm::Value* Statements::fused_sum(const Expr& product, llvm::Value* state) {
  if (product->op == Op::add) return fused_sum(product->args[1], fused_sum(product->args[0], state));
  if (product->op != Op::mul) throw Refusal{fail("PW0501", "a fused accumulation needs a product")};
  std::vector<llvm::Value*> operands = {expressions_.expression(product->args[0]),
                                        expressions_.expression(product->args[1]), state};
  scalar_.unify(operands);
  return scalar_.fma(product->type, operands[0], operands[1], operands[2]);
}

/// The compiler may reassociate the sum or product that these instructions fold, where the class allows it.
llvm::FastMathFlags Statements::flags_of_fold(const Compute& compute) const {
  llvm::FastMathFlags flags;
  const bool is_fold = compute.reducer == Reducer::sum || compute.reducer == Reducer::prod;
  if (!nest_.auto_vectorized || nest_.cls != NumericsClass::reassoc || !is_fold) return flags;
  flags.setAllowReassoc();
  flags.setAllowContract();
  return flags;
}

/// The same sum for the compiler's vectorizers, which take products and sums apart: it rounds once where the target has
/// an instruction for it.
llvm::Value* Statements::contracted_sum(const Expr& product, llvm::Value* state, llvm::FastMathFlags flags) {
  if (product->op == Op::add)
    return contracted_sum(product->args[1], contracted_sum(product->args[0], state, flags), flags);
  if (product->op != Op::mul) throw Refusal{fail("PW0501", "a fused accumulation needs a product")};
  llvm::Value *a = expressions_.expression(product->args[0]), *b = expressions_.expression(product->args[1]);
  const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  return b_.CreateFAdd(state, b_.CreateFMul(a, b));
}

void Statements::accumulate(const Compute& compute) {
  std::vector<llvm::Value*> state;
  for (const auto& dst : compute.dst) state.push_back(memory_.load(dst));
  const llvm::FastMathFlags flags = flags_of_fold(compute);
  if (compute.fused) {
    const bool is_wide = compute.rhs[0]->type == ElementType::f32 || compute.rhs[0]->type == ElementType::f64;
    memory_.store(compute.dst[0], flags.allowReassoc() && is_wide ? contracted_sum(compute.rhs[0], state[0], flags)
                                                                  : fused_sum(compute.rhs[0], state[0]));
    return;
  }
  std::vector<llvm::Value*> all = state;
  for (size_t k = 0; k < compute.rhs.size(); ++k) all.push_back(operand_for(compute.dst[k], compute.rhs[k]));
  scalar_.unify(all);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(state.size());
  const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  const auto out = combiners_.combined(compute, {all.begin(), middle}, {middle, all.end()});
  b_.clearFastMathFlags();
  for (size_t i = 0; i < out.size(); ++i) memory_.store(compute.dst[i], out[i]);
}

bool reads(const Expr& e, BufferId id) {
  return (e->op == Op::read && e->access.id == id) ||
         std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads(arg, id); });
}

void Statements::compute(const Compute& compute) {
  if (compute.how == Write::store && compute.rhs[0]->op == Op::read &&
      ir::stays_in_place(nest_, compute, compute.rhs[0]->access.id))
    return;
  if (compute.how == Write::accumulate || compute.how == Write::merge) return accumulate(compute);
  if (compute.how == Write::init) {
    const bool indices = compute.reducer == Reducer::argmax || compute.reducer == Reducer::argmin;
    for (size_t i = 0; i < compute.dst.size(); ++i) {
      const ElementType type = nest_.buffers[compute.dst[i].id].type;
      llvm::Value* identity = nullptr;
      if (compute.reducer == Reducer::combiner)
        identity = scalar_.constant(nest_.combiners[compute.combiner].identity[i]);
      else if (indices && i > 0)
        identity = b_.getInt64(INT64_MAX);
      else
        identity = scalar_.identity(compute.reducer, type);
      memory_.store(compute.dst[i], identity);
    }
    return;
  }
  accesses_.begin_statement(
      std::any_of(compute.rhs.begin(), compute.rhs.end(), [&](const Expr& e) { return reads(e, compute.dst[0].id); }));
  std::vector<llvm::Value*> values;
  for (const auto& rhs : compute.rhs) values.push_back(expressions_.expression(rhs));
  for (size_t i = 0; i < values.size(); ++i) memory_.store(compute.dst[i], values[i]);
  accesses_.begin_statement(false);
}

void Statements::copy(const Copy& copy) {
  const Guard valid = fold(copy.valid);
  const ElementType type = nest_.buffers[copy.dst.id].type;
  llvm::Value* fill = scalar_.constant(copy.fill);
  if (!copy.has_src || facts_.decide(valid) == false) return memory_.store(copy.dst, fill);
  if (facts_.decide(valid) == true) return memory_.store(copy.dst, memory_.load(copy.src));
  auto source = make_read(type, copy.src);
  ExprNode node;
  node.op = Op::guarded;
  node.type = type;
  node.guard = copy.valid;
  node.args = {source, make_literal(copy.fill)};
  memory_.store(copy.dst,
                branches_.guarded(node, [this](const Expr& value) { return expressions_.expression(value); }));
}

/// As the destination holds it.
llvm::Value* Statements::operand_for(const Access& dst, const Expr& e) {
  if (!registers_.is_short(dst.id)) return expressions_.expression(e);
  if (e->op == Op::read)
    return registers_.is_short(e->access.id) ? memory_.load(e->access)
                                             : registers_.short_index(memory_.load(e->access));
  llvm::Value* value = expressions_.expression(e);
  return b_.CreateTrunc(value, value->getType()->getWithNewBitWidth(32));
}

}  // namespace polyweft::targets
