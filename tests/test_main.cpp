// The main of all GoogleTest programs: holds the CPU to POLYWEFT_HOST, and ends with a line for each test that was
// skipped, whole or in part.
#include <gtest/gtest.h>

#include <memory>

#include "cpu.h"

namespace polyweft::test {
namespace {

class Skipped : public testing::EmptyTestEventListener {
 public:
  static Skipped& only() {
    static auto* listener = new Skipped;  // GoogleTest owns it
    return *listener;
  }
  void add(const std::string& what) { lines_.push_back("skipped: " + test_ + ": " + what); }

 private:
  // Not asked of GoogleTest when a part ends: it holds its lock then.
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.skipped()) add(first_line(part.message()));
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    for (const auto& line : lines_) std::printf("%s\n", line.c_str());
  }
  static std::string first_line(std::string text) {
    text.erase(0, text.find_first_not_of("\n "));
    if (text.rfind("Skipped\n", 0) == 0) text.erase(0, 8);
    text.erase(std::min(text.find('\n'), text.size()));
    return text.empty() ? "no reason given" : text;
  }

  std::string test_;
  std::vector<std::string> lines_;
};

}  // namespace

void leave_out(const std::string& why) {
  Skipped::only().add("in part, " + why);
}

}  // namespace polyweft::test

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(&polyweft::test::Skipped::only());
  return RUN_ALL_TESTS();
}
