// Windows along the lanes: what a row of taps reads of one producer, computed in registers beside the block that reads
// it.
#pragma once

#include <optional>
#include <vector>

#include "schedules/sketches/plans.h"

namespace polyweft::schedules {

constexpr int64_t kWindowVectors = 4;  ///< of the reader in a block: those of the producer are one more

/// A stencil across rows whose values one stencil along the rows alone reads: `least` to `most` elements from its own
/// along the lanes, elsewhere its own.
struct LaneWindow {
  uint32_t producer = 0, reader = 0;
  int64_t least = 0, most = 0;
};
/// The producer's window, if it has one: fewer elements than a vector wide.
std::optional<LaneWindow> lane_window(const NestTemplate& t, const Machine& machine, uint32_t producer);
/// That of the stage that this one reads so.
std::optional<LaneWindow> lane_window_of_reader(const NestTemplate& t, const Machine& machine, uint32_t reader);

/// Where no lane of the window meets a clamp: the producer's parts, as the reader sees them, in whole blocks of so many
/// of its elements.
std::vector<int64_t> cuts_of_reader(const Stage& reader, const std::vector<int64_t>& cuts, const Stage& producer,
                                    const LaneWindow& window, int64_t width);
/// The reader's rows, so many at a time, in blocks of four vectors, and at each the producer's five.
Plan plan_row_with_window(const PlanContext& reader, const LaneWindow& window, int64_t rows);
/// The producer alone, at a loop over blocks that the reader has already.
Plan plan_lane_window(const PlanContext& producer, const LaneWindow& window, const std::string& place);

}  // namespace polyweft::schedules
