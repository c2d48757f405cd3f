// Programs of bench/spellings: those of a file say the same, as they stand and as normalize leaves them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/normalize/normalize.h"
#include "lang/parser.h"
#include "small_inputs.h"

namespace polyweft::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> spelling_files() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(PW_SOURCE_DIR) / "bench" / "spellings"))
    if (entry.path().extension() == ".weft") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Program> programs_in(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = lang::parse(text.str(), path.string());
  if (!parsed) ADD_FAILURE() << path << ": " << parsed.error().message;
  return parsed ? parsed->programs : std::vector<Program>();
}

/// Primes and other small sizes, so that blocks do not fit and borders meet.
Program at_small_sizes(const Program& program) {
  static const std::map<std::string, int64_t> kSizes = {{"C", 2}, {"K", 3}, {"H", 5}, {"W", 4}, {"M", 3},
                                                        {"N", 7}, {"L", 5}, {"S", 7}, {"D", 3}, {"B", 9}};
  std::map<std::string, int64_t> values;
  for (const Parameter& p : program.parameters) values[p.name] = kSizes.at(p.name);
  return polyweft::bind(program, make_binding(program, values).value());
}

void expect_near(const std::vector<TensorData>& got, const std::vector<TensorData>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].extents, wanted[k].extents) << what;
    for (int64_t e = 0; e < got[k].elements(); ++e) {
      const double a = ir::as_double(got[k].at(e)), b = ir::as_double(wanted[k].at(e));
      ASSERT_LE(std::abs(a - b), 1e-5 * std::max(std::abs(a), std::abs(b)) + 1e-30) << what << " element " << e;
    }
  }
}

TEST(Spellings, of_a_file_say_the_same) {
  for (const fs::path& path : spelling_files()) {
    const std::vector<Program> programs = programs_in(path);
    ASSERT_GE(programs.size(), 3u) << path;
    std::vector<TensorData> wanted;
    for (const Program& program : programs) {
      const Program bound = at_small_sizes(program);
      const auto inputs = small_inputs(bound, 5);
      auto got = ir::evaluate(bound, inputs);
      ASSERT_TRUE(got.ok()) << program.name << ": " << got.error().message;
      if (wanted.empty()) wanted = got->tensors;
      expect_near(got->tensors, wanted, program.name);
      for (NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc}) {
        auto normal = ir::evaluate(polyweft::normalize(bound, cls), inputs);
        ASSERT_TRUE(normal.ok()) << program.name << ": " << normal.error().message;
        expect_near(normal->tensors, wanted, program.name + " normalized, " + name_of(cls));
      }
    }
  }
}

}  // namespace
}  // namespace polyweft::test
