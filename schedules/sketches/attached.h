// Statements of a band inside its loops: which they are, how much they do, and lanes for them.
#pragma once

#include <string>
#include <vector>

#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

std::vector<std::string> names_of_attached(const NestTemplate& t, uint32_t band);
/// Instances of a stage; of two conditions e >= 0 and -e >= 0, as borders have them, one index is given by the others.
double points_inside(const NestTemplate& t, const Stage& stage);
/// Data indices along which elements of a sum share an operand.
std::vector<uint32_t> shared_along(const NestTemplate& t, const Stage& stage);
/// Do the lanes of the stage's vectors read what lies apart in memory, element by element?
bool gathers(const NestTemplate& t, const Stage& stage);
/// Lanes for a statement that has loops of its own: along the index whose neighbours are neighbours in memory; sums
/// that share operands in blocks. False where it gets none.
bool vectorize_attached(Sketcher& s, const std::string& name);

}  // namespace polyweft::schedules
