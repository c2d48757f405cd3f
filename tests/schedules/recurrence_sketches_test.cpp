// Rules for recurrences: what they propose for the recurrences of the examples is proven and right, and contains the
// time tiles that hand-made traces have.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "harness.h"
#include "machines.h"
#include "poly/band.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "proofs.h"
#include "samples.h"
#include "schedules/sketches/recurrences.h"

namespace polyweft::test {
namespace {

const std::filesystem::path kExampleFolder = std::filesystem::path(PW_SOURCE_DIR) / "examples";

std::vector<Trace> recurrence_traces(const Program& program, const Machine& machine = machine_with()) {
  return schedules::traces_of(
      schedules::recurrence_sketches(program, NumericsClass::reassoc, machine, isl_for(program)));
}

Program example(const std::filesystem::path& path, const std::map<std::string, int64_t>& sizes = {}) {
  std::ifstream in(path);
  return normalized_program(std::string{std::istreambuf_iterator<char>(in), {}}, sizes);
}

TEST(RecurrenceSketches, stencils_in_time_get_skewed_tiles_folded_planes_and_jammed_rows) {
  const Program program = example(kExampleFolder / "polybench" / "jacobi_2d.weft");
  const auto traces = recurrence_traces(program);
  ASSERT_EQ(traces.size(), 3u);
  for (const char* step : {"i + 2*t", "j + 16*t + 8", "fold A d0 mod 1", "fold B d0 mod 1", "tile band1 [t: tt1",
                           "distribute band1 at t", "vectorize A@2 j 8", "unroll A@2 i"})
    EXPECT_TRUE(mentions(traces[0], step)) << step << "\n" << traces[0].text();
  for (const char* step :
       {"[p, q, t, j] of B@1: [i + 2*t, -i + 2*t, t, j + 16*t]", "A@2: [i + 2*t + 1, -i + 2*t + 1, t, j + 16*t + 8]",
        "fold A d0 mod 1", "fold B d0 mod 1", "tile band1 [p: pp1, q: pp1, j: jj1]", "distribute band1 at t",
        "vectorize A@2 j 8", "wavefront band1 [p.1, q.1]"})
    EXPECT_TRUE(mentions(traces[1], step)) << step << "\n" << traces[1].text();
}

// Sums that no band member moves along: lanes are partial sums, where the statements' sequence can be one that inner
// loops allow.
TEST(RecurrenceSketches, sums_inside_a_recurrence_get_lanes_of_partial_sums) {
  const auto first_trace = [](const std::string& name, const std::map<std::string, int64_t>& sizes) {
    const Program program = example(kExampleFolder / "polybench" / name, sizes);
    const auto traces = recurrence_traces(program);
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

void expect_right_trace(const Program& program, const Trace& trace) {
  auto t = schedules::replay(program, NumericsClass::reassoc, trace, isl_for(program));
  ASSERT_TRUE(t.ok()) << trace.text();
  auto nest = instantiate(*t, values_of(trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error()) << trace.text();
  EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << trace.text();
  const auto check = poly::check_nest(program, *nest);
  EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message << "\n"
                                                           << trace.text();
}

// Nothing is carried from one signal to the next: they are lanes, or a few of them run at once; first values and
// outputs run beside them, so that three samples are kept.
TEST(RecurrenceSketches, independent_recurrences_are_lanes_or_jammed) {
  const auto last_two = [](const std::string& name, const std::map<std::string, int64_t>& sizes) {
    const Program program = example(kExampleFolder / "recurrences" / name, sizes);
    auto traces = recurrence_traces(program);
    EXPECT_GE(traces.size(), 2u);
    traces.erase(traces.begin(), traces.end() - std::min<std::ptrdiff_t>(2, std::ssize(traces)));
    for (const Trace& trace : traces) expect_right_trace(program, trace);
    traces.resize(2);
    return traces;
  };
  const auto filters = last_two("biquads.weft", {{"K", 3}, {"R", 19}, {"N", 20}}),
             sums = last_two("prefix_sum.weft", {{"R", 11}, {"N", 30}});
  for (const char* step : {"[n, k, r] of y@1: [n, 0, r], y@2: [n, k, r], Y: [n, 3, r]", "store y [d0, d2, d1]",
                           "fold y c1 mod 3", "permute band1 [r.1, n, k, r]", "distribute band1 at k",
                           "vectorize y@1 r 8", "vectorize y@2 r 8", "vectorize Y r 8"})
    EXPECT_TRUE(mentions(filters[0], step)) << step << "\n" << filters[0].text();
  for (const char* step : {"[i, r] of S: [i, r], H: [i, r], sums: [i, r], highest: [i, r]", "fold S d1 mod 1",
                           "fold H d1 mod 1", "permute band1 [r.1, i, r]", "unroll band1 r"})
    EXPECT_TRUE(mentions(sums[1], step)) << step << "\n" << sums[1].text();
}

// A filter along rows, then along columns: the former has no rows of vectors, so several of its rows go side by side;
// the latter keeps its own.
TEST(RecurrenceSketches, bands_without_rows_are_jammed_beside_bands_with_rows) {
  const Program program = example(kExampleFolder / "polybench" / "deriche.weft", {{"W", 13}, {"H", 21}});
  const auto traces = recurrence_traces(program);
  const auto mixed = std::find_if(traces.begin(), traces.end(), [](const Trace& trace) {
    return mentions(trace, "unroll band1 i") && mentions(trace, "vectorize z1 j 8");
  });
  ASSERT_NE(mixed, traces.end());
  EXPECT_TRUE(mentions(*mixed, "unroll band2 i") && mentions(*mixed, "vectorize z2 j 8")) << mixed->text();
  expect_right_trace(program, *mixed);
}

// Lanes along the sum would read a column of the matrix element by element: lanes go along its rows instead, a loop
// further out.
TEST(RecurrenceSketches, sums_down_columns_get_lanes_along_rows) {
  const Program program = example(kExampleFolder / "recurrences" / "viterbi.weft", {{"T", 5}, {"S", 40}, {"O", 3}});
  const auto traces = recurrence_traces(program);
  ASSERT_FALSE(traces.empty());
  for (const char* step :
       {"distribute band1 at t", "vectorize v.1 s 8", "accumulate v.1 at s.1 reg", "vectorize v@2 s 8"})
    EXPECT_TRUE(mentions(traces[0], step)) << step << "\n" << traces[0].text();
  expect_right_trace(program, traces[0]);
}

// Sums that share operands in two directions: blocks of both, where the statement has loops of its own along both.
TEST(RecurrenceSketches, sums_of_several_sequences_share_their_matrix) {
  const Program program =
      example(kExampleFolder / "recurrences" / "gru.weft", {{"T", 2}, {"B", 5}, {"I", 5}, {"H", 34}});
  const auto traces = recurrence_traces(program);
  ASSERT_FALSE(traces.empty());
  for (const char* step : {"distribute band1 at t", "tile z.1 [n: 4, k: 4, q: 16]", "accumulate z.1 at k.1 reg",
                           "unroll z.1 n, k", "vectorize z.1 q 16", "vectorize h@2 k 16"})
    EXPECT_TRUE(mentions(traces[0], step)) << step << "\n" << traces[0].text();
  expect_right_trace(program, traces[0]);
}

// A table that an output takes as it is lies in the output's cells; not where few of its rows are kept. Blocks of time
// are for what does not stay near.
TEST(RecurrenceSketches, tables_lie_in_the_outputs_that_take_them) {
  const std::string rows =
      "program rows(M = 19, N = 37)\nin X: i32[M, N]\nlet A[i: M, j: N]: i32 = max(X[i, j], A[i - 1, j - 1] where i > "
      "0 and j > 0 else 3)\n";
  const Program taken = normalized_program(rows + "out Y[i: M, j: N]: i32 = A[i, j]\n"),
                read = normalized_program(rows + "out Y[i: M, j: N]: i32 = A[i, j] + 1\n");
  const Machine small = machine_with(64, 32, {64, 128});
  size_t in_output = 0;
  for (const Trace& trace : recurrence_traces(taken, small)) {
    in_output += mentions(trace, "store A in Y");
    EXPECT_FALSE(mentions(trace, "store A in Y") && mentions(trace, "fold A")) << trace.text();
    expect_right_trace(taken, trace);
  }
  EXPECT_GE(in_output, 2u);
  for (const Trace& trace : recurrence_traces(read, small)) EXPECT_FALSE(mentions(trace, " in Y")) << trace.text();
  const auto near = recurrence_traces(taken);
  EXPECT_TRUE(std::none_of(near.begin(), near.end(), [](const Trace& t) { return mentions(t, "tt1"); }));
}

/// Recurrences of the examples, at the sizes of their files: some, for which each rule proposes something, or all.
std::vector<std::filesystem::path> recurrence_examples() {
  const std::set<std::string> sample = {"durbin",   "jacobi_1d",  "jacobi_2d",        "trisolv", "lu",
                                        "nussinov", "prefix_sum", "needleman_wunsch", "deriche", "seidel_2d"};
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kExampleFolder)) {
    const auto& path = entry.path();
    const bool is_large = path.parent_path() == kExampleFolder;  // their sizes are for timing
    if (path.extension() == ".weft" && !is_large && (takes_all_cases() || sample.count(path.stem().string())))
      out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// A sketch is the template that replay makes of its trace: the same nest, at other decisions too.
void expect_same_when_replayed(const Program& program, const NestTemplate& sketch, const schedules::Isl& isl) {
  const auto again = schedules::replay(program, NumericsClass::reassoc, sketch.trace, isl);
  ASSERT_TRUE(again.ok()) << described(again.error()) << sketch.trace.text();
  EXPECT_TRUE(again->trace == sketch.trace);
  std::vector<int64_t> least = values_of(sketch.trace);
  for (size_t k = 0; k < least.size(); ++k)
    if (!sketch.trace.decisions[k].candidates.empty()) least[k] = sketch.trace.decisions[k].candidates.front();
  for (const auto& decisions : {values_of(sketch.trace), least}) {
    const auto first = instantiate(sketch, decisions), second = instantiate(*again, decisions);
    ASSERT_EQ(first.ok(), second.ok()) << sketch.trace.text();
    EXPECT_EQ(first ? print(*first) : "", second ? print(*second) : "") << sketch.trace.text();
  }
}

TEST(RecurrenceSketches, are_proven_and_right) {
  int with_sketch = 0;
  for (const auto& path : recurrence_examples()) {
    SCOPED_TRACE(path.filename().string());
    const Program program = example(path);
    if (!schedules::has_recurrence(program)) continue;
    const schedules::Isl isl = isl_for(program);
    const auto sketches = schedules::recurrence_sketches(program, NumericsClass::reassoc, machine_with(), isl);
    with_sketch += !sketches.empty();
    for (const NestTemplate& sketch : sketches) {
      expect_same_when_replayed(program, sketch, isl);
      const auto nest = instantiate(sketch, values_of(sketch.trace));
      ASSERT_TRUE(nest.ok()) << described(nest.error()) << sketch.trace.text();
      EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << sketch.trace.text();
      const bool is_kernel = path.parent_path().filename() == "polybench";
      if (!(is_kernel && takes_all_cases()) && &sketch != &sketches.front()) continue;  // seconds each
      const auto check = poly::check_nest(program, *nest);
      EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message << "\n"
                                                               << sketch.trace.text();
    }
  }
  EXPECT_GE(with_sketch, 8);
}

}  // namespace
}  // namespace polyweft::test
