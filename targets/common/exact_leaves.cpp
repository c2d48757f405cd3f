#include "targets/common/exact_leaves.h"

#include <algorithm>

namespace polyweft::targets {
namespace {

using ir::ExactRange;

constexpr int64_t kUnknown = INT64_MAX / 4;  ///< Facts knows no bound

ExactRange common(const ExactRange& a, const ExactRange& b) {
  const ExactRange out{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return out.lo <= out.hi ? out : a;
}

}  // namespace

ExactRange exact_bounds(const Facts& facts, const Affine& e) {
  const Interval found = facts.range(e);
  const ExactRange all = ir::range_of_type(ElementType::i64);
  return {found.lo <= -kUnknown ? all.lo : found.lo, found.hi >= kUnknown ? all.hi : found.hi};
}

/// What was promised of the tensor that a buffer holds a part of; copies of an input are made of what it holds.
std::optional<ExactRange> ExactLeaves::promised(BufferId id) const {
  const TensorId tensor = nest_.buffers[id].tensor;
  for (BufferId other : nest_.arguments) {
    const Buffer& argument = nest_.buffers[other];
    if (other != id && (tensor == kNoTensor || argument.tensor != tensor)) continue;
    if (argument.promise.size() == 2)
      return ExactRange{bounds_(argument.promise[0]).lo, bounds_(argument.promise[1]).hi - 1};
    if (argument.values) return ExactRange{argument.values->lo, argument.values->hi - 1};
  }
  return std::nullopt;
}

ExactRange ExactLeaves::range(const ExprNode& e) const {
  const ExactRange whole = ir::range_of_type(e.type);
  switch (e.op) {
    case Op::literal:
      return {e.literal.i, e.literal.i};
    case Op::variable:
      return common(whole, bounds_(Affine::variable(e.var)));
    case Op::affine:
      return common(whole, bounds_(e.affine));
    case Op::read: {
      const auto promise = promised(e.access.id);
      return promise ? common(whole, *promise) : whole;
    }
    case Op::convert:
      return is_float(e.args[0]->type) ? whole : common(whole, range(*e.args[0]));
    default:
      return whole;
  }
}

bool needs_64_bits_only(const ExprNode& e, const ExactLeaves& leaves) {
  if (ir::is_exact_condition(e))
    return std::all_of(e.args.begin(), e.args.end(), [&](const Expr& arg) { return needs_64_bits_only(*arg, leaves); });
  if (!ir::is_exact_operator(e)) return true;
  const auto range = ir::exact_range(e, leaves);
  return range && ir::fits_64_bits(*range) &&
         std::all_of(e.args.begin(), e.args.end(), [&](const Expr& arg) { return needs_64_bits_only(*arg, leaves); });
}

}  // namespace polyweft::targets
