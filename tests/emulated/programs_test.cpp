// The language page's programs and the examples for each level of the suite: their first choices and base orders, each
// under the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulated/emulated.h"
#include "lang/parser.h"
#include "polyweft/tuner.h"
#include "samples.h"

namespace polyweft::emulated_test {
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

struct Tried {
  int agreed = 0, refused = 0;
};

/// The nest of a schedule ("": the first choice), for `level`.
void try_one(Tuner& tuner, const Program& program, const std::string& trace, const std::string& name, Tried& tried) {
  SCOPED_TRACE(name + (trace.empty() ? ", first choice" : ", " + trace));
  TaskOptions options;
  options.parameters = small_sizes(program);
  options.trace = trace;
  const auto text = tuner.show(program, options, ShowStage::loops);
  ASSERT_TRUE(text.ok()) << text.error().message;
  auto nest = parse_loop_nest(*text);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  if (nest->auto_vectorized) nest->cls = NumericsClass::strict;  // else LLVM sums in another order than the interpreter
  // Instructions for bf16 round sums in another way, which class reassoc allows: then sums are exact ones.
  const bool rounds_otherwise = text->find("bfmmla") != std::string::npos || text->find("bfdot") != std::string::npos;
  const std::string what =
      emulated_difference(*nest, tuner.target(), 7, rounds_otherwise ? Values::small_whole : Values::any);
  what.rfind("refused", 0) == 0 ? ++tried.refused : ++tried.agreed;
  EXPECT_TRUE(what.empty() || what.rfind("refused: PW05", 0) == 0) << what;
}

/// Of levels that take all programs each must agree twice.
void try_all(const char* folder) {
  if (const std::string why = missing_emulator(); !why.empty()) GTEST_SKIP() << why;
  const TunerOptions options;
  Tried tried;
  const auto files = programs_in(folder);
  size_t least = 0;
  test::Sample sample(2);
  for (const EmulatedLevel& level : emulated_levels()) {
    const bool takes_all = level.programs == EmulatedLevel::Programs::all;
    if (takes_all) least += 2 * files.size();
    Tuner tuner(*find_target(level.level), options);
    for (const auto& path : files) {
      if (!takes_all && !sample.takes()) continue;
      const auto parsed = lang::parse(text_of(path), path.string());
      ASSERT_TRUE(parsed.ok()) << path;
      try_one(tuner, parsed->programs.front(), "", path.filename(), tried);
      if (takes_all) try_one(tuner, parsed->programs.front(), "trace 1\n", path.filename(), tried);
    }
  }
  EXPECT_EQ(tried.refused, 0);
  EXPECT_GE(static_cast<size_t>(tried.agreed), std::max<size_t>(least, 1));
}

TEST(Emulated, programs_of_the_language_page_give_the_bits_of_the_interpreter) {
  try_all("tests/lang/programs");
}

TEST(Emulated, examples_give_the_bits_of_the_interpreter) {
  try_all("examples");
}

}  // namespace
}  // namespace polyweft::emulated_test
