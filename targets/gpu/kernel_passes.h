// Passes over the LLVM IR of kernels, before a back end that has all of LLVM's types and intrinsics.
#pragma once

#include "targets/common/llvm.h"

namespace llvm {
class TargetMachine;
}

namespace polyweft::targets {

/// Memory to registers, common subexpressions, invariant code out of loops, arguments that are only read. No operation
/// changes its bits.
void simplify_kernels(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace polyweft::targets
