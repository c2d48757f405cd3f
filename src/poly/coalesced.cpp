#include "poly/coalesced.h"

#include <algorithm>
#include <vector>

// Deprecated for giving every piece the divisions of all others, which is what is wanted here.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace polyweft::poly {
namespace {

bool has_divisions(const BasicSet& piece) {
  const isl_size divisions = isl_basic_set_dim(piece.get(), isl_dim_div);
  if (divisions < 0) throw IslFailure();
  return divisions > 0;
}

std::vector<BasicSet> basic_sets_of(const Set& s) {
  std::vector<BasicSet> out;
  const auto add = [](isl_basic_set* piece, void* user) {
    static_cast<std::vector<BasicSet>*>(user)->emplace_back(piece);
    return isl_stat_ok;
  };
  if (isl_set_foreach_basic_set(s.get(), add, &out) != isl_stat_ok) throw IslFailure();
  return out;
}

/// Of more, isl compares pieces with divisions for tens of seconds and counts no operations meanwhile.
constexpr int kMostWithDivisions = 16;

/// Whether the piece has no point that none of the others has. Asked of those that lie in it: they are what it was made
/// of.
bool is_made_of(const BasicSet& piece, const std::vector<BasicSet>& others) {
  const auto lies_in_it = [&](const BasicSet& other) { return yes(isl_basic_set_is_subset(other.get(), piece.get())); };
  Set parts(isl_set_empty(isl_basic_set_get_space(piece.get())));
  for (const BasicSet& other : others)
    if (lies_in_it(other)) parts = Set(isl_set_union(parts.take(), isl_set_from_basic_set(other.copy())));
  return yes(isl_set_is_subset(Set(isl_set_from_basic_set(piece.copy())).get(), parts.get()));
}

}  // namespace

// Aligned divisions do not save all unions of remainders: pieces of odd i up to 3, odd i up to 1 and even i up to 1
// become all i up to 3. What was taken together must have no point that its pieces have not.
Set coalesced(Set s) {
  const int pieces = size(isl_set_n_basic_set(s.get()));
  if (pieces <= 1) return s;
  if (pieces > kMostWithDivisions && std::ranges::any_of(basic_sets_of(s), has_divisions)) return s;
  const Set aligned(isl_set_align_divs(s.copy()));
  Set fewer(isl_set_coalesce(aligned.copy()));
  const std::vector<BasicSet> before = basic_sets_of(aligned), after = basic_sets_of(fewer);
  if (after.size() == before.size() || std::ranges::none_of(before, has_divisions)) return fewer;
  const auto is_safe = [&](const BasicSet& piece) {
    const auto is_same = [&](const BasicSet& other) {
      return yes(isl_basic_set_plain_is_equal(piece.get(), other.get()));
    };
    return std::ranges::any_of(before, is_same) || is_made_of(piece, before);
  };
  return std::ranges::all_of(after, is_safe) ? fewer : s;
}

Map coalesced(Map m) {
  if (isl_map_n_basic_map(m.get()) <= 1) return m;
  return Map(isl_set_unwrap(coalesced(Set(isl_map_wrap(m.take()))).take()));
}

UnionMap coalesced(UnionMap m) {
  std::vector<Map> each;
  const auto add = [](isl_map* one, void* user) {
    static_cast<std::vector<Map>*>(user)->emplace_back(one);
    return isl_stat_ok;
  };
  if (isl_union_map_foreach_map(m.get(), add, &each) != isl_stat_ok) throw IslFailure();
  UnionMap out(isl_union_map_empty(isl_union_map_get_space(m.get())));
  for (Map& one : each) out = UnionMap(isl_union_map_add_map(out.take(), coalesced(std::move(one)).take()));
  return out;
}

PwAff coalesced(PwAff e) {
  PwAff fewer(isl_pw_aff_coalesce(e.copy()));
  return yes(isl_pw_aff_is_equal(fewer.get(), e.get())) ? fewer : e;
}

}  // namespace polyweft::poly
