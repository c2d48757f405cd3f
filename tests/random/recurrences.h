// Random systems of recurrences, valid by construction: harder orders than the other generators make.
#pragma once

#include <string>

#include "support/rng.h"

namespace polyweft::random_test {

/// The text of a program: one to three tensors over a space of one to four dimensions (boxes, triangles; halves and
/// combs by `where`), at most eight equations that need each other. All reads of these tensors lie before in one order:
/// a direction along one dimension, or a skewed hyperplane. Distances of both signs, halves and reflections, floors and
/// remainders in guards, reductions over what is done, results that keep a last slice only.
std::string random_recurrence(Rng& rng);

}  // namespace polyweft::random_test
