// Cells of constant buffers as data of a module.
#pragma once

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

/// A private global of the buffer's cells in physical order; `cell`: the type of one in memory.
llvm::GlobalVariable* constant_data(llvm::Module& module, const Buffer& buffer, llvm::Type* cell,
                                    unsigned address_space);

}  // namespace polyweft::targets
