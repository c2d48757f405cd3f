// The model of machines that run blocks of threads.
#pragma once

#include <memory>

#include "polyweft/cost_model.h"

namespace polyweft::cost {

/// For each kernel the greatest of what its units compute, what they wait for results of threads that are under way at
/// a time, and what they bring from memory; kernels one after the other, each with its launch.
std::unique_ptr<CostModel> grid_model(const Machine& machine);

}  // namespace polyweft::cost
