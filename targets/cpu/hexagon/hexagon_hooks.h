#pragma once

#include <memory>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"

namespace polyweft::targets {

/// Of each argument's address, which kernels check: vectors and words of bytes are then loaded at once.
inline constexpr int64_t kArgumentAlignment = 128;

/// Of a target with HVX vectors of 128 bytes.
std::unique_ptr<InstructionHooks> hexagon_hooks(const Target& target);

}  // namespace polyweft::targets
