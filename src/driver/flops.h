// Arithmetic of a program: the one count that all rates are made from. A schedule may do more (values computed again,
// merges of lanes) or less; its rate is still of what the program asks for, so that two schedules of a program compare,
// and one record has one rate.
#pragma once

#include "polyweft/program.h"

namespace polyweft {

/// Arithmetic operations on numbers (a multiply-add counts 2) of one evaluation of a bound, normalized program,
/// exactly: each element of each equation once, each fold of a reduction once more than its body, of `if` the side that
/// is taken. Subscripts and conditions do not count. Nearly always some multiplications; dimensions that others depend
/// on are enumerated, all but the innermost.
double count_flops(const Program& program);

/// Points of the ranges, each bounded by parameters and by indices before it, that satisfy `where`. `values`: of all
/// variables, parameters set.
double count_points(const std::vector<IndexRange>& ranges, const Guard& where, std::vector<int64_t> values);

}  // namespace polyweft
