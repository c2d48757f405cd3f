// Boxes of elements that a body reads or makes of a tensor, and windows that slide along a loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// A box of elements, at constant distance from outer loop variables.
struct Window {
  std::vector<Affine> origin;
  std::vector<int64_t> extent;
  std::vector<int64_t> least, most;  ///< values that occur lie in [least, most]
};
/// Where the conditions of all reads never hold.
inline bool is_empty(const Window& window) {
  return std::any_of(window.extent.begin(), window.extent.end(), [](int64_t extent) { return extent <= 0; });
}

/// A sliding window while its loop is written: an iteration at value i of the loop's index computes what lies from
/// rate * i + rest on along `dim`.
struct SlidingWindow {
  uint32_t index = 0, dim = 0;
  int64_t rate = 1;
  Affine rest;
};
/// The part of a window that the iteration at this value of the loop's index computes.
Window only_new(const SlidingWindow& sliding, Window window, const Affine& at);

/// What slides at the place that is being written.
struct OpenSlides {
  std::vector<std::optional<SlidingWindow>> of_stage;
  int loops = 0;  ///< inside so many: windows are what subscripts say, not cut to the tensor's box
};

}  // namespace polyweft::ir
