#include "ir/normalize/factor_sums.h"

#include <algorithm>
#include <numeric>

namespace polyweft::ir {
namespace {

constexpr int64_t kLeastTaps = 9;    ///< of both indices together
constexpr int64_t kLeastValues = 8;  ///< values of the slot
constexpr int64_t kMostTaps = 1024;
constexpr int64_t kLargestWeight = int64_t{1} << 31;

struct ConstantRange {
  int64_t lo = 0, extent = 0;
};
std::optional<ConstantRange> constant_range(const IndexRange& range) {
  if (!range.lo.is_constant() || !range.hi.is_constant()) return std::nullopt;
  return ConstantRange{range.lo.constant, range.hi.constant - range.lo.constant};
}

void collect_factors(const Expr& e, std::vector<Expr>& out) {
  if (e->op != Op::mul) return out.push_back(e);
  for (const Expr& arg : e->args) collect_factors(arg, out);
}

/// Weights by both indices of the sum, row by row of the first.
using Table = std::vector<std::vector<int64_t>>;

/// The element of a constant for each pair of values; nothing where it is subscripted by anything but the two indices,
/// each alone.
std::optional<Table> weights(const Program& program, const Expr& e, const Reduction& sum, const ConstantRange& first,
                             const ConstantRange& second) {
  if (e->op != Op::read || program.tensors[e->access.id].kind != TensorKind::constant || e->access.index.size() != 2)
    return std::nullopt;
  const Tensor& tensor = program.tensors[e->access.id];
  for (const Subscript& s : e->access.index)
    if (s.data || s.affine.terms.size() != 1 || s.affine.terms[0].quasi || s.affine.terms[0].coeff != 1)
      return std::nullopt;
  const Affine &row = e->access.index[0].affine, &column = e->access.index[1].affine;
  const bool is_straight = row.terms[0].var == sum.ranges[0].var && column.terms[0].var == sum.ranges[1].var;
  const bool is_crossed = row.terms[0].var == sum.ranges[1].var && column.terms[0].var == sum.ranges[0].var;
  if ((!is_straight && !is_crossed) || !tensor.shape[1].is_constant()) return std::nullopt;
  const int64_t columns = tensor.shape[1].constant;
  Table out(static_cast<size_t>(first.extent), std::vector<int64_t>(static_cast<size_t>(second.extent)));
  for (int64_t a = 0; a < first.extent; ++a)
    for (int64_t b = 0; b < second.extent; ++b) {
      const int64_t i = row.constant + (is_straight ? first.lo + a : second.lo + b),
                    j = column.constant + (is_straight ? second.lo + b : first.lo + a);
      const int64_t at = i * columns + j;
      if (i < 0 || j < 0 || j >= columns || at >= static_cast<int64_t>(tensor.data.size())) return std::nullopt;
      out[static_cast<size_t>(a)][static_cast<size_t>(b)] = tensor.data[static_cast<size_t>(at)].i;
    }
  return out;
}

/// u and v with table[a][b] = u[a] * v[b], in whole numbers.
std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> factors_of(const Table& table) {
  for (const auto& row : table)
    for (int64_t w : row)
      if (w >= kLargestWeight || w <= -kLargestWeight) return std::nullopt;
  const auto pivot = std::find_if(table.begin(), table.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](int64_t w) { return w != 0; });
  });
  if (pivot == table.end()) return std::nullopt;
  std::vector<int64_t> v = *pivot, u;
  const int64_t common =
      std::accumulate(v.begin(), v.end(), int64_t{0}, [](int64_t a, int64_t b) { return std::gcd(a, b); });
  for (int64_t& w : v) w /= common;
  const auto at = static_cast<size_t>(std::find_if(v.begin(), v.end(), [](int64_t w) { return w != 0; }) - v.begin());
  for (const auto& row : table) {
    u.push_back(row[at] / v[at]);
    for (size_t b = 0; b < v.size(); ++b)
      if (u.back() * v[b] != row[b]) return std::nullopt;
  }
  return std::pair{u, v};
}

