// The public headers list why a search may have ended.
#include "driver/stop_reason.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace polyweft {
namespace {

/// What a header says, lines of comments joined.
std::string text_of_header(const std::string& name) {
  std::ifstream in(PW_SOURCE_DIR "/include/polyweft/" + name);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return std::regex_replace(text, std::regex(R"(\s*\n\s*(///?|\*)?\s*)"), " ");
}

TEST(StopReason, is_one_of_those_that_the_headers_list) {
  for (const char* header : {"tuner.h", "c_api.h"}) {
    const std::string text = text_of_header(header);
    for (const std::string reason : stop_reason::kAll)
      EXPECT_NE(text.find('"' + reason + '"'), std::string::npos) << header << " does not list " << reason;
  }
}

TEST(StopReason, is_never_written_beside_that_table) {
  for (const char* file : {"tune_loop", "tune_session", "tune_start", "tuner", "tuner_shared"}) {
    std::ifstream in(std::string(PW_SOURCE_DIR "/src/driver/") + file + ".cpp");
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    ASSERT_FALSE(text.empty()) << file;
    EXPECT_FALSE(std::regex_search(text, std::regex("reason_? [=!]=? (\"|[^;]*\\? \")"))) << file;
  }
}

}  // namespace
}  // namespace polyweft
