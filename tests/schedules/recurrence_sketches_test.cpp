// Rules for recurrences: what they propose for the recurrences of the examples is proven and right, and contains the time tiles that hand-made traces have.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness.h"
#include "poly/band.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "schedules/sketches/recurrences.h"

namespace polyweft::test {
namespace {

const std::filesystem::path kExamples = std::filesystem::path(PW_SOURCE_DIR) / "examples";

Program example(const std::filesystem::path& path, const std::map<std::string, int64_t>& sizes = {}) {
  std::ifstream in(path);
  return normalized_program(std::string{std::istreambuf_iterator<char>(in), {}}, sizes);
}

schedules::Isl isl_for(const Program& program) {
  schedules::Isl out;
  out.band_facts = [&program](const poly::BandQuestion& question) { return poly::band_facts(program, question); };
  out.propose_bands = [&program] { return poly::propose_bands(program); };
  return out;
}

bool mentions(const Trace& trace, const std::string& what) {
  return trace.text().find(what) != std::string::npos;
}

TEST(RecurrenceSketches, stencils_in_time_get_skewed_tiles_folded_planes_and_jammed_rows) {
  const Program program = example(kExamples / "polybench" / "jacobi_2d.weft");
  const auto traces = schedules::recurrence_sketches(program, NumericsClass::reassoc, {}, isl_for(program));
  ASSERT_EQ(traces.size(), 2u);
  for (const char* step :
       {"i + 2*t", "j + 16*t + 8", "fold A d0 mod 1", "fold B d0 mod 1", "tile band1 [t: tt1", "distribute band1 at t", "vectorize A@2 j 8", "unroll A@2 i"})
    EXPECT_TRUE(mentions(traces[0], step)) << step << "\n" << traces[0].text();
}

/// Every recurrence among the examples, at the sizes of its file.
TEST(RecurrenceSketches, are_proven_and_right) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kExamples))
    if (entry.path().extension() == ".weft") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  int with_sketch = 0;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename().string());
    const bool is_large = path.parent_path() == kExamples;  // their sizes are for timing
    if (is_large) continue;
    const Program program = example(path);
    if (!schedules::has_recurrence(program)) continue;
    const auto traces = schedules::recurrence_sketches(program, NumericsClass::reassoc, {}, isl_for(program));
    with_sketch += !traces.empty();
    if (std::getenv("PW_SHOW")) printf("%s: %zu\n", path.filename().c_str(), traces.size());
    const bool is_kernel = path.parent_path().filename() == "polybench";
    for (const Trace& trace : traces) {
      if (std::getenv("PW_SHOW")) printf("%s\n", trace.text().c_str());
      auto t = schedules::replay(program, NumericsClass::reassoc, trace, isl_for(program));
      ASSERT_TRUE(t.ok()) << trace.text();
      auto nest = instantiate(*t, values_of(trace));
      ASSERT_TRUE(nest.ok()) << described(nest.error()) << trace.text();
      EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << trace.text();
      if (!is_kernel && &trace != &traces.front()) continue;  // seconds each
      const auto check = poly::check_nest(program, *nest);
      EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message << "\n" << trace.text();
    }
  }
  EXPECT_GE(with_sketch, 8);
}

}  // namespace
}  // namespace polyweft::test
