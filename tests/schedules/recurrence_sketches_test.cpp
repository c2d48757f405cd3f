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
  ASSERT_EQ(traces.size(), 3u);
  for (const char* step :
       {"i + 2*t", "j + 16*t + 8", "fold A d0 mod 1", "fold B d0 mod 1", "tile band1 [t: tt1", "distribute band1 at t", "vectorize A@2 j 8", "unroll A@2 i"})
    EXPECT_TRUE(mentions(traces[0], step)) << step << "\n" << traces[0].text();
  for (const char* step : {"[p, q, t, j] of B@1: [i + 2*t, -i + 2*t, t, j + 16*t]", "A@2: [i + 2*t + 1, -i + 2*t + 1, t, j + 16*t + 8]", "fold A d0 mod 1",
                           "fold B d0 mod 1", "tile band1 [p: pp1, q: pp1, j: jj1]", "distribute band1 at t", "vectorize A@2 j 8", "wavefront band1 [p.1, q.1]"})
    EXPECT_TRUE(mentions(traces[1], step)) << step << "\n" << traces[1].text();
}

// Sums that no band member moves along: lanes are partial sums, where the statements' sequence can be one that inner loops allow.
TEST(RecurrenceSketches, sums_inside_a_recurrence_get_lanes_of_partial_sums) {
  const auto first_trace = [](const std::string& name, const std::map<std::string, int64_t>& sizes) {
    const Program program = example(kExamples / "polybench" / name, sizes);
    const auto traces = schedules::recurrence_sketches(program, NumericsClass::reassoc, {}, isl_for(program));
    return traces.empty() ? Trace{} : traces.front();
  };
  const Trace solve = first_trace("trisolv.weft", {{"N", 60}}), levinson = first_trace("durbin.weft", {{"N", 60}});
  for (const char* step : {"of x.1: [i], x: [i]", "tile x.1 [j: 32]", "accumulate x.1 at i reg", "vectorize x.1 j 8"})
    EXPECT_TRUE(mentions(solve, step)) << step << solve.text();
  for (const char* step : {"fold y d0 mod 2", "distribute band1 at k", "vectorize alpha.1 i_ 8", "vectorize y@2 i 8"})
    EXPECT_TRUE(mentions(levinson, step)) << step << levinson.text();
  const Trace columns = first_trace("gramschmidt.weft", {});
  EXPECT_FALSE(mentions(columns, "vectorize nrm i_")) << "its sums run down columns\n" << columns.text();
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
