// `-` where a file is named: standard input, or standard output.
#pragma once

#include <functional>
#include <string>

#include "polyweft/result.h"

namespace polyweft::cli {

/// "-".
bool is_standard_stream(const std::string& path);
/// As messages name it: "<stdin>".
extern const char* const kStandardInput;

/// All of standard input, read once; every later call gives the same text.
const std::string& standard_input();
/// A path that a library reads bytes from: the path, or a file in memory that holds standard input. PW0001 where there
/// is no memory for it.
Result<std::string> readable_path(const std::string& path);
/// Lets `write` write a file at this path; what is meant for standard output goes through a file in memory.
Status write_through(const std::string& path, const std::function<Status(const std::string&)>& write);

}  // namespace polyweft::cli
