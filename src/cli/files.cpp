#include "files.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "standard_streams.h"

namespace polyweft::cli {

Result<std::string> read_file(const std::string& path) {
  if (is_standard_stream(path) || path == kStandardInput) return standard_input();
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) return fail("PW0001", path + ": is a folder, not a file");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) return fail("PW0001", path + ": cannot be read", {"is the path right, and may you read it?"});
  return text.str();
}

Status write_file(const std::string& path, const std::string& bytes) {
  if (is_standard_stream(path)) {
    std::cout << bytes << std::flush;
    return std::cout ? Status(Ok{}) : Status(fail("PW0004", "standard output cannot be written"));
  }
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (!out)
    return fail("PW0004", path + ": cannot be written",
                {"does the folder exist, is there space, and may you write there?"});
  return Ok{};
}

}  // namespace polyweft::cli
