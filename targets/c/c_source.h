// LoopNest -> readable C11: plain loops over plain pointers, with the meaning of the interpreter
// (src/ir/interpreter.h).
#pragma once

#include <string>

#include "polyweft/loop_nest.h"

namespace polyweft::targets {

/// A translation unit that defines `int NAME(inputs, outputs)`, all pointers `restrict`, of a symbolic nest followed by
/// its sizes as int64_t; with a function `int NAME_pack_T(source, packed)` for each packed input. Returns 0, -11 where
/// memory is not given, and for a symbolic nest 16 + k where assumption k does not hold. Loops are serial: marks are
/// comments. An accumulator that no inner loop moves is a local variable.
///
/// Compiled with -ffp-contract=off and without -ffast-math, results are those of LANGUAGE.md section 4 in the nest's
/// class; functions such as exp are the C library's. Where the class is not strict, `a * b + c` is left to the
/// compiler, which may round it once, and f16 and bf16 are rounded once an expression. `symbol` empty: the nest's name.
/// PW0519 for loops over axes of a GPU.
Result<std::string> c_source(const LoopNest& nest, const std::string& symbol = "");

}  // namespace polyweft::targets
