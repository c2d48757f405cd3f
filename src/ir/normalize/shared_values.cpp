#include "ir/normalize/shared_values.h"

#include <algorithm>

#include "ir/normalize/repeated_values.h"

namespace polyweft::ir {
namespace {

constexpr int kLeastCost = 6;  ///< a store and many loads for it
constexpr int64_t kMany = int64_t{1} << 20;

int cost_of_op(const ExprNode& e) {
  switch (e.op) {
    case Op::literal:
    case Op::variable:
    case Op::read:
    case Op::affine:
    case Op::tuple:
    case Op::component:
      return 0;
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::erf:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos:
    case Op::pow:
      return 16;
    case Op::sqrt:
    case Op::rsqrt:
    case Op::div:
      return 6;
    case Op::floor_div:
    case Op::floor_mod:
      return e.args[1]->op == Op::literal ? 2 : 6;
    default:
      return 1;
  }
}

}  // namespace

int cost_of(const Expr& e) {
  int cost = 0;
  visit(e, [&](const ExprNode& node) { cost += cost_of_op(node); });
  return cost;
}

bool is_worth_storing(int cost, int64_t repetitions) {
  return cost >= kLeastCost && repetitions >= kLeastRepetitions;
}

int64_t repetitions_of(const ExprScope& scope, const ExprScope& domain) {
  int64_t out = 1;
  for (const IndexRange& range : scope.indices) {
    if (std::any_of(domain.indices.begin(), domain.indices.end(),
                    [&](const IndexRange& kept) { return kept.var == range.var; }))
      continue;
    const Affine most = Affine::of(0) - least_over(scope, range.lo - range.hi);
    if (most.is_constant()) out = std::min(kMany, out * std::clamp<int64_t>(most.constant, 1, kMany));
  }
  return out;
}

}  // namespace polyweft::ir
