// The language page's programs and the examples: their first choices and base orders.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hexagon/emulated.h"
#include "lang/parser.h"
#include "polyweft/tuner.h"
#include "samples.h"

namespace polyweft::hexagon_test {
namespace {

std::vector<std::filesystem::path> programs_in(const char* folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(PW_SOURCE_DIR "/") + folder))
    if (entry.path().extension() == ".weft") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

/// Sizes that the interpreter and the emulator get through: the first of some caps that the program's assumptions
/// allow.
std::map<std::string, int64_t> small_sizes(const Program& program) {
  for (const int64_t cap : {10, 12, 16, 24, 32, 64}) {
    std::map<std::string, int64_t> sizes;
    for (const Parameter& p : program.parameters) sizes[p.name] = std::min(p.value, cap);
    if (make_binding(program, sizes)) return sizes;
  }
  return {};
}

class HexagonPrograms : public Hexagon {
 protected:
  void try_all(const char* folder, int least) {
    Tuner tuner(target_, TunerOptions{});
    test::Sample sample(2);
    for (const auto& path : programs_in(folder)) {
      const auto parsed = lang::parse(text_of(path), path.string());
      ASSERT_TRUE(parsed.ok()) << path;
      try_one(tuner, parsed->programs.front(), "", path.filename());
      if (sample.takes()) try_one(tuner, parsed->programs.front(), "trace 1\n", path.filename());
    }
    EXPECT_EQ(refused_, 0);
    EXPECT_GE(agreed_, least);
  }

 private:
  /// The nest of a schedule ("": the first choice).
  void try_one(Tuner& tuner, const Program& program, const std::string& trace, const std::string& name) {
    SCOPED_TRACE(name + (trace.empty() ? ", first choice" : ", " + trace));
    TaskOptions options;
    options.parameters = small_sizes(program);
    options.trace = trace;
    const auto text = tuner.show(program, options, ShowStage::loops);
    ASSERT_TRUE(text.ok()) << text.error().message;
    auto nest = parse_loop_nest(*text);
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    if (nest->auto_vectorized) nest->cls = NumericsClass::strict;  // else LLVM sums in another order
    const std::string what = difference(*nest, 7);
    what.rfind("refused", 0) == 0 ? ++refused_ : ++agreed_;
    EXPECT_EQ(what, "");
  }

  int agreed_ = 0, refused_ = 0;
};

TEST_F(HexagonPrograms, of_the_language_page_give_the_bits_of_the_interpreter) {
  try_all("tests/lang/programs", 32);
}

TEST_F(HexagonPrograms, of_the_examples_give_the_bits_of_the_interpreter) {
  try_all("examples", 15);
}

}  // namespace
}  // namespace polyweft::hexagon_test