std::vector<int64_t> unless_ones(std::vector<int64_t> weights) {
  if (std::all_of(weights.begin(), weights.end(), [](int64_t w) { return w == 1; })) weights.clear();
  return weights;
}

/// Does the expression move alike with both variables? Then it is a function of their sum.
bool moves_with_sum(const Expr& e, VarId a, VarId b) {
  const auto used = free_variables(e);
  if (!std::count(used.begin(), used.end(), a) || !std::count(used.begin(), used.end(), b)) return false;
  return equal(e, substitute(e, {{a, Affine::variable(a) + Affine::of(1)}, {b, Affine::variable(b) - Affine::of(1)}}));
}

/// Every slot binds an index, between bounds that no other index moves.
bool is_box(const Program& program, const Equation& equation) {
  return equation.where.is_true() && std::all_of(equation.slots.begin(), equation.slots.end(), [&](const Slot& slot) {
           std::vector<VarId> used;
           collect_variables(slot.lo, used);
           collect_variables(slot.hi, used);
           return slot.var != kNoVar &&
                  std::all_of(used.begin(), used.end(), [&](VarId var) { return var < program.index_var(0); });
         });
}

bool reads_itself(const Equation& equation) {
  bool out = false;
  visit(equation.rhs, [&](const ExprNode& e) {
    out |= e.op == Op::read && std::count(equation.targets.begin(), equation.targets.end(), e.access.id) > 0;
  });
  return out;
}

std::optional<size_t> slot_that_moves(const Equation& equation, const Expr& rest, VarId index) {
  for (size_t k = 0; k < equation.slots.size(); ++k) {
    const Affine extent = equation.slots[k].hi - equation.slots[k].lo;
    if ((!extent.is_constant() || extent.constant >= kLeastValues) &&
        moves_with_sum(rest, equation.slots[k].var, index))
      return k;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FactoredSum> factored_sum(const Program& program, const Equation& equation) {
  const Expr& sum = equation.rhs;
  if (sum->op != Op::reduce || sum->reduction.reducer != Reducer::sum || !is_integer(sum->type) ||
      sum->args.size() != 1 || sum->reduction.ranges.size() != 2)
    return std::nullopt;
  if (!sum->reduction.where.is_true() || equation.targets.size() != 1 || !is_box(program, equation) ||
      reads_itself(equation))
    return std::nullopt;
  const auto first = constant_range(sum->reduction.ranges[0]), second = constant_range(sum->reduction.ranges[1]);
  if (!first || !second || first->extent < 2 || second->extent < 2 || first->extent > kMostTaps ||
      second->extent > kMostTaps)
    return std::nullopt;
  if (first->extent * second->extent < kLeastTaps) return std::nullopt;
  std::vector<Expr> factors;
  collect_factors(sum->args[0], factors);
  std::vector<int64_t> u(static_cast<size_t>(first->extent), 1), v(static_cast<size_t>(second->extent), 1);
  for (size_t k = 0; k < factors.size() && factors.size() > 1; ++k)
    if (const auto table = weights(program, factors[k], sum->reduction, *first, *second)) {
      const auto parts = factors_of(*table);
      if (!parts) return std::nullopt;
      std::tie(u, v) = *parts;
      factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
  FactoredSum out;
  out.rest = factors[0];
  for (size_t k = 1; k < factors.size(); ++k)
    out.rest = make_op(Op::mul, sum->type, {out.rest, factors[k]}, sum->where);
  // Columns first: the sum that is left runs along the rows, and what it reads can stay in registers.
  std::optional<size_t> best;
  for (size_t outer : {0, 1})
    if (const auto slot = slot_that_moves(equation, out.rest, sum->reduction.ranges[outer].var);
        slot && (!best || *slot > out.slot)) {
      best = outer;
      out.slot = *slot;
    }
  if (!best) return std::nullopt;
  out.outer = *best;
  out.left = unless_ones(*best == 0 ? u : v);
  out.right = unless_ones(*best == 0 ? v : u);
  return out;
}

}  // namespace polyweft::ir
