#include "lang/wide.h"

#include <algorithm>

#include "support/integer_division.h"

namespace polyweft::lang {
namespace {

__int128 saturated(__int128 value) {
  constexpr __int128 kLimit = __int128{1} << 100;
  return std::clamp(value, -kLimit, kLimit);
}

__int128 value_of(const Term& term, const std::vector<int64_t>& values) {
  if (!term.quasi) return values[term.var];
  const Quasi& quasi = *term.quasi;
  __int128 e = wide_value(quasi.e, values);
  if (quasi.kind == Quasi::Kind::floor_div) return floor_quotient<__int128>(e, quasi.den);
  return std::min(std::max(e, wide_value(quasi.lo, values)), wide_value(quasi.hi, values));
}

}  // namespace

__int128 wide_value(const Affine& e, const std::vector<int64_t>& values) {
  constexpr __int128 kFactorLimit = __int128{1} << 80;
  __int128 sum = e.constant;
  for (const Term& term : e.terms) {
    __int128 value = std::clamp(value_of(term, values), -kFactorLimit, kFactorLimit);
    sum = saturated(sum + std::clamp<__int128>(term.coeff, -(int64_t{1} << 45), int64_t{1} << 45) * value);
  }
  return sum;
}

bool wide_holds(const Guard& guard, const std::vector<int64_t>& values) {
  auto holds = [&](const Guard& each) { return wide_holds(each, values); };
  switch (guard.kind) {
    case Guard::Kind::all:
      return std::all_of(guard.of.begin(), guard.of.end(), holds);
    case Guard::Kind::any:
      return std::any_of(guard.of.begin(), guard.of.end(), holds);
    case Guard::Kind::negation:
      return !holds(guard.of[0]);
    case Guard::Kind::ge0:
      return wide_value(guard.e, values) >= 0;
    case Guard::Kind::eq0:
      return wide_value(guard.e, values) == 0;
  }
  return false;
}

}  // namespace polyweft::lang
