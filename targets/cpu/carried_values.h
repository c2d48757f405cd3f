// What one iteration of an innermost loop computes for its first lanes, the one before has computed for its last ones.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

/// A pass over loops of one block. A block of vectors along a row and one more beyond it (sums of columns, of which a
/// reader wants neighbours) begins in the next iteration with what is beyond it now: such a value is kept in its
/// register, and made by itself once, before the loop.
llvm::FunctionPass* values_carried_between_iterations();

}  // namespace polyweft::targets
