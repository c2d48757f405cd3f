// Windows along lanes that begin inside a word of 32 bits: two words shifted as one.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

struct InstructionCapabilities;

/// A pass for targets with lane_funnels. Neighbours one and three elements of 16 bits further (one, two and three
/// bytes) are shuffled out of two vectors by two operations, both on one port; where the neighbours that begin with a
/// word are wanted too, they are these words shifted by one, on another port.
llvm::FunctionPass* lanes_by_funnels(const InstructionCapabilities& can);

}  // namespace polyweft::targets
