#include "poly/check/sequence.h"

#include <algorithm>

namespace polyweft::poly::checker {

/// The reduced indices from that of number `from` on stand at their least or greatest values.
Guard PointSequence::at_ends(const Indices& indices, size_t from, bool at_lo) const {
  std::vector<Guard> all;
  for (size_t k = from; k < ranges_.size(); ++k) {
    const Affine end = at_lo ? ranges_[k].lo : ranges_[k].hi - Affine::of(1);
    all.push_back(guard_eq0(indices.at(ranges_[k].var) - substitute(end, indices)));
  }
  return guard_all(std::move(all));
}

Guard PointSequence::is_first(const Indices& fold) const {
  return at_ends(fold, 0, true);
}

Guard PointSequence::is_last(const Indices& fold) const {
  return at_ends(fold, 0, false);
}

Guard PointSequence::is_without_points(const Indices& init) const {
  std::vector<Guard> some;
  for (const IndexRange& range : ranges_) {
    std::vector<VarId> used;
    collect_variables(range.hi - range.lo, used);
    const bool is_known = std::all_of(used.begin(), used.end(), [&](VarId v) { return init.count(v) > 0; });
    if (is_known) some.push_back(guard_ge0(substitute(range.lo - range.hi, init)));
  }
  return guard_any(std::move(some));
}

Guard PointSequence::is_next(const Indices& first, const Indices& second) const {
  std::vector<Guard> some;
  for (size_t level = 0; level < ranges_.size(); ++level) {
    std::vector<Guard> all;
    for (size_t k = 0; k < level; ++k) all.push_back(guard_eq0(second.at(ranges_[k].var) - first.at(ranges_[k].var)));
    all.push_back(guard_eq0(second.at(ranges_[level].var) - first.at(ranges_[level].var) - Affine::of(1)));
    all.push_back(at_ends(first, level + 1, false));
    all.push_back(at_ends(second, level + 1, true));
    some.push_back(guard_all(std::move(all)));
  }
  return guard_any(std::move(some));
}

}  // namespace polyweft::poly::checker
