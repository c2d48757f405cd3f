// Statements of borders in parts without conditions.
#pragma once

#include <vector>

#include "schedules/steps.h"

namespace polyweft::schedules {

/// The template with every statement that has conditions on single data indices split into ranges of them, the
/// outermost first, in which the conditions are constants; the steps that do it. A statement with any other condition
/// stays whole, and so does what would be more than 16 parts.
NestTemplate with_borders(NestTemplate t, std::vector<Step>& steps);

}  // namespace polyweft::schedules
