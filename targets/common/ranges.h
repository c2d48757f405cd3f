// Ranges of integer expressions (ir/passes/ranges.h), in the names that code generation has for them.
#pragma once

#include "ir/nests/row_walk.h"
#include "ir/passes/ranges.h"

namespace polyweft::targets {

using VarFacts = ir::VariableFacts;
using Interval = ir::IntegerRange;
using Facts = ir::ValueFacts;
using ir::key_of;
/// Does the variable stand anywhere in e?
inline bool uses(const Affine& e, VarId var) {
  return ir::mentions(e, var);
}

}  // namespace polyweft::targets
