// The builder of ir/math.h that emits LLVM IR: the same algorithms, hence the same bits, as the interpreter.
#pragma once

#include "targets/common/soft_float.h"

namespace polyweft::targets {

/// Emits op `name` ("exp", "log", ...) on scalars or vectors of float or double.
llvm::Value* emit_math(llvm::IRBuilder<>& builder, FloatCode& floats, const char* name, llvm::Value* x,
                       llvm::Value* y = nullptr);

}  // namespace polyweft::targets
