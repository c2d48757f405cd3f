#include "poly/coalesced.h"

#include <algorithm>
#include <vector>

// Deprecated for giving every piece the divisions of all others, which is what is wanted here.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace polyweft::poly {
namespace {

bool has_divisions(const Set& s) {
  int most = 0;
  const auto look = [](isl_basic_set* piece, void* user) {
    const isl_size divisions = isl_basic_set_dim(piece, isl_dim_div);
    *static_cast<int*>(user) = std::max(*static_cast<int*>(user), static_cast<int>(divisions));
    isl_basic_set_free(piece);
    return divisions < 0 ? isl_stat_error : isl_stat_ok;
  };
  if (isl_set_foreach_basic_set(s.get(), look, &most) != isl_stat_ok) throw IslFailure();
  return most > 0;
}

}  // namespace

// Aligned divisions do not save all unions of remainders: pieces of odd i up to 3, odd i up to 1 and even i up to 1 become all i up to 3.
Set coalesced(Set s) {
  if (isl_set_n_basic_set(s.get()) <= 1) return s;
  Set fewer(isl_set_coalesce(isl_set_align_divs(s.copy())));
  const bool is_safe = isl_set_n_basic_set(fewer.get()) == isl_set_n_basic_set(s.get()) || !has_divisions(s) || yes(isl_set_is_equal(fewer.get(), s.get()));
  return is_safe ? fewer : s;
}

Map coalesced(Map m) {
  if (isl_map_n_basic_map(m.get()) <= 1) return m;
  Map fewer(isl_map_coalesce(isl_map_align_divs(m.copy())));
  const bool is_safe = isl_map_n_basic_map(fewer.get()) == isl_map_n_basic_map(m.get()) || !has_divisions(Set(isl_map_wrap(m.copy()))) || yes(isl_map_is_equal(fewer.get(), m.get()));
  return is_safe ? fewer : m;
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
