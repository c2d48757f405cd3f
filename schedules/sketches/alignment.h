// Which producers can run with which indices of a stage that reads them, and by which indices of their own.
#pragma once

#include <map>
#include <vector>

#include "schedules/sketches/builder.h"

namespace polyweft::schedules {

/// For each stage the index that runs with each of the host's; a stage is left out where there is none.
using Alignment = std::map<uint32_t, std::vector<uint32_t>>;

/// Producers, last first, that can follow the host along these of its indices. `reach` grows to the rows of a producer
/// that are computed again.
Alignment align(const Builder& b, uint32_t host, const std::vector<uint32_t>& indices, int64_t& reach);

/// The same along as many leading indices as all those producers have that can follow it at all; empty where none can.
Alignment align_leading(const Builder& b, uint32_t host, int64_t& reach);

}  // namespace polyweft::schedules
