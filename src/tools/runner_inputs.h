// Seeded input data, one kind for each question: is the arithmetic right (integers), is it accurate (random), what does
// it do at the edges (adversarial). And the poison that outputs are filled with.
#pragma once

#include "polyweft/runner.h"
#include "support/rng.h"

namespace polyweft::runner {

/// Fills a buffer of the argument's size. Arguments with promised values get values inside the promise, whatever the
/// set.
void fill_input(const ArgumentSpec& argument, InputSet set, Rng rng, unsigned char* out);

/// A byte that makes every float element a NaN and every integer an unlikely number: an element nobody wrote never
/// passes for a result.
unsigned char poison_byte(ElementType type);

}  // namespace polyweft::runner
