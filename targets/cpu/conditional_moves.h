// Keeps conditional moves from becoming branches.
#pragma once

#include <llvm/CodeGen/MachineFunctionPass.h>

namespace polyweft::targets {

/// Marks every conditional move as unpredictable, which LLVM's conversion of moves into branches leaves alone: a
/// minimum or a choice of a dynamic program depends on data, and a branch on it is guessed wrongly again and again.
/// Runs behind instruction selection; linear in the function.
llvm::MachineFunctionPass* unpredictable_moves();

}  // namespace polyweft::targets
