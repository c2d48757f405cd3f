// Spills of vector registers, counted in the object itself.
#pragma once

#include <vector>

namespace llvm {
class MCInst;
class MCInstrInfo;
class MCRegisterInfo;
}  // namespace llvm

namespace polyweft::targets {

struct AssemblyCode;

/// vmov.. %xmm0, c(%rsp), or c(%rbp) where that is the frame's.
bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions, const llvm::MCRegisterInfo& registers, bool has_frame_pointer);
/// mov %rsp, %rbp
bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo& registers);

/// Most stores of vector registers to [rsp/rbp + c] in one innermost loop of all functions of an ELF object. 0 where it cannot be read.
int count_spills(const std::vector<unsigned char>& object);
/// The same of assembly text.
int count_spills(const AssemblyCode& assembly);

}  // namespace polyweft::targets
