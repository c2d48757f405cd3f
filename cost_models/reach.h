// Where an access goes in memory: strides by the buffer's layout, and from them granules (cache lines or pages), the cache sets they can
// use, and how long the pieces are that lie side by side.
#pragma once

#include "cost_models/walk.h"

namespace polyweft::cost {

/// One level of caches or of the translation look-aside buffers.
struct Store {
  double granule_bytes = 64;
  double granules = 768;  ///< capacity
  double sets = 0;        ///< 0: no conflicts between sets
};

struct Reach {
  double granules = 1;      ///< lines or pages
  double run_bytes = 0;     ///< longest piece without holes
  double set_share = 1;     ///< of the store's sets, those that these granules can lie in
  double crowded() const {  ///< granules of a store without conflicts that take as much of it
    return granules / set_share;
  }
};

/// Bytes that each loop of a leaf moves an access, in one cell of its folded dimensions where it moves in others as well; a loop beyond a digit of the layout counts with
/// the digit that it moves first.
std::vector<double> strides_bytes(const Buffer& buffer, const AccessUse& use);
/// What loops [from, end) of the leaf reach.
Reach reach_of(const Buffer& buffer, const AccessUse& use, const std::vector<double>& strides, const Leaf& leaf, size_t from, const Store& store);

}  // namespace polyweft::cost
