// Values of affine forms and guards in 128 bits: default sizes may be large before anything has checked them.
#pragma once

#include "polyweft/program.h"

namespace polyweft::lang {

/// Cut at +-2^100.
__int128 wide_value(const Affine& e, const std::vector<int64_t>& values);
bool wide_holds(const Guard& guard, const std::vector<int64_t>& values);

}  // namespace polyweft::lang
