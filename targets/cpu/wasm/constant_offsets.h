#pragma once

namespace llvm {
class Module;
}

namespace polyweft::targets {

/// Loads and stores take constant parts of their addresses as offsets of the instruction, which adds them without
/// wrapping: such a part is said to be one where no address before it can lie below zero. Memory begins with a stack of
/// `lowest` bytes, so that this holds for shorter distances wherever the address is not the stack's.
void use_constant_offsets(llvm::Module& module, unsigned lowest);

}  // namespace polyweft::targets
