// Divisions by a small odd number in two operations where no element is tiny, which is tested for a whole block at once.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

/// A pass over blocks with several exact quotients by odd numbers (nest_division.cpp) in vectors of 512 bits: the bits stay those of the division. What depends on the
/// quotients is stored after the test; a block of its own makes the same of the longer form where some element is tiny and not zero.
llvm::FunctionPass* quick_quotients();

}  // namespace polyweft::targets
