// Small valid programs from a seed, for property tests, and smaller versions of a failing one.
#pragma once

#include <functional>

#include "polyweft/program.h"

namespace polyweft::ir {

/// A program that passes all checks for every value of its parameters, by construction: a read that is not provably
/// inside the domain of its tensor is guarded by that domain's conditions, and recurrences read only what lies before.
/// Rectangular and triangular domains, one to four tensors, reductions (nested, triangular, with `where`), guards,
/// gathers, tuples by argmax, stencils over time, wavefronts, several types. Parameters default to 2..6. The same seed
/// gives the same program everywhere.
Program random_program(uint64_t seed);

/// Programs a little smaller than this one: a tensor that nobody reads dropped, a parameter halved, an operator
/// replaced by one of its operands, a reduction by one term less. Each is valid where `program` is; ordered from large
/// to small steps.
std::vector<Program> smaller_programs(const Program& program);

/// The smallest program reached from `program` by steps of smaller_programs that keep `fails` true; at most `budget`
/// trials.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int budget = 500);

}  // namespace polyweft::ir
