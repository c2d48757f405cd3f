#include "poly/coalesced.h"

namespace polyweft::poly {

Set coalesced(Set s) {
  if (isl_set_n_basic_set(s.get()) <= 1) return s;
  Set fewer(isl_set_coalesce(s.copy()));
  return !yes(isl_set_involves_locals(s.get())) || yes(isl_set_is_equal(fewer.get(), s.get())) ? fewer : s;
}

Map coalesced(Map m) {
  if (isl_map_n_basic_map(m.get()) <= 1) return m;
  Map fewer(isl_map_coalesce(m.copy()));
  const Set pairs(isl_map_wrap(m.copy()));
  return !yes(isl_set_involves_locals(pairs.get())) || yes(isl_map_is_equal(fewer.get(), m.get())) ? fewer : m;
}

UnionMap coalesced(UnionMap m) {
  UnionMap fewer(isl_union_map_coalesce(m.copy()));
  return yes(isl_union_map_is_equal(fewer.get(), m.get())) ? fewer : m;
}

PwAff coalesced(PwAff e) {
  PwAff fewer(isl_pw_aff_coalesce(e.copy()));
  return yes(isl_pw_aff_is_equal(fewer.get(), e.get())) ? fewer : e;
}

}  // namespace polyweft::poly
