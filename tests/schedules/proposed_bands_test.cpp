// Bands that poly proposes, as first steps of traces: every recurrence of examples/ runs in its band, before all
// judges.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness.h"
#include "poly/band.h"
#include "poly/check/checker.h"
#include "tests/generators/random_program.h"

namespace polyweft::test {
namespace {

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PW_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".weft") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// At sizes as small as the assumptions allow, at least `size` where a default is not below.
Program small_program(const std::filesystem::path& path, int64_t size) {
  std::ifstream in(path);
  auto parsed = lang::parse({std::istreambuf_iterator<char>(in), {}}, path.string());
  if (!parsed) throw std::runtime_error(parsed.error().message);
  const Program& program = parsed->programs.front();
  for (; size < 64; ++size) {
    std::map<std::string, int64_t> values;
    for (const Parameter& p : program.parameters) values[p.name] = std::min(p.value, size);
    if (auto binding = make_binding(program, values)) return normalize(polyweft::bind(program, *binding));
  }
  throw std::runtime_error("no small sizes");
}

/// Members along which no distance of the band is negative, outermost first, up to the first other one.
std::vector<std::string> outer_permutable(const Program& program, const poly::BandProposal& band) {
  std::vector<std::string> out;
  auto facts = poly::band_facts(program, {band.statements, {}});
  for (size_t m = 0; facts && m < band.names.size(); ++m) {
    if (!std::all_of(facts->relations.begin(), facts->relations.end(),
                     [&](const poly::Relation& r) { return r.lo[m] >= 0; }))
      break;
    out.push_back(band.names[m]);
  }
  return out;
}

/// The program's recurrences in their bands, tiled where that is free, before evaluator and checker. How many bands
/// there are.
size_t expect_right_in_bands(const Program& program, bool is_tiled) {
  SCOPED_TRACE(print(program));
  auto bands = poly::propose_bands(program);
  EXPECT_TRUE(bands.ok()) << (bands ? "" : described(bands.error()));
  if (!bands || bands->empty()) return 0;
  std::string text = "trace 1\n";
  for (size_t k = 0; k < bands->size(); ++k) {
    const std::string name = "band" + std::to_string(k + 1);
    text += print(Step(poly::band_step(program, (*bands)[k], name))) + "\n";
    std::string sizes;
    for (const std::string& member : outer_permutable(program, (*bands)[k]))
      sizes += (sizes.empty() ? "" : ", ") + member + ": " + std::to_string(2 + sizes.size() % 2);
    if (is_tiled && !sizes.empty()) text += "tile " + name + " [" + sizes + "]\n";
  }
  SCOPED_TRACE(text);
  auto trace = parse_trace(text);
  EXPECT_TRUE(trace.ok()) << (trace ? "" : described(trace.error()));
  if (!trace) return 0;
  schedules::Isl isl{nullptr,
                     [&program](const poly::BandQuestion& question) { return poly::band_facts(program, question); }};
  auto t = schedules::replay(program, NumericsClass::strict, *trace, isl);
  EXPECT_TRUE(t.ok()) << (t ? "" : described(t.error()));
  if (!t) return 0;
  auto nest = instantiate(*t, values_of(t->trace));
  EXPECT_TRUE(nest.ok()) << (nest ? "" : described(nest.error()));
  if (!nest) return 0;
  EXPECT_EQ(difference(program, *nest, 7), "");
  const poly::NestCheck check = poly::check_nest(program, *nest);
  EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message;
  return bands->size();
}

}  // namespace

TEST(ProposedBands, of_all_examples_are_right) {
  size_t recurrences = 0;
  for (const auto& path : examples()) recurrences += expect_right_in_bands(small_program(path, 4), false) > 0;
  EXPECT_GE(recurrences, 20u);
}

TEST(ProposedBands, of_all_examples_are_right_in_tiles) {
  for (const auto& path : examples()) expect_right_in_bands(small_program(path, 5), true);
}

/// T4@2 reads T3@2 at distances (0, 1) and (3, -2): a box around both holds (0, -2), which no pair has.
TEST(ProposedBands, are_not_refused_for_distances_that_no_pair_has) {
  const Program source = ir::random_program(1791);
  EXPECT_EQ(expect_right_in_bands(normalize(polyweft::bind(source, *make_binding(source, {}))), true), 1u);
}

TEST(ProposedBands, of_random_programs_are_right) {
  size_t bands = 0;
  for (uint64_t seed = 0; seed < 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Program source = ir::random_program(seed);
    bands += expect_right_in_bands(normalize(polyweft::bind(source, *make_binding(source, {}))), seed % 2 == 1);
  }
  EXPECT_GT(bands, 30u);
}

}  // namespace polyweft::test
