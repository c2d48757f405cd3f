// The systems of examples/recurrences as plain loops of our own: their oracle.
#pragma once

#include "polybench/kernels.h"

namespace polyweft::recurrences {

std::vector<polybench::Kernel> network_kernels();
std::vector<polybench::Kernel> sequence_kernels();
std::vector<polybench::Kernel> grid_kernels();
std::vector<polybench::Kernel> image_kernels();

}  // namespace polyweft::recurrences
