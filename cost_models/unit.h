// The model of machines with a unit beside the CPU.
#pragma once

#include <memory>

#include "polyweft/cost_model.h"

namespace polyweft::cost {

/// Nests that use the unit: cycles of each engine (copies in, copies out, products) and of the CPU, by the machine's
/// figures; what is waited for where it stands comes on top of the longest of them. Others: as `of_cpu` has it.
std::unique_ptr<CostModel> unit_model(const Machine& machine, std::unique_ptr<CostModel> of_cpu);

}  // namespace polyweft::cost
