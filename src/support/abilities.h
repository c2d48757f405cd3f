// What can be left out, one at a time, to see what it is worth: passes of `normalize`, rules of sketches, passes of
// code generation.
#pragma once

#include <span>
#include <string_view>

namespace polyweft {

struct Ability {
  std::string_view name;  ///< "PART.NAME": normalize, rule or code
  std::string_view what;
};
/// All of them, by name.
std::span<const Ability> abilities();

/// False where the environment's PW_WITHOUT (names with commas) holds it. For `bench/ablation.py` only: results stay
/// right, kernels become slower. A name that no ability has ends the process with exit code 2, wherever the first
/// question is asked.
bool is_on(std::string_view ability);

}  // namespace polyweft
