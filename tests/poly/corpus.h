// The programs of LANGUAGE.md section 8 for the tests of src/poly.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "lang/parser.h"

namespace polyweft::poly_test {

inline Program parsed(const std::string& text) {
  auto result = lang::parse(text, "test.weft");
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message) << "\n" << text;
  return result ? result->programs.front() : Program{};
}

inline std::vector<Program> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/tests/lang/programs"))
    if (entry.path().extension() == ".weft") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Program> programs;
  for (const auto& path : paths) {
    std::ifstream in(path);
    programs.push_back(parsed({std::istreambuf_iterator<char>(in), {}}));
  }
  return programs;
}

/// The same program with every parameter small: as small as the assumptions allow, at least `size`.
inline Program small(const Program& program, int64_t size) {
  for (int64_t s = size; s < size + 8; ++s) {
    std::map<std::string, int64_t> values;
    for (const Parameter& p : program.parameters) values[p.name] = std::min(p.value, s);
    if (auto binding = make_binding(program, values)) return polyweft::bind(program, *binding);
    for (const Parameter& p : program.parameters)
      values[p.name] = std::min(p.value, p.name == "H" && program.name == "attention" ? 2 * s : s);
    if (auto binding = make_binding(program, values)) return polyweft::bind(program, *binding);
  }
  ADD_FAILURE() << program.name << ": no small binding";
  return program;
}

}  // namespace polyweft::poly_test
