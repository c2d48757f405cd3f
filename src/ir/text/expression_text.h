// One expression of a program as text of the language.
#pragma once

#include <string>

#include "polyweft/program.h"

namespace polyweft {

/// `e` stands in `equation`.
std::string print(const Program& program, const Equation& equation, const Expr& e);

}  // namespace polyweft
