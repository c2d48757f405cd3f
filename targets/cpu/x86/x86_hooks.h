// Instructions of x86-64 that lowering asks for: dot products (VNNI, vpmaddwd), bf16 (AVX512-BF16), and AVX-512's
// scaling, permutations and masked extremes.
#pragma once

#include <memory>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"

namespace polyweft::targets {

std::unique_ptr<InstructionHooks> x86_hooks(const Target& target);

}  // namespace polyweft::targets
