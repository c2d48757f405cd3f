// Boxes of index values: what the points of a domain lie in, by interval arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

/// Wide: a sum of products of affine integers (at most 2^40 each) fits.
using Wide = __int128;

/// Values of one index, both ends included.
struct Values {
  Wide lo = 0, hi = 0;
  bool is_empty() const { return lo > hi; }
  bool is_point() const { return lo == hi; }
  bool operator==(const Values&) const = default;
};
/// By VarId.
using IndexBox = std::vector<Values>;
bool is_empty(const IndexBox& box);
/// The smallest box around both.
IndexBox hull(const IndexBox& a, const IndexBox& b);

enum class Truth : uint8_t { no, open, yes };

/// Encloses the values of e; x - d * (x // d) is seen to lie in 0 .. d - 1.
Values values_of(const Affine& e, const IndexBox& box);
/// Whether the condition holds all over the box, or nowhere in it.
Truth truth_of(const Guard& g, const IndexBox& box);
/// Bounds that e >= 0 gives the variables of its linear terms; false where nothing changed. One change at a time.
bool narrow(const Affine& e, IndexBox& box);
/// What the box holds of the points at which all of these conditions hold, alternatives as the box around them; maybe
/// empty.
void narrow(const std::vector<Guard>& conditions, IndexBox& box);

}  // namespace polyweft::ir
