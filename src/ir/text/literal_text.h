// Literals as text.
#pragma once

#include <string>

#include "polyweft/program.h"

namespace polyweft::ir {

/// As the language spells it: "2.0", "-inf", "true", "7". The shortest decimal that gives the value back.
std::string text_of(const Literal& literal);

}  // namespace polyweft::ir
