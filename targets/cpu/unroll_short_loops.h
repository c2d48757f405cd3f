// Several iterations of a short innermost loop, written one after the other.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

class InstructionHooks;

/// A pass over loops of one block that do nothing but add to sums in registers and whose number of iterations is known:
/// four of them (or three, or two, whichever divides that number) become one, so that counting, moving addresses on and
/// the branch are paid once. Sums keep their order, those of integers where the target has an opaque() and no registers
/// for more. Hints to the caches are given once a line.
llvm::FunctionPass* unroll_short_loops(const InstructionHooks& instructions);

}  // namespace polyweft::targets
