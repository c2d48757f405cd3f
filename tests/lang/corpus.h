// The programs of LANGUAGE.md section 8, copied into tests/lang/programs.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace polyweft::lang_test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// (name, text), sorted by name.
inline std::vector<std::pair<std::string, std::string>> corpus() {
  std::vector<std::pair<std::string, std::string>> programs;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/tests/lang/programs"))
    if (entry.path().extension() == ".weft")
      programs.emplace_back(entry.path().stem().string(), read_file(entry.path()));
  std::sort(programs.begin(), programs.end());
  return programs;
}

}  // namespace polyweft::lang_test
