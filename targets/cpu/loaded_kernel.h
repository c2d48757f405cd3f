// A compiled nest called through halide_buffer_t, in this process.
#pragma once

#include <memory>
#include <string>

#include "targets/backend.h"
#include "targets/cpu/build.h"

namespace polyweft::targets {

/// PW0516 where a symbol is missing.
Result<std::unique_ptr<LoadedKernel>> loaded_kernel(const LoopNest& nest, const std::string& symbol,
                                                    std::unique_ptr<LoadedCode> code);

}  // namespace polyweft::targets
