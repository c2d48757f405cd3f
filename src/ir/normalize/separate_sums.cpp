#include "ir/normalize/separate_sums.h"

#include <algorithm>

#include "ir/values/variables.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kLeastSharing = 8;  ///< values of a slot for which the sum of the other factors is made once

class Separator {
 public:
  Separator(const std::vector<IndexRange>& slots, VarId first_index) : slots_(slots), first_index_(first_index) {}

  Expr rewritten(const Expr& e) const {
    return rewrite(e, [&](const Expr& node) -> Expr { return node->op == Op::reduce ? separated(node) : nullptr; });
  }

 private:
  /// Null where there is nothing to take out.
  Expr separated(const Expr& sum) const {
    if (sum->reduction.reducer != Reducer::sum || !is_integer(sum->type) || sum->args.size() != 1) return nullptr;
    std::vector<Expr> factors;
    collect_factors(sum->args[0], factors);
    for (size_t k = 0; k < factors.size() && factors.size() > 1; ++k)
      if (Expr out = without_offset(sum, factors, k)) return out;
    return nullptr;
  }

  static void collect_factors(const Expr& e, std::vector<Expr>& out) {
    if (e->op != Op::mul) return out.push_back(e);
    for (const Expr& arg : e->args) collect_factors(arg, out);
  }

  Expr without_offset(const Expr& sum, const std::vector<Expr>& factors, size_t k) const {
    const Expr& factor = factors[k];
    if (factor->op != Op::add && factor->op != Op::sub) return nullptr;
    const size_t offset_at = is_offset(factor->args[1], sum->reduction) ? 1 : 0;
    const Expr &offset = factor->args[offset_at], &moving = factor->args[1 - offset_at];
    if (!is_offset(offset, sum->reduction) || is_offset(moving, sum->reduction)) return nullptr;
    std::vector<Expr> others = factors;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    const Expr shared = sum_of(sum, others);
    if (!is_shared(shared, sum)) return nullptr;
    others.insert(others.begin() + static_cast<std::ptrdiff_t>(k), moving);
    Expr product = sum_of(sum, others), correction = make_op(Op::mul, sum->type, {offset, again(shared)}, sum->where);
    product = again(product);
    if (factor->op == Op::add) return make_op(Op::add, sum->type, {product, correction}, sum->where);
    return offset_at == 1 ? make_op(Op::sub, sum->type, {product, correction}, sum->where)
                          : make_op(Op::sub, sum->type, {correction, product}, sum->where);
  }

  Expr again(const Expr& sum) const {
    Expr out = separated(sum);
    return out ? out : sum;
  }

  static Expr sum_of(const Expr& like, const std::vector<Expr>& factors) {
    Expr body = factors[0];
    for (size_t k = 1; k < factors.size(); ++k) body = make_op(Op::mul, like->type, {body, factors[k]}, like->where);
    auto copy = std::make_shared<ExprNode>(*like);
    copy->args = {std::move(body)};
    return copy;
  }

  /// Does not move with the sum, and may be read though the sum has no points.
  bool is_offset(const Expr& e, const Reduction& reduction) const {
    const std::vector<VarId> used = free_variables(e);
    bool is_plain = true, always_has_points = reduction.where.is_true();
    for (const IndexRange& range : reduction.ranges) {
      if (contains(used, range.var)) return false;
      const Affine extent = range.hi - range.lo;
      always_has_points = always_has_points && extent.is_constant() && extent.constant > 0;
    }
    visit(e, [&](const ExprNode& node) {
      is_plain = is_plain && node.op != Op::reduce && node.op != Op::guarded &&
                 (node.op != Op::read || node.access.index.empty() || always_has_points);
    });
    return is_plain;
  }

  /// Does some slot that the whole sum needs move nothing here?
  bool is_shared(const Expr& shared, const Expr& whole) const {
    const std::vector<VarId> left = free_variables(shared), all = free_variables(whole);
    const bool moves =
        std::any_of(shared->reduction.ranges.begin(), shared->reduction.ranges.end(),
                    [&](const IndexRange& range) { return contains(free_variables(shared->args[0]), range.var); });
    return moves && std::any_of(slots_.begin(), slots_.end(), [&](const IndexRange& slot) {
             const Affine extent = slot.hi - slot.lo;
             return slot.var >= first_index_ && contains(all, slot.var) && !contains(left, slot.var) &&
                    (!extent.is_constant() || extent.constant >= kLeastSharing);
           });
  }

  const std::vector<IndexRange>& slots_;
  VarId first_index_;
};

}  // namespace

Expr with_separated_sums(const Expr& e, const std::vector<IndexRange>& slots, VarId first_index) {
  return Separator(slots, first_index).rewritten(e);
}

}  // namespace polyweft::ir
