// Instructions that this process was told of, for whoever starts helpers: nests that name them mean the same there.
#pragma once

#include <string>
#include <vector>

#include "polyweft/result.h"

namespace polyweft::ir {

/// The texts of all files of add_instructions(), in their order.
std::vector<std::string> added_instruction_texts();
/// Of another process: what is known already stays. PW0020 for a text that is none, or that gives a known name another
/// meaning.
Status add_instruction_texts(const std::vector<std::string>& texts);
/// By all these texts; empty: nothing was added.
std::string key_of_added_instructions();

}  // namespace polyweft::ir
