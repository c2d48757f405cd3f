#include "standard_streams.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>

namespace polyweft::cli {
namespace {

/// Lives as long as the process: whoever has the path may open it.
Result<std::string> file_in_memory(const char* name) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) return fail("PW0001", std::string(name) + ": no file in memory can be made");
  return "/proc/self/fd/" + std::to_string(file);
}

std::string first_bytes(std::istream& in, uint64_t most) {
  constexpr uint64_t kPart = 1 << 16;
  std::string out;
  while (in && out.size() < most) {
    const size_t have = out.size();
    out.resize(have + std::min<uint64_t>(kPart, most - have));
    in.read(out.data() + have, static_cast<std::streamsize>(out.size() - have));
    out.resize(have + static_cast<size_t>(in.gcount()));
  }
  return out;
}

}  // namespace

const char* const kStandardInput = "<stdin>";

bool is_standard_stream(const std::string& path) {
  return path == "-";
}

Result<std::string> standard_input(uint64_t most_bytes) {
  static const std::string text = first_bytes(std::cin, most_bytes + 1);
  if (text.size() <= most_bytes) return text;
  return fail("PW0001", std::string(kStandardInput) + ": has more than " + std::to_string(most_bytes) + " bytes");
}

Result<std::string> readable_path(const std::string& path, uint64_t most_bytes) {
  if (!is_standard_stream(path)) return path;
  auto text = standard_input(most_bytes);
  if (!text) return text;
  auto file = file_in_memory("stdin");
  if (!file) return file;
  std::ofstream out(*file, std::ios::binary);
  out << *text << std::flush;
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
