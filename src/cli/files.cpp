#include "files.h"

#include <iostream>

#include "polyweft/tuner.h"
#include "standard_streams.h"

namespace polyweft::cli {

Result<std::string> read_file(const std::string& path, uint64_t most_bytes) {
  if (is_standard_stream(path) || path == kStandardInput) return standard_input(most_bytes);
  return polyweft::read_file(path, most_bytes);
}

Status write_file(const std::string& path, const std::string& bytes) {
  if (!is_standard_stream(path)) return polyweft::write_file(path, bytes);
  std::cout << bytes << std::flush;
  return std::cout ? Status(Ok{}) : Status(fail("PW0004", "standard output cannot be written"));
}

}  // namespace polyweft::cli
