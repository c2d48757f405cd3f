// The steps that every sketch of a program without recurrences begins with.
//
//   inline            what is cheap, or read once, in elementwise readers
//   index_set_split   conditions on residues: classes of their indices
//   index_set_split   borders: ranges of single indices (borders.h)
#pragma once

#include <optional>

#include "polyweft/nest_template.h"

namespace polyweft::schedules {

struct FirstSteps {
  NestTemplate begun;    ///< base and these steps
  NestTemplate planned;  ///< the same with the first class of residues of a statement for all: its plan serves each
};
/// Nothing where a step is refused.
std::optional<FirstSteps> first_steps(const NestTemplate& base);

/// The first of them alone.
NestTemplate with_inlined(NestTemplate base);

}  // namespace polyweft::schedules
