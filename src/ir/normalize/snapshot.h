// Snapshots: what a read needs, in cells of its own. In a template it is an equation that copies; in the nest it is
// copies, and nothing else knows of it.
#pragma once

#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// The program with the snapshot as its last tensor and last equation. Reads of the statement that are equal to the one
/// named read it, too. PW0308 where it would hold an element twice, or hold what no instance reads; PW0605: a
/// statement, tensor or read that the program has not.
Result<Program> with_snapshot(const Program& program, const Snapshot& snapshot);
/// Of a nest for the program with these snapshots: their buffers hold elements of the tensors that they are copies of,
/// and what makes them are copies.
void make_copies(LoopNest& nest, const Program& program, const std::vector<Snapshot>& snapshots);

}  // namespace polyweft::ir
