// Private: the orders that statements have as they stand, and whether times are an order.
#pragma once

#include "poly/order.h"

namespace polyweft::poly {

/// How dimensions may run: up, as indices are written; or also down, where all that is read lies in front.
enum class Ways : uint8_t { up, up_and_down };
/// Of a component: all statements together in the first dimensions, as few as can be, one after the other inside; a
/// back substitution runs down. Passes is_order. Questions without a search, some per read and dimension.
std::optional<Times> own_orders(const ElementGraph& graph, const std::vector<uint32_t>& component, Ways ways);

/// Whether `times`, one a statement of the component, puts every element strictly after what it needs. Asked of each
/// read by itself.
bool is_order(const ElementGraph& graph, const std::vector<uint32_t>& component, const Times& times);

}  // namespace polyweft::poly
