// Which equations define what others read.
#pragma once

#include <cstdint>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::schedules {

/// sources[q]: equations that may define what equation q of a bound program reads; domains that plainly cannot meet (by
/// intervals, and by pairs of conditions) are left out, so that A[1] may need B and B need A[0]. O(reads times
/// equations).
std::vector<std::vector<uint32_t>> sources_of(const Program& program);

}  // namespace polyweft::schedules
