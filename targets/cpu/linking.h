// lld as a library, for backends that link what they make: targets/cpu/link.cpp.
#pragma once

#include <lld/Common/Driver.h>

#include <span>
#include <string>
#include <vector>

#include "targets/backend.h"

namespace polyweft::targets {

using LldDriver = bool (*)(llvm::ArrayRef<const char*>, llvm::raw_ostream&, llvm::raw_ostream&, bool, bool);

/// What the driver makes of the objects. `arguments`: the linker's name first, neither inputs nor output among them.
/// PW0514 where it refuses. One link at a time in a process.
Result<Bytes> linked_by(LldDriver driver, std::vector<std::string> arguments,
                        const std::vector<std::span<const unsigned char>>& objects);

}  // namespace polyweft::targets
