// What one iteration of an innermost loop makes and the next ones would make again from memory that has not changed.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

struct InstructionCapabilities;

/// A pass over loops of one block. A vector that the next iteration loads from where this one has stored it stays in
/// its register; vectors rotated out of two lines, which the next iterations rotate again a step lower (a column's
/// neighbours above or below), are rotated once and kept on the stack for as many iterations as read them.
llvm::FunctionPass* values_kept_between_iterations(const InstructionCapabilities& can);

}  // namespace polyweft::targets
