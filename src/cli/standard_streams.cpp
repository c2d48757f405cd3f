#include "standard_streams.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>

namespace polyweft::cli {
namespace {

/// Lives as long as the process: whoever has the path may open it.
Result<std::string> file_in_memory(const char* name) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) return fail("PW0001", std::string(name) + ": no file in memory can be made");
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

const char* const kStandardInput = "<stdin>";

bool is_standard_stream(const std::string& path) {
  return path == "-";
}

const std::string& standard_input() {
  static const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  return text;
}

Result<std::string> readable_path(const std::string& path) {
  if (!is_standard_stream(path)) return path;
  auto file = file_in_memory("stdin");
  if (!file) return file;
  std::ofstream out(*file, std::ios::binary);
  out << standard_input() << std::flush;
  if (!out) return fail("PW0001", std::string(kStandardInput) + ": cannot be kept in memory");
  return file;
}

Status write_through(const std::string& path, const std::function<Status(const std::string&)>& write) {
  if (!is_standard_stream(path)) return write(path);
  auto file = file_in_memory("stdout");
  if (!file) return file.error();
  if (auto written = write(*file); !written) return written;
  std::ifstream in(*file, std::ios::binary);
  std::cout << in.rdbuf() << std::flush;
  if (!in || !std::cout) return fail("PW0004", "standard output cannot be written");
  return Ok{};
}

}  // namespace polyweft::cli
