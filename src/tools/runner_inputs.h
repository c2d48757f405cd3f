// Seeded input data, one kind for each question: is the arithmetic right (integers), is it accurate (random), what does
// it do at the edges (adversarial). And the poison that outputs are filled with.
#pragma once

#include "polyweft/runner.h"
#include "support/rng.h"

namespace polyweft::runner {

/// What floats of a set are drawn from, where the usual numbers leave nothing to compare: divisions by 0, overflow.
/// Promised values are drawn inside their promise in any case, and integers as usual.
enum class Draw : uint8_t { usual, dominant, positive, near_one, smaller };
inline constexpr Draw kOtherDraws[] = {Draw::dominant, Draw::positive, Draw::near_one, Draw::smaller};
/// Does the argument get other numbers by this draw than by others?
bool changes(Draw draw, const ArgumentSpec& argument);
/// "numbers near 1", "square matrices with a dominant diagonal" ..
const char* name_of(Draw draw);

/// Fills a buffer of the argument's size. Arguments with promised values get values inside the promise, whatever the
/// set.
void fill_input(const ArgumentSpec& argument, InputSet set, Rng rng, unsigned char* out, Draw draw = Draw::usual);

/// A byte that makes every float element a NaN and every integer an unlikely number: an element nobody wrote never
/// passes for a result.
unsigned char poison_byte(ElementType type);

}  // namespace polyweft::runner
