// Long chains of an unrolled block, interleaved instead of one after the other.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

/// A pass over blocks whose vectors are stored after long chains of operations: a processor that waits for a chain's
/// results sees the others' in its window only where they are near. What a block does to memory stays in an order that
/// alias analysis finds equal; values are the same.
llvm::FunctionPass* interleaved_chains();

}  // namespace polyweft::targets
