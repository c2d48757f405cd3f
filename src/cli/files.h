// Files by path, with messages that say what to do.
#pragma once

#include <cstdint>
#include <string>

#include "polyweft/result.h"

namespace polyweft::cli {

/// Programs and traces; those of the language and of traces are lower.
inline constexpr uint64_t kMostText = uint64_t{16} << 20;
/// Settings and descriptions of machines.
inline constexpr uint64_t kMostSettings = uint64_t{64} << 10;

/// The whole of a regular file or of standard input. PW0001 where it cannot be read, or has more bytes than that.
Result<std::string> read_file(const std::string& path, uint64_t most_bytes = kMostText);
/// Replaces the file. PW0004 where it cannot be written.
Status write_file(const std::string& path, const std::string& bytes);

}  // namespace polyweft::cli
