// Lanes along diagonals: which slope the rule takes, where it refuses, and that what it makes is proven and right.
#include "schedules/sketches/diagonals.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "harness.h"
#include "machines.h"
#include "poly/band.h"
#include "poly/check/checker.h"
#include "proofs.h"

namespace polyweft::test {
namespace {

using schedules::Diagonals;

/// The rule's trace for the program's only band; nothing where it refuses.
std::optional<Trace> diagonals_of(const Program& program, const Machine& machine = machine_with(),
                                  Diagonals form = Diagonals::whole) {
  const schedules::Isl isl = isl_for(program);
  const auto proposals = isl.propose_bands();
  if (!proposals || proposals->size() != 1) return std::nullopt;
  schedules::Sketcher s(program, NumericsClass::reassoc, machine, isl);
  if (!schedules::add_diagonals(s, program, proposals->front(), form)) return std::nullopt;
  s.plan_others();
  return s.t_.trace;
}

void expect_right_diagonals(const Program& program, const Trace& trace, const std::string& what) {
  auto t = schedules::replay(program, NumericsClass::reassoc, trace, isl_for(program));
  ASSERT_TRUE(t.ok()) << what << trace.text();
  auto nest = instantiate(*t, values_of(trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error()) << what << trace.text();
  EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << what << trace.text();
  const auto check = poly::check_nest(program, *nest);
  EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message << "\n"
                                                           << what << trace.text();
}

Program program_in(const std::string& path, const std::map<std::string, int64_t>& sizes) {
  std::ifstream in(std::filesystem::path(PW_SOURCE_DIR) / path);
  return normalized_program(std::string{std::istreambuf_iterator<char>(in), {}}, sizes);
}

struct Known {
  std::string path;
  std::vector<std::map<std::string, int64_t>> sizes;
  std::vector<std::string> steps;  ///< at the first sizes
};

TEST(Diagonals, of_known_recurrences_are_lanes_in_skewed_cells) {
  const std::vector<Known> table = {
      {"bench/floor/lcs.weft",
       {{{"M", 37}, {"N", 41}}, {{"M", 1}, {"N", 40}}, {{"M", 40}, {"N", 17}}},
       {"L@3: [i + j, i]", "store L [d0 + d1, d0]", "fold L c0 mod 3", "vectorize L@3 i 16"}},
      {"bench/floor/edit_distance.weft",
       {{{"M", 37}, {"N", 35}}, {{"M", 20}, {"N", 20}}},
       {"D@3: [i + j, j]", "fold D c0 mod 3", "vectorize D@3 j 16"}},
      {"bench/floor/dtw.weft",
       {{{"M", 33}, {"N", 50}}, {{"M", 19}, {"N", 3}}},
       {"D@4: [i + j, i]", "fold D c0 mod 3", "vectorize D@4 i 16"}},
      {"examples/12_smith_waterman.weft",
       {{{"M", 31}, {"N", 30}}, {{"M", 5}, {"N", 70}}},
       {"best.first: [0, 0]", "best.folds: [i + j, j]", "fold H c0 mod 3", "accumulate best.folds at d reg",
        "vectorize best.folds j 16"}},
      {"examples/recurrences/needleman_wunsch.weft",
       {{{"M", 30}, {"N", 40}}},
       {"fold S c0 mod 3", "vectorize S@4 i 16", "vectorize P@3 i 16", "vectorize Q@3 i 16"}},
      {"bench/floor/gauss_seidel.weft",
       {{{"T", 2}, {"N", 23}}},
       {"u@2: [t, i + j, j]", "fold u d0 mod 1", "store u [d0, d1 + d2, d2]", "distribute band1 at d",
        "vectorize u@2 j 8"}},
      {"examples/polybench/seidel_2d.weft",
       {{{"TSTEPS", 2}, {"N", 21}}},
       {"A@2: [t, 2*i + j, i]", "fold A d0 mod 1", "store A [d0, 2*d1 + d2, d1]", "vectorize A@2 i 8"}},
  };
  for (const Known& known : table)
    for (const auto& sizes : known.sizes) {
      const Program program = program_in(known.path, sizes);
      const auto trace = diagonals_of(program);
      if (!trace) {
        EXPECT_FALSE(&sizes == &known.sizes.front()) << known.path;
        continue;
      }
      const bool is_first = &sizes == &known.sizes.front();
      for (const std::string& step : is_first ? known.steps : std::vector<std::string>{})
        EXPECT_TRUE(mentions(*trace, step)) << step << "\n" << trace->text();
      expect_right_diagonals(program, *trace, known.path + "\n");
    }
}

using Distance = std::pair<int64_t, int64_t>;

std::string signed_offset(const std::string& index, int64_t back) {
  return back == 0 ? index : index + (back > 0 ? " - " : " + ") + std::to_string(std::abs(back));
}

enum class End { all, last, most };

/// A[i, j] of its elements that far back, and of a tensor or of two rows of inputs.
std::string program_with(const std::vector<Distance>& distances, int64_t rows, int64_t columns, End end,
                         bool has_matrix) {
  std::ostringstream out;
  out << "program chains(M = " << rows << ", N = " << columns << ")\n"
      << (has_matrix ? "in X: i32[M, N]\n" : "in x: i32[M]\nin y: i32[N]\n") << "let A[i: M, j: N]: i32 = ";
  std::string value = has_matrix ? "X[i, j]" : "x[i] * y[j]";
  for (const auto& [di, dj] : distances) {
    const std::string row = signed_offset("i", di), column = signed_offset("j", dj);
    value = "max(" + value + ", 3 - (A[" + row + ", " + column + "] where " + row + " >= 0 and " + column +
            " >= 0 and " + column + " < N else 7))";
  }
  out << value << "\n";
  if (end == End::all) out << "out Y[i: M, j: N]: i32 = A[i, j]\n";
  if (end == End::last) out << "out y_last = A[M - 1, N - 1]\n";
  if (end == End::most) out << "out most = max[i: M, j: N] A[i, j]\n";
  return out.str();
}

/// By the rule's own words, tried one after the other.
std::optional<int64_t> least_slope(const std::vector<Distance>& distances) {
  for (int64_t slope = 0; slope <= 4; ++slope)
    if (std::all_of(distances.begin(), distances.end(),
                    [&](const Distance& d) { return slope * d.first + d.second >= 1; }))
      return slope;
  return std::nullopt;
}

bool has_lanes_as_it_is(const std::vector<Distance>& distances) {
  const auto all = [&](const auto& holds) { return std::all_of(distances.begin(), distances.end(), holds); };
  return all([](const Distance& d) { return d.first > 0; }) || all([](const Distance& d) { return d.first == 0; }) ||
         all([](const Distance& d) { return d.second == 0; });
}

TEST(Diagonals, of_random_distances_have_the_least_slope_and_are_right) {
  std::mt19937_64 random(20261123);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  int made = 0, refused = 0, folded = 0;
  std::map<int64_t, int> by_slope;
  for (int k = 0; k < 60; ++k) {
    std::vector<Distance> distances = {{0, 1 + below(2)}};
    for (int64_t more = 1 + below(3); more > 0; --more) {
      const int64_t di = below(3);
      const Distance distance = {di, di == 0 ? 1 + below(3) : below(7) - 4};
      if (std::find(distances.begin(), distances.end(), distance) == distances.end()) distances.push_back(distance);
    }
    const End end = static_cast<End>(below(3));
    const std::string text = program_with(distances, 25 + below(16), 25 + below(16), end, below(2) == 0);
    const Program program = normalized_program(text, {});
    const auto slope = has_lanes_as_it_is(distances) ? std::nullopt : least_slope(distances);
    const auto trace = diagonals_of(program, machine_with(k % 2 == 0 ? 64 : 32));
    EXPECT_EQ(trace.has_value(), slope.has_value()) << text;
    if (!trace) {
      ++refused;
      continue;
    }
    ++made, ++by_slope[*slope];
    const std::string wanted = *slope == 0   ? "A: [j, i]"
                               : *slope == 1 ? "A: [i + j, "
                                             : "A: [" + std::to_string(*slope) + "*i + j, i]";
    EXPECT_TRUE(mentions(*trace, wanted)) << wanted << "\n" << text << trace->text();
    folded += mentions(*trace, "fold A c0");
    expect_right_diagonals(program, *trace, text);
  }
  EXPECT_GE(made, 30);
  EXPECT_GE(refused, 3);
  EXPECT_GE(folded, made / 2);
  EXPECT_GE(by_slope.size(), 4u);
}

TEST(Diagonals, are_not_for_rows_or_columns_that_have_lanes_nor_for_steep_ones) {
  const std::vector<std::vector<Distance>> refused = {
      {{1, 0}, {1, 1}, {2, -1}},  // rows are free
      {{0, 1}, {0, 2}},           // nothing is carried from row to row
      {{1, 0}},                   // nor along rows
      {{0, 1}, {1, -4}},          // slope 5
  };
  for (const auto& distances : refused) {
    const std::string text = program_with(distances, 40, 40, End::last, true);
    EXPECT_FALSE(diagonals_of(normalized_program(text, {})).has_value()) << text;
  }
  EXPECT_FALSE(diagonals_of(program_in("bench/floor/gauss_seidel.weft", {{"T", 3}, {"N", 9}})).has_value())
      << "one vector and a half at least";
  // A distance without bound: no slope is enough.
  EXPECT_FALSE(
      diagonals_of(normalized_program("program far(N = 40)\nin X: f32[N, N]\nlet A[i: N, j: N]: f32 = X[i, j] + (A[i, "
                                      "j - 1] where j > 0 else 0) + (A[i - 1, N - 1 - j] where i > 0 else 0)\n"
                                      "out y = A[N - 1, N - 1]\n",
                                      {})));
}

// Tiles of diagonals and columns, where the diagonals that are kept are larger than the first cache by far; whole
// diagonals else.
TEST(Diagonals, in_strips_where_they_leave_the_first_cache) {
  const Machine small = machine_with(64, 32, {64, 4096});
  const Program program = program_in("bench/floor/lcs.weft", {{"M", 150}, {"N", 1500}});
  const auto trace = diagonals_of(program, small, Diagonals::strips);
  ASSERT_TRUE(trace.has_value());
  for (const char* step : {"L@3: [i + j, 17*i + 16*j]", "fold L c0 mod 3", "tile band1 [d: 64, i: 1024]",
                           "permute band1 [d.1, i.1, d, i]", "distribute band1 at d"})
    EXPECT_TRUE(mentions(*trace, step)) << step << "\n" << trace->text();
  expect_right_diagonals(program, *trace, "");
  EXPECT_FALSE(diagonals_of(program, machine_with(), Diagonals::strips).has_value());
}

// Blocks of time, where a plane leaves the second cache by far: diagonals and lanes move with time until no distance is
// negative.
TEST(Diagonals, in_blocks_of_time_where_planes_leave_the_second_cache) {
  const Machine small = machine_with(64, 32, {64, 256});
  for (const auto& [path, sizes, steps] :
       std::vector<std::tuple<std::string, std::map<std::string, int64_t>, std::vector<std::string>>>{
           {"examples/polybench/seidel_2d.weft",
            {{"TSTEPS", 5}, {"N", 27}},
            {"A@2: [t, 2*i + j + 3*t, i + 8*t]", "tile band1 [t: tt1, i: jj1, d: dd1]", "distribute band1 at d"}},
           {"bench/floor/gauss_seidel.weft",
            {{"T", 5}, {"N", 19}},
            {"u@2: [t, i + j + t, i + 8*t]", "permute band1 [t.1, i.1, d.1, t, d, i]", "vectorize u@2 i 8"}}}) {
    const Program program = program_in(path, sizes);
    auto trace = diagonals_of(program, small, Diagonals::time);
    ASSERT_TRUE(trace.has_value()) << path;
    for (const std::string& step : steps) EXPECT_TRUE(mentions(*trace, step)) << step << "\n" << trace->text();
    for (auto& decision : trace->decisions)
      decision.value = decision.candidates.front() / (decision.name[0] == 't' ? 4 : 8),
      decision.candidates = {decision.value};
    expect_right_diagonals(program, *trace, path);
    EXPECT_FALSE(diagonals_of(program, {}, Diagonals::time).has_value()) << path;
  }
  EXPECT_FALSE(
      diagonals_of(program_in("bench/floor/lcs.weft", {{"M", 50}, {"N", 50}}), small, Diagonals::time).has_value())
      << "there is no time";
}

}  // namespace
}  // namespace polyweft::test
