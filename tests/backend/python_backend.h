// A whole small backend, made as docs/add_a_target.md says: Python 3 instead of machine code, a child process instead
// of a device.
#pragma once

#include <memory>

#include "targets/backend.h"

namespace polyweft::backend_test {

/// Kind of its artifacts: the text of a module.
inline constexpr const char* kPythonSource = "python-source";

/// Architecture "python", with one target of the same name and no features.
std::unique_ptr<targets::Backend> python_backend();

}  // namespace polyweft::backend_test
