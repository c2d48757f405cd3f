// Sketches for machines that run blocks of threads.
#pragma once

#include "schedules/sketches/sketches.h"

namespace polyweft::schedules {

/// The statements' free loops as blocks and threads; nothing for a program whose order isl has made. Arithmetic only.
std::vector<NestTemplate> grid_sketches(const Program& normalized, NumericsClass cls, const Isl& isl);

}  // namespace polyweft::schedules
