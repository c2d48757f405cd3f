#pragma once

#include <memory>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"

namespace polyweft::targets {

/// Of a target with NEON.
std::unique_ptr<InstructionHooks> aarch64_hooks(const Target& target);

}  // namespace polyweft::targets
