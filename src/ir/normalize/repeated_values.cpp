#include "ir/normalize/repeated_values.h"

#include <algorithm>

#include "ir/values/variables.h"

namespace polyweft::ir {
namespace {

bool computes(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::erf:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::min:
    case Op::max:
    case Op::pow:
    case Op::select:
    case Op::clamp:
      return true;
    default:
      return false;
  }
}

bool is_float_of_a_word(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64;
}

bool is_plain_value(const Expr& e, const std::vector<char>& may_read) {
  bool plain = true;
  visit(e, [&](const ExprNode& node) {
    plain =
        plain && node.op != Op::reduce && node.op != Op::guarded && node.op != Op::tuple && node.op != Op::component;
    if (node.op != Op::read) return;
    plain = plain && node.access.id < may_read.size() && may_read[node.access.id];
    for (const Subscript& s : node.access.index) plain = plain && !s.data && s.affine.is_linear();
  });
  return plain;
}

/// The most that the extent of a range of the scope can be; 1 where it depends on parameters.
int64_t most_values(const ExprScope& scope, const Affine& extent) {
  const Affine least = least_over(scope, Affine::of(0) - extent);
  return least.is_constant() ? -least.constant : 1;
}

/// A read with an element for each point, no smaller than what is made of it; weights that are packed ahead are better
/// left as they are.
const ExprNode* like_what_is_made(const Program& program, const Expr& e, const std::vector<VarId>& used) {
  const ExprNode* found = nullptr;
  visit(e, [&](const ExprNode& node) {
    if (found || node.op != Op::read || program.tensors[node.access.id].is_const_input ||
        size_bytes(node.type) < size_bytes(e->type))
      return;
    if (std::all_of(used.begin(), used.end(), [&](VarId var) { return dimension_of(node.access, var).has_value(); }))
      found = &node;
  });
  return found;
}

/// Dimensions in the order of that read's, where no range depends on another.
void order_as(const Access& access, const std::vector<VarId>& used, OwnDomain& domain) {
  for (const IndexRange& range : domain)
    for (VarId var : used)
      if (range.lo.coefficient(var) != 0 || range.hi.coefficient(var) != 0) return;
  std::stable_sort(domain.begin(), domain.end(), [&](const IndexRange& a, const IndexRange& b) {
    return dimension_of(access, a.var) < dimension_of(access, b.var);
  });
}

}  // namespace

std::optional<OwnDomain> domain_if_repeated(const Program& program, const Expr& e, const ExprScope& scope,
                                            const Reduction& reduction, const std::map<VarId, int64_t>& least,
                                            const std::vector<char>& may_read) {
  if (!computes(e->op) || !is_float_of_a_word(e->type) || !is_plain_value(e, may_read)) return std::nullopt;
  std::vector<VarId> used = free_variables(e);
  used.erase(std::remove_if(used.begin(), used.end(), [&](VarId var) { return var < program.index_var(0); }),
             used.end());
  const bool moves = std::any_of(reduction.ranges.begin(), reduction.ranges.end(),
                                 [&](const IndexRange& r) { return contains(used, r.var); });
  const ExprNode* like = moves ? like_what_is_made(program, e, used) : nullptr;
  if (!like) return std::nullopt;
  for (const Guard& g : scope.conditions) {
    std::vector<VarId> variables;
    collect_variables(g, variables);
    if (std::any_of(variables.begin(), variables.end(),
                    [&](VarId var) { return var >= program.index_var(0) && !contains(used, var); }))
      return std::nullopt;
  }
  OwnDomain kept = scope.indices;
  int64_t repetitions = 1;
  for (size_t k = kept.size(); k-- > 0;) {
    const IndexRange left = kept[k];
    if (contains(used, left.var)) continue;
    if (!is_never_empty(scope, least, left)) return std::nullopt;
    const Affine last = left.hi - Affine::of(1), extent = left.hi - left.lo;
    repetitions = std::min(kLeastRepetitions, repetitions * std::min(most_values(scope, extent), kLeastRepetitions));
    size_t places = 0;
    for (size_t n = k + 1; n < kept.size(); ++n) {
      const int64_t low = kept[n].lo.coefficient(left.var), high = kept[n].hi.coefficient(left.var);
      if (low == 0 && high == 0) continue;
      if (++places > 1 || (low != 0 && high != 0) || std::abs(low + high) != 1) return std::nullopt;
      kept[n].lo = substitute(kept[n].lo, {{left.var, low > 0 ? left.lo : last}});
      kept[n].hi = substitute(kept[n].hi, {{left.var, high > 0 ? last : left.lo}});
    }
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(k));
  }
  if (repetitions < kLeastRepetitions) return std::nullopt;
  order_as(like->access, used, kept);
  return kept;
}

std::vector<char> independent_of(const Program& program, const std::vector<TensorId>& tensors) {
  std::vector<char> out(program.tensors.size(), 1);
  for (TensorId id : tensors) out[id] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Equation& equation : program.equations) {
      bool depends = false;
      visit(equation.rhs,
            [&](const ExprNode& node) { depends = depends || (node.op == Op::read && !out[node.access.id]); });
      for (TensorId target : equation.targets) {
        if (!depends || !out[target]) continue;
        out[target] = 0;
        changed = true;
      }
    }
  }
  return out;
}

}  // namespace polyweft::ir
