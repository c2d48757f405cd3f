// Private: strongly connected parts of a graph.
#pragma once

#include <cstdint>
#include <vector>

namespace polyweft::poly {

/// edges[v]: what v needs. Producers first; each component's numbers ascend. Time linear in the edges.
std::vector<std::vector<uint32_t>> strong_components(const std::vector<std::vector<uint32_t>>& edges);

}  // namespace polyweft::poly
