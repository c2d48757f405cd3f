// Table tests of refusals: tests/error/NAME.weft must give exactly the text of tests/error/NAME.expected.
//
// The runner takes a function from (text, file name) to the rendered messages, so that the tests of the parser and of
// the exact checks share the folder: a case belongs to the checks where its expected text has a code PW02nn, else to
// the parser.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace polyweft::error_test {

enum class Stage { parser, checks };

struct Case {
  std::string name;
  std::string text;
  std::string expected;
};

inline std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The cases of a stage, sorted by name. A case without an .expected file is in every stage, and fails there.
inline std::vector<Case> cases_of(Stage stage) {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/tests/error")) {
    if (entry.path().extension() != ".weft") continue;
    std::filesystem::path expected = entry.path();
    expected.replace_extension(".expected");
    Case found{entry.path().stem().string(), read_all(entry.path()), read_all(expected)};
    bool of_checks = found.expected.find("[PW02") != std::string::npos;
    if (found.expected.empty() || of_checks == (stage == Stage::checks)) cases.push_back(std::move(found));
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

/// Runs the cases of a stage. With PW_WRITE_EXPECTED set, writes what is missing instead, to be read before it is
/// committed.
inline void run_cases(Stage stage, const std::function<std::string(const std::string&, const std::string&)>& messages) {
  for (const Case& each : cases_of(stage)) {
    SCOPED_TRACE(each.name);
    std::string found = messages(each.text, each.name + ".weft");
    if (each.expected.empty() && std::getenv("PW_WRITE_EXPECTED") != nullptr)
      std::ofstream(PW_SOURCE_DIR "/tests/error/" + each.name + ".expected", std::ios::binary) << found;
    else
      EXPECT_EQ(found, each.expected);
  }
}

}  // namespace polyweft::error_test
