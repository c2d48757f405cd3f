// Random pairs with loops over blocks and threads, judged on a target that runs them.
#pragma once

#include <string>
#include <vector>

namespace polyweft::random_test {

/// PW_RANDOM_PAIRS of them (`pairs`, where that is not set) on the targets in turn, or the one of PW_RANDOM_SEED with
/// its code. Fails the test for each that disagrees, and where too few come to a comparison or have loops over axes.
void expect_grid_pairs_agree(const std::vector<std::string>& targets, int pairs);

}  // namespace polyweft::random_test
