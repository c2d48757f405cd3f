// Symbolic nests, made once and run at many sizes: the interpreter's tags and machine code behind guard pages against
// the evaluator; some sizes are proven.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"

namespace polyweft::symbolic_test {

/// All programs of the .weft files under a folder of the source tree, by name of the file.
std::vector<Program> programs_in(const std::string& folder);
/// Sizes that the assumptions admit: 0 where they do, 1, 2, 3, primes, unequal ones; each parameter at most `most`.
std::vector<Binding> bindings_of(const Program& program, int64_t most);

struct Swept {
  std::string refusal;  ///< why there is no symbolic nest; empty: there is one
  std::string trouble;  ///< empty: all right
  int sizes = 0;
};
/// `bindings` empty: bindings_of().
Swept sweep(const Program& program, NumericsClass cls, std::vector<Binding> bindings = {});

}  // namespace polyweft::symbolic_test
