// Small problems by the thousand (matrices of a few elements, complex numbers) with their elements as lanes.
#pragma once

#include <vector>

#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// `batch` with as many lanes as a vector has of the widest type and with half of them, where the statements are apart
/// along a batch whose elements lie apart in memory.
std::vector<NestTemplate> batch_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                         const Isl& isl);

}  // namespace polyweft::schedules
