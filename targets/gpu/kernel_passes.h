// Passes over the LLVM IR of kernels, before their back end.
#pragma once

#include "targets/common/llvm.h"

namespace llvm {
class TargetMachine;
}

namespace polyweft::targets {

/// What later steps take: anything of LLVM's, or only the types and intrinsics that kernels were written with, as
/// SPIR-V wants it.
enum class KernelForms : uint8_t { all, as_written };

/// Memory to registers, common subexpressions, invariant code out of loops, arguments that are only read. No operation
/// changes its bits.
void simplify_kernels(llvm::Module& module, llvm::TargetMachine& machine, KernelForms forms = KernelForms::all);

}  // namespace polyweft::targets
