// Where the helper processes are.
#pragma once

#include <string>

namespace polyweft {

/// DIRECTORY/NAME; without a directory: beside the running program or the library, in ../libexec/polyweft from there, else NAME in PATH.
std::string helper_path(const std::string& directory, const std::string& name);

}  // namespace polyweft
