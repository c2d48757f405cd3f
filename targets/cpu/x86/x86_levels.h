// Products with code for several levels of features, one of which is taken at the first call.
#pragma once

#include <string>
#include <vector>

#include "targets/backend.h"

namespace polyweft::targets {

/// Object, archive, shared object or header; PW0523 for other forms, and for features that CPUID does not tell. `any`:
/// the target whose code all CPUs of the architecture run.
Result<Bytes> x86_levels(const std::vector<LevelCode>& levels, Emit what, const BuildOptions& options,
                         const Target& any);

/// Of the kernel that is made for one of them: "gemm_at_x86_64_v3".
std::string name_at_level(const std::string& symbol, const Target& target);
/// LLVM's text of the functions that a caller sees, for levels whose own functions have a suffix each. PW0523 as above.
Result<std::string> x86_dispatch_text(const std::vector<LevelCode>& levels, const std::string& symbol);

}  // namespace polyweft::targets
