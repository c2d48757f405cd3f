// Clamped subscripts: padding by the nearest element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// So far must the interval that e spans while the reduced indices run be widened, below and above, to hold clamp(e,
/// lo, hi) at every point of a stage.
struct ClampReach {
  int64_t below = 0, above = 0;
};
/// A clamp moves a value that lies outside lo .. hi onto a limit: where the interval meets lo .. hi, that limit is in
/// it; where the interval ends `above` before lo (begins `below` after hi) at worst, it is so much further. Nothing
/// where e is not linear or a limit not constant. `is_whole(k)`: does reduced index k run over all its values here?
template <class IsWhole>
std::optional<ClampReach> clamp_reach(const Affine& clamped, const Stage& stage, VarId first_index,
                                      const IsWhole& is_whole) {
  if (clamped.terms.size() != 1 || !clamped.terms[0].quasi || clamped.terms[0].coeff != 1 || clamped.constant != 0)
    return std::nullopt;
  const Quasi& quasi = *clamped.terms[0].quasi;
  if (quasi.kind != Quasi::Kind::clamp || !quasi.lo.is_constant() || !quasi.hi.is_constant() || !quasi.e.is_linear())
    return std::nullopt;
  int64_t end = quasi.e.constant,
          start = quasi.e.constant;  // the least end and the greatest start that the interval has at some point
  for (const Term& term : quasi.e.terms) {
    if (term.var < first_index) return std::nullopt;
    const uint32_t k = term.var - first_index;
    const int64_t low = std::min(term.coeff * stage.lo[k], term.coeff * (stage.hi[k] - 1)),
                  high = std::max(term.coeff * stage.lo[k], term.coeff * (stage.hi[k] - 1));
    const bool spans = k >= stage.data_indices && is_whole(k);
    end += spans ? high : low;
    start += spans ? low : high;
  }
  return ClampReach{std::max<int64_t>(start - quasi.hi.constant, 0), std::max<int64_t>(quasi.lo.constant - end, 0)};
}

}  // namespace polyweft::ir
