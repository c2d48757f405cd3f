// Tests of what a combiner promises: its identity, `associative`, `commutative` (LANGUAGE.md section 2).
//
// A promise is a statement about all values that the program can feed to the combiner, and in general undecidable. So
// it is tested: the terms are the bodies of the reductions that use the combiner, computed from samples of what they
// read, so that a component that is always 1 stays 1 and an input declared `values lo..hi` stays inside. The states are
// what folding makes of the terms, since a promise about a state that no fold reaches (a sum beside the maximum of
// nothing) binds nobody. Floats keep a promise where the two results lie within the running error bounds of
// error_bound.h: over the reals they are then equal as far as this arithmetic can tell.
#pragma once

#include <optional>
#include <string>

#include "polyweft/program.h"

namespace polyweft::ir {

enum class Promise : uint8_t { identity, associative, commutative };

/// A counterexample.
struct BrokenPromise {
  Promise promise = Promise::identity;
  std::string witness;         ///< "f(f(0, 0), 1) = -1, but f(0, f(0, 1)) = 1"
  bool needs_special = false;  ///< only found with an infinity or a NaN among the terms
};

/// At most one counterexample a promise, the first in the order of tests: small integers one after the other, then
/// samples from a fixed seed, then samples with infinities and NaN. The identity is tested where `associative` is
/// promised: partial results start from it. About 10^5 operators of the combiner are evaluated, a few milliseconds.
/// Reads of the tuples' bodies are taken as independent of each other.
std::vector<BrokenPromise> broken_promises(const Program& program, uint32_t combiner);

}  // namespace polyweft::ir
