// Which decisions steps name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "polyweft/trace.h"

namespace polyweft::schedules {

/// Names of the decisions that sizes of these steps are; a loop that goes by its decision's name counts by its tile.
std::set<std::string> decisions_in(const std::vector<Step>& steps);

}  // namespace polyweft::schedules
