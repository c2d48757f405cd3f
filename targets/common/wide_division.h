// Floor division of 128-bit integers, without the C library's helpers: a kernel calls nothing that it does not bring
// along.
#pragma once

#include "targets/common/llvm.h"

namespace polyweft::targets {

enum class WideDivision : uint8_t { quotient, remainder };

/// floor(a / b), or a - b * floor(a / b), of i128 or vectors of them; x // 0 = x % 0 = 0, the least // -1 wraps.
/// Numbers that fit 64 bits are divided as such (about 30 cycles); others bit by bit (about 1 us), and vectors lane by
/// lane: subscripts rarely need this.
llvm::Value* floor_division(llvm::IRBuilder<>& b, WideDivision what, llvm::Value* dividend, llvm::Value* divisor);

}  // namespace polyweft::targets
