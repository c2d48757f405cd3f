// What LLVM's back end for Hexagon would get wrong, in other words.
#pragma once

#include "targets/common/llvm.h"

namespace polyweft::targets {

/// LLVM 22.1 makes `a > b ? a : b` of floats the instruction that gives the other operand for a NaN, also where the
/// NaN must stay. Choices between floats become choices between their bits, which no pattern takes.
void choose_floats_as_words(llvm::Module& module);

/// LLVM 22.1 gets masks of fewer lanes than a vector of words has (32) wrong. Loads and stores under such masks become
/// those of elements; an element that is not active is read and written in a cell of its own on the stack.
void mask_short_vectors_by_addresses(llvm::Module& module);

}  // namespace polyweft::targets
