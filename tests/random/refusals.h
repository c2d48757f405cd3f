// Was a step refused for good reason? The step is applied all the same, and what comes out is judged by enumeration.
#pragma once

#include "random/band_traces.h"

namespace polyweft::random_test {

enum class Truth : uint8_t {
  illegal,   ///< the nest computes something else, or what runs at once meets in a cell
  legal,     ///< an over-refusal
  no_nest,   ///< sizes that do not fit together, or another reason stands in the way as well
  of_form,   ///< no dependence is the reason: the step has no meaning there, or asks for another one first
  undecided  ///< the checker says nothing about what runs at once
};
/// `program`: bound, normalized.
Truth truth_of(const Program& program, NumericsClass cls, const Refused& refused);
/// What refused steps are counted by: "permute PW0305".
std::string kind_of(const Refused& refused);

/// Is the nest the program's, term by term, on these sizes?
bool has_the_programs_terms(const Program& program, const LoopNest& nest, NumericsClass cls);

}  // namespace polyweft::random_test
