// The canonical text of a program and its key (LANGUAGE.md section 7).
//
// Free of names, order of equations, operand order of commutative operators, direction of comparisons, spelling of
// literals and ranges. Programs with one canonical text mean the same; programs that mean the same may have two.
#pragma once

#include <string>

#include "polyweft/program.h"

namespace polyweft::lang {

/// Of a program as parse() or the DSL gives it (checked; nothing of it may be malformed). Labels of tensors are found
/// by refinement of the equations that define and read them; ties are split by trying each choice, at most 5,040, else
/// in input order.
std::string canonical_text(const Program& program);

/// The first 16 bytes of BLAKE2b of canonical_text(), as 32 hexadecimal digits.
std::string key_of(const Program& program);
std::string key_of_canonical(const std::string& canonical_text);

}  // namespace polyweft::lang
