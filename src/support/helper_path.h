// Where our helper processes (polyweft-isl, polyweft-runner) are: beside us, in libexec, or in the build tree.
#pragma once

#include <string>

namespace polyweft {

/// A path that can be started; the bare name (looked up in PATH when started) when it is at none of the known places,
/// which are, relative to the running program and to the library that holds this code: `.`, `../libexec/polyweft`,
/// `../../libexec/polyweft`, and `../tools`, `../src/tools` of a build tree.
std::string helper_program(const std::string& name);
/// In `directory` where one is given.
inline std::string helper_program(const std::string& name, const std::string& directory) {
  return directory.empty() ? helper_program(name) : directory + "/" + name;
}

}  // namespace polyweft
