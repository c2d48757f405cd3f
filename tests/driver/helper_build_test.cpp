// Helpers of another build: each is refused by its greeting, before it is asked for anything that would be believed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "driver/isl_client.h"
#include "lang/parser.h"
#include "support/build_identity.h"
#include "support/framing.h"
#include "targets/workers/runner_client.h"
#include "targets/workers/runner_protocol.h"

namespace polyweft {
namespace {

namespace fs = std::filesystem;
using targets::RunnerMessage;

const std::string kHello = encode_frame(static_cast<uint16_t>(FrameType::request), R"({"op":"hello"})");

/// A program that answers each request with one of these frames, in this order, whatever it is asked; the first one
/// when it has `greeting` bytes.
class FakeHelper {
 public:
  explicit FakeHelper(const std::vector<std::string>& frames, size_t greeting = kHello.size()) {
    std::string pattern = (fs::temp_directory_path() / "polyweft-helper-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream script(path());
    script << "#!/bin/sh\n";
    for (size_t k = 0; k < frames.size(); ++k) {
      const std::string file = folder_ + "/" + std::to_string(k);
      std::ofstream(file, std::ios::binary) << frames[k];
      script << "head -c " << (k == 0 ? greeting : 1) << " > /dev/null\ncat " << file << "\n";
    }
    script << "cat > /dev/null\n";
    script.close();
    fs::permissions(path(), fs::perms::owner_all);
  }
  ~FakeHelper() { fs::remove_all(folder_); }
  std::string path() const { return folder_ + "/helper"; }

 private:
  std::string folder_;
};

std::string answer(const std::string& json) {
  return encode_frame(static_cast<uint16_t>(FrameType::response), json);
}
std::string greeting(const std::string& build) {
  return answer(R"({"ok": {"build": ")" + build + "\"}}");
}
Program any_program() {
  return lang::parse("program p(N = 4)\nin X: f32[N]\nout Y[i: N] = X[i]\n", "p.weft")->programs[0];
}
std::string refusal(const std::string& path, const std::string& theirs) {
  return path + " is of " + theirs + ", and this is build " + build_identity();
}

const std::string kOther = "0123456789abcdef";
const std::string kUnknown =
    R"({"error": {"code": "PW0605", "message": "unknown operation hello in a request", "notes": [], "diagnostics": []}})";

TEST(HelpersOfAnotherBuild, polyweft_isl_is_refused_by_its_greeting) {
  const std::pair<std::string, std::string> cases[] = {
      {greeting(kOther), "build " + kOther},       {answer(kUnknown), "an older build"},
      {answer(R"({"ok": {}})"), "an older build"}, {answer(R"({"ok": {"build": 7}})"), "an older build"},
      {answer(R"({"ok": []})"), "an older build"}, {answer("not JSON"), "an older build"},
  };
  for (const auto& [first, theirs] : cases) {
    // What it would say then, and what was believed: a report without errors.
    const FakeHelper helper({first, answer(R"({"ok": {"errors": [], "warnings": []}})")});
    IslClient isl({.helper = helper.path()});
    for (int time = 0; time < 2; ++time) {
      const CheckReport report = isl.check(any_program());
      ASSERT_EQ(report.errors.size(), 1u) << theirs;
      EXPECT_EQ(report.errors[0].code, "PW0611");
      EXPECT_EQ(report.errors[0].text, refusal(helper.path(), theirs));
      EXPECT_EQ(report.errors[0].notes,
                std::vector<std::string>{"build and install polyweft, polyweft-isl and polyweft-runner together"});
    }
  }
}

TEST(HelpersOfAnotherBuild, polyweft_isl_of_this_build_is_asked) {
  const FakeHelper helper({greeting(build_identity()), answer(R"({"ok": {"errors": [], "warnings": []}})")});
  IslClient isl({.helper = helper.path()});
  EXPECT_TRUE(isl.check(any_program()).errors.empty());
}

TEST(HelpersOfAnotherBuild, polyweft_runner_is_refused_by_its_greeting) {
  const auto described = [](const std::string& payload) {
    return encode_frame(static_cast<uint16_t>(RunnerMessage::described), payload);
  };
  const std::pair<std::string, std::string> cases[] = {
      {described(targets::encode(targets::WorkerDescription{3, true, "", kOther})), "build " + kOther},
      {described(ByteWriter().i64(3).u8(1).string("").bytes()), "an older build"},
      {described("x"), "an older build"},
  };
  for (const auto& [first, theirs] : cases) {
    const FakeHelper helper({first}, kFrameHeaderBytes);
    RunnerOptions options;
    options.command = {helper.path()};
    const auto runner = targets::WorkerRunner::start(options);
    ASSERT_FALSE(runner.ok());
    EXPECT_EQ(runner.error().code, "PW0611");
    EXPECT_EQ(runner.error().message, refusal(helper.path(), theirs));
  }
}

/// 16 digits that follow from the sources.
TEST(HelpersOfAnotherBuild, builds_have_names) {
  const std::string name = build_identity();
  EXPECT_EQ(name.size(), 16u);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace polyweft
