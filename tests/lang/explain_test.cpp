// Every code that the sources mention has an explanation.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "ir/text/render.h"
#include "lang/corpus.h"

namespace polyweft {
namespace {

std::set<std::string> codes_in_sources() {
  std::set<std::string> codes;
  const std::regex code("\"(PW0[0-9]{3})\"");
  for (const char* folder : {"src", "schedules", "search", "cost_models", "targets", "db"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(PW_SOURCE_DIR "/") + folder)) {
      std::string extension = entry.path().extension().string();
      if ((extension != ".cpp" && extension != ".h") || entry.path().string().find("/explain/") != std::string::npos)
        continue;
      std::string text = lang_test::read_file(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), code), end; it != end; ++it) codes.insert((*it)[1]);
    }
  }
  return codes;
}

TEST(explain, every_code_of_the_sources_is_explained) {
  std::set<std::string> codes = codes_in_sources();
  EXPECT_GT(codes.size(), 100U);
  for (const std::string& code : codes)
    EXPECT_TRUE(explain_code(code).has_value()) << code << ": add a line to src/ir/explain";
}

TEST(explain, unknown_codes_have_none) {
  for (const char* code : {"", "PW", "PW0000", "PW9999", "pw0101"})
    EXPECT_FALSE(explain_code(code).has_value()) << code;
}

}  // namespace
}  // namespace polyweft
