#include "ir/passes/loop_context.h"

#include <algorithm>
#include <numeric>

#include "ir/nests/shared_memory.h"

namespace polyweft::ir {

VariableFacts facts_of_size(const LoopNest& nest, VarId param) {
  VariableFacts out{-kLargestSize, kLargestSize, 1};
  for (const Guard& g : nest.assumptions)
    if (g.kind == Guard::Kind::ge0 && g.e.terms.size() == 1 && g.e.coefficient(param) == 1)
      out.lo = std::max(out.lo, -g.e.constant);
  return out;
}

LoopContext::LoopContext(const LoopNest& nest) : nest_(nest), sharers_(sharers_of(nest)) {
  for (VarId p = 0; p < nest.params.size(); ++p) {
    if (nest.symbolic)
      facts_.set(p, facts_of_size(nest, p));
    else
      values_[p] = Affine::of(nest.params[p].value);
  }
}

Affine LoopContext::fold(const Affine& e) const {
  return facts_.simplify(substitute(e, values_));
}

Guard LoopContext::fold(const Guard& g) const {
  Guard out;
  out.kind = g.kind;
  if (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) out.e = fold(g.e);
  for (const Guard& part : g.of) out.of.push_back(fold(part));
  return out;
}

Access LoopContext::fold(const Access& access) const {
  Access out = access;
  for (Subscript& s : out.index) s.affine = fold(s.affine);
  return out;
}

VariableFacts LoopContext::facts_of(const Loop& loop) const {
  constexpr int64_t kFar = INT64_MAX / 4, kKnown = INT64_MAX / 8;
  VariableFacts out;
  out.lo = -kFar;
  out.hi = kFar;
  for (const Affine& e : loop.lo.of) out.lo = std::max(out.lo, facts_.range(fold(e)).lo);
  for (const Affine& e : loop.hi.of) {
    const Affine end = fold(e);
    out.hi = std::min(out.hi, facts_.range(end).hi - 1);
    if (!end.is_constant()) out.at_most.push_back(end - Affine::of(1));
  }
  out.divisor = loop.step;
  for (const Affine& e : loop.lo.of) out.divisor = std::gcd(out.divisor, facts_.divisor(fold(e)));
  // The last value taken: lo + step * floor((hi - lo) / step), where lo is a constant.
  if (loop.lo.of.size() == 1 && fold(loop.lo.of[0]).is_constant() && out.hi < kKnown && out.hi >= out.lo)
    out.hi = out.lo + (out.hi - out.lo) / loop.step * loop.step;
  if (out.divisor > 1 && out.hi < kKnown) out.hi -= ((out.hi % out.divisor) + out.divisor) % out.divisor;
  return out;
}

std::optional<int64_t> LoopContext::constant_length(const Loop& loop) const {
  if (loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return std::nullopt;
  const Affine length = fold(loop.hi.of[0]) - fold(loop.lo.of[0]);
  return length.is_constant() ? std::optional(length.constant) : std::nullopt;
}

bool LoopContext::is_entered(const Loop& loop) const {
  for (const Affine& lo : loop.lo.of)
    for (const Affine& hi : loop.hi.of)
      if (facts_.range(fold(hi) - fold(lo)).lo <= 0) return false;
  return true;
}

const std::vector<BufferId>& LoopContext::sharers(BufferId id) const {
  static const std::vector<BufferId> kNone;
  return id < sharers_.size() ? sharers_[id] : kNone;
}

Guard is_within(const Access& access, const Buffer& buffer) {
  std::vector<Guard> all;
  for (size_t d = 0; d < access.index.size(); ++d) {
    all.push_back(guard_ge0(access.index[d].affine));
    const Affine extent = buffer.shape.empty() ? Affine::of(buffer.extents[d]) : buffer.shape[d];
    all.push_back(guard_ge0(extent - Affine::of(1) - access.index[d].affine));
  }
  return guard_all(std::move(all));
}

Guard has_iterations(const Loop& loop) {
  std::vector<Guard> all;
  for (const Affine& lo : loop.lo.of)
    for (const Affine& hi : loop.hi.of) all.push_back(guard_ge0(hi - lo - Affine::of(1)));
  return all.size() == 1 ? all[0] : guard_all(std::move(all));
}

}  // namespace polyweft::ir
