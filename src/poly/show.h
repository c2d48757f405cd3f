// What `polyweft show --stage scop|dependences|schedule` prints: isl's notation, for people; never a key.
#pragma once

#include <string>

#include "polyweft/program.h"

namespace polyweft::poly {

/// Instances, reads and writes of every equation of a normalized program, symbolic sizes.
Result<std::string> show_scop(const Program& normalized);
/// Value-based flow between equations, and the order of reductions.
Result<std::string> show_dependences(const Program& normalized);
/// The base order of a bound, normalized program: its parts, the times of the elements of recurrences, windows of folded tensors.
Result<std::string> show_schedule(const Program& normalized_bound);

}  // namespace polyweft::poly
