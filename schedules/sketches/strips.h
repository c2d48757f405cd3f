// Strips: all producers of an output run in strips of its rows.
#pragma once

#include <optional>

#include "schedules/sketches/builder.h"

namespace polyweft::schedules {

/// Strips of the last stage's leading indices, with all producers that can follow them inside. Nothing where none can,
/// or where its rows cannot be streamed and shall be.
std::optional<Plan> strip_plan(const Builder& b, Stores stores);

}  // namespace polyweft::schedules
