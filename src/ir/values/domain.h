// Integer points of the domains of a bound program, and the boxes of its tensors.
#pragma once

#include <functional>

#include "polyweft/program.h"

namespace polyweft::ir {

/// A value for each variable, parameters first; sized for one equation.
using Environment = std::vector<int64_t>;
/// The environment of an equation: parameters set, indices zero.
Environment environment_of(const Program& program, const Equation& equation);

/// Calls f for each point of the ranges that satisfies `where`, in lexicographic order, with the ranges' variables set.
/// f returns false to stop; so does the function then. O(product of the ranges).
bool for_each_point(const std::vector<IndexRange>& ranges, const Guard& where, Environment& env,
                    const std::function<bool()>& f);
/// The slots of an equation that bind an index, as ranges.
std::vector<IndexRange> slot_ranges(const Equation& equation);
/// The coordinates of the element that an equation defines at the indices in env.
std::vector<int64_t> element_at(const Equation& equation, const Environment& env);
/// Sets the slot indices in env so that the equation defines `point`; false when it does not.
bool solve(const Equation& equation, const std::vector<int64_t>& point, Environment& env);

/// The box of every tensor of a bound program, see Box. Enumerates the domains of locals, and of outputs whose ranges
/// are not rectangular.
std::vector<Box> boxes(const Program& bound);

}  // namespace polyweft::ir
