// Code that counts its own instructions, for models that know a machine's time by them.
#pragma once

#include <llvm/IR/Module.h>

namespace polyweft::targets {

/// Each basic block adds the number of its LLVM instructions, without inline assembly, to the i64 variable `counter` of
/// whoever links the code. Behind all passes.
void count_instructions(llvm::Module& module, const char* counter);

}  // namespace polyweft::targets
