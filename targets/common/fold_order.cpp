#include "targets/common/fold_order.h"

#include <algorithm>
#include <optional>

namespace polyweft::targets {
namespace {

/// Loops around the node, outermost first; false where it is not below `at`.
bool find_path(const LoopNest& nest, NodeId at, const Compute* wanted, std::vector<const Loop*>& path) {
  if (at == kNoNode) return false;
  const Node& node = nest.nodes[at];
  if (const auto* compute = std::get_if<Compute>(&node)) return compute == wanted;
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::any_of(seq->children.begin(), seq->children.end(),
                       [&](NodeId child) { return find_path(nest, child, wanted, path); });
  if (const auto* choice = std::get_if<If>(&node))
    return find_path(nest, choice->then, wanted, path) || find_path(nest, choice->otherwise, wanted, path);
  if (const auto* alloc = std::get_if<Alloc>(&node)) return find_path(nest, alloc->body, wanted, path);
  const auto* loop = std::get_if<Loop>(&node);
  if (!loop) return false;
  path.push_back(loop);
  if (find_path(nest, loop->body, wanted, path)) return true;
  path.pop_back();
  return false;
}

/// How far the variable goes at most, from its first value to its last.
std::optional<int64_t> span_of(const Loop& loop) {
  std::optional<int64_t> out;
  for (const Affine& lo : loop.lo.of)
    for (const Affine& hi : loop.hi.of)
      if (const Affine extent = hi - lo; extent.is_constant())
        out = std::min(out.value_or(INT64_MAX), std::max<int64_t>(extent.constant - 1, 0));
  return out;
}

/// One iteration of each of these loops (with its coefficient) goes further than all of the loops after it together;
/// all upwards where `upwards`.
bool is_mixed_radix(const std::vector<std::pair<const Loop*, int64_t>>& digits, bool upwards) {
  int64_t reach = 0;
  for (size_t k = digits.size(); k-- > 0;) {
    const auto& [loop, coeff] = digits[k];
    if ((upwards && coeff < 0) || std::abs(coeff) * loop->step <= reach) return false;
    if (k == 0) return true;
    const auto span = span_of(*loop);
    if (!span || *span > INT32_MAX || std::abs(coeff) > INT32_MAX) return false;
    reach += std::abs(coeff) * *span;
  }
  return true;
}

/// Variables that tell the cells of the destination apart; nothing where some that stand in it might not.
std::optional<std::vector<VarId>> variables_of_cell(const Access& cell, const std::vector<const Loop*>& path) {
  std::vector<VarId> out;
  for (const Subscript& s : cell.index) {
    if (s.data || !s.affine.is_linear()) return std::nullopt;
    std::vector<std::pair<const Loop*, int64_t>> digits;
    for (const Loop* loop : path)
      if (const int64_t coeff = s.affine.coefficient(loop->var); coeff != 0) digits.emplace_back(loop, coeff);
    std::stable_sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) {
      return std::abs(a.second) * a.first->step > std::abs(b.second) * b.first->step;
    });
    if (!is_mixed_radix(digits, false)) return std::nullopt;
    for (const auto& [loop, coeff] : digits) out.push_back(loop->var);
  }
  return out;
}

}  // namespace

bool folds_upwards(const LoopNest& nest, const Compute& compute) {
  if (compute.how != Write::accumulate || compute.rhs.size() != 2 || compute.rhs[1]->op != Op::affine) return false;
  const auto is_other_part = [&](const Node& node) {
    const auto* other = std::get_if<Compute>(&node);
    return other && other != &compute && other->how == Write::accumulate && other->equation == compute.equation;
  };
  if (std::any_of(nest.nodes.begin(), nest.nodes.end(), is_other_part)) return false;
  const Affine& index = compute.rhs[1]->affine;
  std::vector<const Loop*> path;
  if (!index.is_linear() || !find_path(nest, nest.root, &compute, path)) return false;
  const auto fixed = variables_of_cell(compute.dst[1], path);
  if (!fixed) return false;
  std::vector<std::pair<const Loop*, int64_t>> digits;
  for (const Loop* loop : path) {
    const int64_t coeff = index.coefficient(loop->var);
    if (coeff == 0 || std::count(fixed->begin(), fixed->end(), loop->var) > 0) continue;
    if (loop->mark.kind != MarkKind::serial && loop->mark.kind != MarkKind::unroll &&
        loop->mark.kind != MarkKind::pipeline)
      return false;
    digits.emplace_back(loop, coeff);
  }
  return is_mixed_radix(digits, true);
}

}  // namespace polyweft::targets
