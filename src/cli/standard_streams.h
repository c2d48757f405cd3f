// `-` where a file is named: standard input, or standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "polyweft/result.h"

namespace polyweft::cli {

/// "-".
bool is_standard_stream(const std::string& path);
/// As messages name it: "<stdin>".
extern const char* const kStandardInput;

/// All of standard input, read once; every later call gives the same text. PW0001 where it has more than `most_bytes`.
Result<std::string> standard_input(uint64_t most_bytes);
/// A path that a library reads bytes from: the path, or a file in memory that holds standard input. PW0001 where that
/// has more than `most_bytes`, or where there is no memory for it.
Result<std::string> readable_path(const std::string& path, uint64_t most_bytes);
/// Lets `write` write a file at this path; what is meant for standard output goes through a file in memory.
Status write_through(const std::string& path, const std::function<Status(const std::string&)>& write);

}  // namespace polyweft::cli
