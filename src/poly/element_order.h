// Private: the order of a component element by element, for sizes that are numbers.
//
// Where no affine order is found, the elements are enumerated with what they need and sorted topologically in several
// ways; the list that folds into the fewest loops wins. It exists exactly where the component is computable; what can
// be too much is the number of elements, of needs or of loops.
#pragma once

#include "poly/order.h"

namespace polyweft::poly {

struct ElementOrder {
  enum class Verdict : uint8_t { ordered, cyclic, too_large, too_irregular } verdict = Verdict::too_large;
  std::vector<Ordered> parts;  ///< when ordered: to be run one after the other
  size_t elements = 0, loops = 0;
};
/// `model` must be bound, or of a program without parameters.
ElementOrder element_order(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component);
/// What was tried and why it did not do, for a refusal.
std::string refusal_text(const ElementOrder& order);

}  // namespace polyweft::poly
