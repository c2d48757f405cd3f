// Copies of parts of a nest: a node stands in one place only, and each loop binds a variable of its own.
#pragma once

#include <map>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

using VariableValues = std::map<VarId, Affine>;

Access substitute(const Access& access, const VariableValues& values);
/// The statement with these values for variables, ghost tags included.
Compute substitute(const Compute& compute, const VariableValues& values);
/// A copy of the node and all inside, with these values for variables of loops around it and new variables for the
/// loops inside. kNoNode gives kNoNode. Nothing may be allocated inside: a buffer has one lifetime.
NodeId copy_subtree(LoopNest& nest, NodeId id, VariableValues values);

}  // namespace polyweft::ir
