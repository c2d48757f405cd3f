// What Linux says of the machine that this process runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/target.h"

namespace polyweft::targets {

/// Logical CPUs that are on.
int cores_of_this_machine();
/// Bytes of the data caches of levels 1 to 3: by sysconf, by Linux's folder of the first CPU where that does not say,
/// else 32 KB, 1 MB and 8 MB.
std::vector<int64_t> caches_of_this_machine();
/// Gives the machine these caches, and those of one core their ways where sysconf says them.
void describe_caches(Machine& machine);
/// Bytes of a level's data or unified cache by such a folder, which has an `index*` for each cache; 0 where it does not
/// say.
int64_t described_cache_bytes(const std::string& folder, int level);

}  // namespace polyweft::targets
