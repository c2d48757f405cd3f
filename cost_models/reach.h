// Where an access goes in memory: strides by the buffer's layout, and from them granules (cache lines or pages), the
// cache sets they can use, and how long the pieces are that are contiguous.
#pragma once

#include <vector>

#include "cost_models/walk.h"

namespace polyweft::cost {

/// One level of caches or of the translation look-aside buffers.
struct Store {
  double granule_bytes = 64;
  double granules = 768;     ///< capacity
  double sets = 0;           ///< 0: no conflicts between sets
  double page_bytes = 4096;  ///< of the machine: pages lie anywhere
};

struct Reach {
  double granules = 1;      ///< lines or pages
  double run_bytes = 0;     ///< longest piece without holes
  double set_share = 1;     ///< of the store's sets, those that these granules can lie in
  double crowded() const {  ///< granules of a store without conflicts that take as much of it
    return granules / set_share;
  }
};

/// The windows of one access of a leaf: what each loop moves it by, in bytes, and what loops from some depth on reach.
/// Knows no store, so that one serves all levels of a machine.
class Windows {
 public:
  Windows(const Buffer& buffer, const AccessUse& use, const Leaf& leaf);
  /// Bytes that loop l moves the access, in one cell of its folded dimensions where it moves in others as well; a loop
  /// beyond a digit of the layout counts with the digit that it moves first.
  double stride(size_t l) const { return strides_[l]; }
  /// What loops [from, end) reach. O(loops), no memory taken.
  Reach reach(size_t from, const Store& store) const;

 private:
  struct Step {
    double stride = 0, trips = 1;
  };
  struct Range {
    size_t begin = 0, end = 0;
  };
  void add(size_t first, size_t below, Step step);
  static double places_of(const Step& step, double places, const Store& store);

  std::vector<double> gathered_;  ///< by depth: places that data picks, of what the other loops reach
  double element_bytes_ = 0, buffer_bytes_ = 0;
  std::vector<double> strides_;
  std::vector<Step> steps_;  ///< of all depths, one after the other; those of one narrowest first, windows that overlap
                             ///< taken together
  std::vector<Range> ranges_;  ///< by depth, into `steps_`
};

}  // namespace polyweft::cost
