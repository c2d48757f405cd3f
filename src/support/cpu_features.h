// What the CPU that this process runs on can execute, and the level of its architecture that it may be held to.
//
// A process has one CPU, so that what it is held to is a property of the process: set once by a program's main, never
// by the library itself. Tests hold the CPU to a lower level to find whatever would run code of a higher one.
#pragma once

#include <string>
#include <vector>

#include "polyweft/result.h"

namespace polyweft {

/// Target::architecture of the machine that this process runs on.
std::string native_architecture();
/// Those of known_cpu_features() that this CPU has and the system lets programs use (CPUID, XCR0; AT_HWCAP), sorted;
/// none beyond what it is held to.
std::vector<std::string> cpu_features();
/// Those of `needed` that cpu_features() has not.
std::vector<std::string> missing_cpu_features(const std::vector<std::string>& needed);

/// From now on this CPU counts as having no features beyond those of `level`; empty: as it is. PW0510 for a name that
/// is not a level.
Status hold_cpu(const std::string& level);
/// The level that this CPU is held to; empty: none.
std::string held_cpu_level();

/// PW0517 where this CPU lacks one of the features `needed` by the code that `what` names.
Status cpu_can_run(const std::vector<std::string>& needed, const std::string& what);

}  // namespace polyweft
