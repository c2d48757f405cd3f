#include "ir/normalize/part_reductions.h"

#include <algorithm>

namespace polyweft::ir {
namespace {

/// Guarded values among the terms that no other reduction or subscript holds.
void collect_guarded(const Expr& e, std::vector<Expr>& out) {
  if (e->op == Op::reduce) return;
  if (e->op == Op::guarded) out.push_back(e);
  for (const Expr& arg : e->args) collect_guarded(arg, out);
}

Expr with_node(const Expr& e, const Expr& node, const Expr& instead) {
  if (e == node) return instead;
  auto copy = std::make_shared<ExprNode>(*e);
  bool changed = false;
  for (Expr& arg : copy->args) {
    Expr next = with_node(arg, node, instead);
    changed |= next != arg;
    arg = std::move(next);
  }
  return changed ? Expr(copy) : e;
}

class Parter {
 public:
  Parter(const Expr& reduce, NumericsClass cls, const AffineFacts& around, const Simplify& simple)
      : reduce_(reduce), cls_(cls), around_(around), simple_(simple) {}

  Expr run() const {
    if (!may_be_parted(*reduce_, NumericsClass::reassoc)) return nullptr;
    std::vector<Expr> nodes;
    collect_guarded(reduce_->args[0], nodes);
    for (const Expr& node : nodes)
      for (const Guard& g : conjuncts(node->guard))
        if (Expr out = moves(g) ? at_a_bound(node, g) : around_all(node, g)) return out;
    if (!may_be_parted(*reduce_, cls_)) return nullptr;
    for (const Guard& g : conjuncts(reduce_->reduction.where))
      if (Expr out = by_alternatives(g)) return out;
    return nullptr;
  }

 private:
  bool moves(const Guard& g) const {
    return uses_any_index([&](VarId var) { return mentions(g, var); });
  }

  template <class F>
  bool uses_any_index(const F& uses) const {
    const auto& ranges = reduce_->reduction.ranges;
    return std::any_of(ranges.begin(), ranges.end(), [&](const IndexRange& range) { return uses(range.var); });
  }

  Expr reduction_of(const Reduction& reduction, Expr term) const {
    auto copy = std::make_shared<ExprNode>(*reduce_);
    copy->reduction = reduction;
    copy->args = {std::move(term)};
    return copy;
  }

  /// The terms with the node's other branch, all equal; null where they are not.
  Expr equal_terms(const Expr& node, const Reduction& domain, const AffineFacts& facts) const {
    AffineFacts inside = facts.with(domain.where);
    for (const IndexRange& range : domain.ranges) inside = inside.with(range);
    const Expr term = simple_(with_node(reduce_->args[0], node, node->args[1]), inside);
    if (uses_any_index([&](VarId var) { return mentions(term, var); })) return nullptr;
    const Expr out = simple_(reduction_of(domain, term), facts);
    return has_reduction(out) && !has_reduction(term) ? nullptr : out;
  }

  /// The node where this condition of it holds: its other conditions are left.
  static Expr under(const Expr& node, const Guard& g) {
    std::vector<Guard> rest = conjuncts(node->guard);
    rest.erase(std::find(rest.begin(), rest.end(), g));
    return guarded_by(guard_all(std::move(rest)), node->args[0], node->args[1]);
  }

  Expr main_part(const Expr& node, const Guard& g, const Reduction& domain, const AffineFacts& facts) const {
    return simple_(reduction_of(domain, with_node(reduce_->args[0], node, under(node, g))), facts);
  }

  /// A condition of the indices around decides for all terms at once.
  Expr around_all(const Expr& node, const Guard& g) const {
    const Expr rest = equal_terms(node, reduce_->reduction, around_.with(guard_not(g)));
    if (!rest) return nullptr;
    return guarded_by(g, main_part(node, g, reduce_->reduction, around_.with(g)), rest);
  }

  /// A condition that holds on one side of a bound.
  Expr at_a_bound(const Expr& node, const Guard& g) const {
    if (g.kind != Guard::Kind::ge0 || !may_be_parted(*reduce_, cls_)) return nullptr;
    const auto inside = with_condition(g), outside = with_condition(guard_not(g));
    if (!inside || !outside) return nullptr;
    const Expr rest = equal_terms(node, *outside, around_);
    if (!rest) return nullptr;
    return make_op(*combining_op(reduce_->reduction.reducer), reduce_->type,
                   {main_part(node, g, *inside, around_), rest}, reduce_->where);
  }

  /// Only where a range takes the condition: nothing is gained where each term must be asked.
  std::optional<Reduction> with_condition(const Guard& g) const {
    const Reduction& whole = reduce_->reduction;
    Reduction out = whole;
    out.where = guard_all({whole.where, g});
    out = narrowed(out, around_);
    if (out.where.is_true() || out.where == whole.where) return out;
    return std::nullopt;
  }

  /// A condition of two alternatives over one index and numbers, such as k != 2: one reduction each.
  Expr by_alternatives(const Guard& g) const {
    const auto parts = alternatives(g);
    if (parts.empty() || !uses_one_index(g)) return nullptr;
    std::vector<Guard> others = conjuncts(reduce_->reduction.where);
    others.erase(std::find(others.begin(), others.end(), g));
    Expr out;
    for (const Guard& part : parts) {
      Reduction domain = reduce_->reduction;
      domain.where = guard_all({guard_all(others), part});
      domain = narrowed(domain, around_);
      if (conjuncts(domain.where).size() > others.size() && !domain.where.is_true()) return nullptr;
      const Expr one = simple_(without_single_indices(reduce_, domain, around_), around_);
      out = out ? make_op(*combining_op(domain.reducer), reduce_->type, {out, one}, reduce_->where) : one;
    }
    return out;
  }

  static std::vector<Guard> alternatives(const Guard& g) {
    if (g.kind == Guard::Kind::negation && g.of[0].kind == Guard::Kind::eq0) {
      const Affine& e = g.of[0].e;
      return {guard_ge0(Affine::of(-1) - e), guard_ge0(e - Affine::of(1))};
    }
    if (g.kind == Guard::Kind::any && g.of.size() == 2) return {g.of[0], guard_all({guard_not(g.of[0]), g.of[1]})};
    return {};
  }

  static bool uses_one_index(const Guard& g) {
    std::vector<VarId> used;
    collect_variables(g, used);
    return !used.empty() && std::all_of(used.begin(), used.end(), [&](VarId var) { return var == used[0]; });
  }

  const Expr& reduce_;
  NumericsClass cls_;
  const AffineFacts& around_;
  const Simplify& simple_;
};

}  // namespace

Expr parted(const Expr& reduce, NumericsClass cls, const AffineFacts& around, const Simplify& simple) {
  return Parter(reduce, cls, around, simple).run();
}

}  // namespace polyweft::ir
