#include "poly/coalesced.h"

#include <vector>

// Deprecated for giving every piece the divisions of all others, which is what is wanted here.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace polyweft::poly {

Set coalesced(Set s) {
  return isl_set_n_basic_set(s.get()) <= 1 ? s : Set(isl_set_coalesce(isl_set_align_divs(s.take())));
}

Map coalesced(Map m) {
  return isl_map_n_basic_map(m.get()) <= 1 ? m : Map(isl_map_coalesce(isl_map_align_divs(m.take())));
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
