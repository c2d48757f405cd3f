// Unrolling and vectorizing leave branches with the weights of the loop as it was: they are told again, from what the
// loops count.
#pragma once

namespace llvm {
class Module;
}  // namespace llvm

namespace polyweft::targets {

/// Sets the branch weights of each loop whose iterations scalar evolution knows as an expression of constants and of
/// the loops around, those at their middle iteration. Others stay.
void tell_trip_counts(llvm::Module& module);

}  // namespace polyweft::targets
