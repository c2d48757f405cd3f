// Where our helper processes (polyweft-isl, polyweft-runner) are: beside us, in libexec, or in the build tree; and
// where our data is.
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

/// A file or folder that is installed below share/polyweft: `../share/polyweft/NAME`, `../../share/polyweft/NAME` from
/// the running program or the library that holds this code, where a build tree has links to its sources. Empty where
/// there is none.
std::string shared_data(const std::string& name);

}  // namespace polyweft
