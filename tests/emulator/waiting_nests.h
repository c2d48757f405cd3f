// Nests whose threads wait for each other, in sizes that tests choose.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace polyweft::emulator_test {

/// Names and texts: a relaxation in shared memory, tiles transposed one after another, a scan by doubling steps, a
/// reduction by halving ones.
std::vector<std::pair<std::string, std::string>> waiting_nests();

}  // namespace polyweft::emulator_test
