// isl's coalescing is wrong for some unions with divisions (coalesced.h): ours keeps every point, by enumeration.
#include "poly/coalesced.h"

#include <gtest/gtest.h>

#include <string>

#include "support/rng.h"

namespace polyweft::poly {
namespace {

constexpr int kSize = 7;

std::string condition(Rng& rng) {
  const auto n = [&](int64_t lo, int64_t hi) { return std::to_string(rng.between(lo, hi)); };
  const std::string m = n(2, 5);
  switch (rng.below(6)) {
    case 0:
      return m + "*floor(j/" + m + ") < j";
    case 1:
      return "floor((i + " + n(0, 2) + "j)/" + m + ") >= " + n(0, 3);
    case 2:
      return "(i + " + n(0, 2) + "j) mod " + m + " = " + n(0, 1);
    case 3:
      return "j mod " + m + " = " + n(0, 1);
    case 4:
      return n(-2, 2) + "i + " + n(-2, 2) + "j >= " + n(-5, 4);
    default:
      return "i <= " + n(0, 6);
  }
}

std::string union_of(Rng& rng) {
  std::string out;
  for (int64_t pieces = rng.between(2, 4); pieces > 0; --pieces) {
    std::string piece = condition(rng);
    for (int64_t more = rng.between(0, 2); more > 0; --more) piece += " and " + condition(rng);
    out += (out.empty() ? "(" : " or (") + piece + ")";
  }
  return "{ [i, j] : 0 <= i < " + std::to_string(kSize) + " and 0 <= j < " + std::to_string(kSize) + " and (" + out +
         ") }";
}

bool contains(const Set& s, int i, int j) {
  Set point(isl_set_fix_si(isl_set_fix_si(s.copy(), isl_dim_set, 0, i), isl_dim_set, 1, j));
  return !is_empty(point);
}

/// Also just outside of the box.
void expect_same_points(const Set& a, const Set& b, const std::string& text) {
  for (int i = -1; i <= kSize; ++i)
    for (int j = -1; j <= kSize; ++j)
      EXPECT_EQ(contains(a, i, j), contains(b, i, j)) << text << " at " << i << ", " << j;
}

TEST(Coalesced, keeps_every_point) {
  Context context;
  const std::string known[] = {"{ [i, j] : 0 <= i < 7 and 0 <= j < 7 and (j <= 1 or 3*floor(j/3) < j) }",
                               "{ [i, j] : 0 <= i < 7 and 0 <= j < 7 and (j <= 1 or j mod 3 = 1 or j mod 3 = 2) }",
                               "{ [i, j] : j = 0 and ((exists e: 2e = 1 + i and 0 <= i <= 1) or (exists e: 2e = 1 + i "
                               "and 0 <= i <= 3) or (exists e: 2e = i and 0 <= i <= 1)) }"};
  Rng rng(1);
  for (int k = 0; k < 400; ++k) {
    const std::string text = k < 3 ? known[k] : union_of(rng);
    const Set set(isl_set_read_from_str(context.get(), text.c_str()));
    expect_same_points(set, coalesced(set), text);
    const Map map(isl_map_from_domain_and_range(set.copy(), isl_set_read_from_str(context.get(), "{ [0] }")));
    const Map fewer = coalesced(map);
    expect_same_points(set, Set(isl_map_domain(fewer.copy())), text);
  }
}

TEST(Coalesced, still_takes_pieces_together) {
  Context context;
  const Set halves(isl_set_read_from_str(context.get(), "{ [i] : 0 <= i < 5 or 5 <= i < 9 }"));
  EXPECT_EQ(isl_set_n_basic_set(coalesced(halves).get()), 1);
  const Set even_halves(isl_set_read_from_str(context.get(), "{ [i] : i mod 2 = 0 and (0 <= i < 5 or 5 <= i < 9) }"));
  EXPECT_EQ(isl_set_n_basic_set(coalesced(even_halves).get()), 1);
}

}  // namespace
}  // namespace polyweft::poly
