// The backends there are, by architecture.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "targets/backend.h"

namespace polyweft::targets {

/// Sorted by architecture.
std::vector<const Backend*> backends();
/// Null where no backend builds for this architecture.
const Backend* backend_of(const std::string& architecture);
/// Their names, for messages: "aarch64, x86-64".
std::string architectures();
/// PW0522 where no backend builds for the target's architecture.
Result<const Backend*> backend_for(const Target& target);
/// The machine that this process runs on, as the first of these backends that knows it has it; PW0522 where none does.
Result<Target> host_of(const std::vector<const Backend*>& backends);
/// Is it "host", or the name that a backend has for a machine? Anything else may be a path.
bool is_target_name(const std::string& name);
/// One more, for the life of the process; replaces one of the same architecture, which ends. Before anybody else asks:
/// the list is not locked.
void add_backend(std::unique_ptr<Backend> backend);

/// LLVM's version: "22.1.8".
std::string llvm_version();

}  // namespace polyweft::targets
