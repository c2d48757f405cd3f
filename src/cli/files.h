// Files by path, with messages that say what to do.
#pragma once

#include <string>

#include "polyweft/result.h"

namespace polyweft::cli {

/// The whole file. PW0001 where it cannot be read.
Result<std::string> read_file(const std::string& path);
/// Replaces the file. PW0004 where it cannot be written.
Status write_file(const std::string& path, const std::string& bytes);

}  // namespace polyweft::cli
