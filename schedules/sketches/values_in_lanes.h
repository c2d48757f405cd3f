// Values that one sum reads, made in its own lanes.
#pragma once

#include <optional>

#include "schedules/sketches/builder.h"

namespace polyweft::schedules {

/// Sums with lanes along a reduced index, and in them, in registers, the elementwise producers that they alone read,
/// for all results (8 at most) that share a value. The other stages as they are best by themselves; nothing where no
/// sum has such a producer.
std::optional<Plan> plan_values_in_lanes(const Builder& b);

}  // namespace polyweft::schedules
