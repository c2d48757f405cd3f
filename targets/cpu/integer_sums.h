// Sums of integers times small constants, with fewer operations.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

/// A pass over sums of vectors of integers in one block, c0 x0 + c1 x1 + .. modulo 2^bits: terms of one constant are
/// added before they are multiplied, and constants that are near each other become sums of sums (x + 2 y + 3 z = (x + y
/// + z) + (y + z) + z), where that takes fewer operations.
llvm::FunctionPass* integer_sums();

}  // namespace polyweft::targets
