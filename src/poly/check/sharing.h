// Private to the checker: buffers in one memory (Buffer::within).
//
// Each buffer's values are proven as if its memory were its own (Flow). That stands where no write to another buffer of
// the memory falls between a write and a read of it. Proven by the text: of each two buffers that meet, each write of
// the one comes after all accesses of the other, or before all its writes, in the same iteration of the loops around
// the other's Alloc, outside which nothing of it lives. A store that moves a value within its own bytes changes
// nothing, and is none of these.
#pragma once

#include "poly/check/races.h"

namespace polyweft::poly::checker {

/// `results`: accesses of the outputs after the end, with the number of their statements. Throws Refuted (PW0403).
void prove_apart_in_time(const LoopNest& nest, const Statements& statements, const std::vector<Use>& uses,
                         const std::vector<Use>& results);
/// Where an output is partial: the cells of it that writes of `use` to a buffer within it touch; nothing where that
/// cannot be told. The identity for the output itself.
std::optional<std::vector<Affine>> output_cell(const LoopNest& nest, BufferId output, const Statement& s,
                                               const Access& access);

}  // namespace polyweft::poly::checker
