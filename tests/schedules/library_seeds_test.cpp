// Traces of schedules/library as seeds: at their own sizes on their own machine they give the nests that people wrote,
// at others they give nests that are right.
#include <random>

#include "ir/normalize/normalize.h"
#include "library/cases.h"
#include "samples.h"
#include "schedules/hulls.h"
#include "schedules/seeds/seed_template.h"
#include "sketch_harness.h"

namespace polyweft {
namespace {

using schedules::Counterparts;
using schedules::SizeChange;
using schedules::Structured;

struct LibraryCase {
  std::string name;
  Trace trace;
  Structured own;
  bool asks_isl = false;
};

Structured structured_library_program(const std::string& text, const std::map<std::string, int64_t>& values = {}) {
  auto parsed = lang::parse(text, "test.weft");
  const Program& program = parsed->programs.front();
  const auto binding = make_binding(program, values);
  return schedules::structured(normalize(polyweft::bind(program, *binding), NumericsClass::reassoc)).value();
}

LibraryCase library_case(const std::filesystem::path& file) {
  const std::string text = library_test::contents(file);
  LibraryCase out{file.stem(), parse_trace(text).value(), structured_library_program(library_test::program_in(text))};
  out.asks_isl = std::any_of(out.trace.steps.begin(), out.trace.steps.end(), [](const Step& step) {
    return std::holds_alternative<BandStep>(step) || std::holds_alternative<FoldStep>(step);
  });
  return out;
}

/// The library's index: the key of each file's program, and the file's name.
std::string index_of_library() {
  std::string out;
  for (const auto& file : library_test::library_files())
    out += schedules::key_of(
               structured_library_program(library_test::program_in(library_test::contents(file))).structure) +
           " " + file.stem().string() + "\n";
  return out;
}

TEST(LibrarySeeds, are_found_by_the_index_of_structures) {
  const auto index = library_test::library_folder() / "structures.txt";
  if (std::getenv("PW_WRITE_EXPECTED")) std::ofstream(index) << index_of_library();
  EXPECT_EQ(library_test::contents(index), index_of_library())
      << "write it anew: PW_WRITE_EXPECTED=1 build/dev/tests/schedules_tests --gtest_filter=LibrarySeeds.are_found*";
}

TEST(LibrarySeeds, at_their_own_sizes_are_the_nests_that_people_wrote) {
  test::Sample bands(7);
  int same = 0;
  for (const auto& file : library_test::library_files()) {
    const LibraryCase c = library_case(file);
    if (c.asks_isl && !bands.takes()) continue;
    SCOPED_TRACE(c.name);
    const schedules::Isl isl = test::isl_for(c.own.program);
    const auto by_hand = schedules::replay(c.own.program, NumericsClass::reassoc, c.trace, isl);
    ASSERT_TRUE(by_hand) << test::described(by_hand.error());
    SizeChange change;
    for (const Step& step : c.trace.steps)
      if (const auto* s = std::get_if<TensorizeStep>(&step)) change.instructions.push_back(s->instruction);
    const auto open = schedules::open_trace(c.trace, Counterparts(c.own, c.own), change);
    ASSERT_TRUE(open);
    const auto seed = schedules::seed_template(c.own.program, NumericsClass::reassoc, *open, isl);
    if (!seed) {
      ADD_FAILURE() << test::described(seed.error()) << "\n" << open->trace.text();
      continue;
    }
    EXPECT_TRUE(seed->left_out.empty()) << seed->left_out.front();
    const auto wanted = instantiate(*by_hand, values_of(by_hand->trace)),
               got = instantiate(seed->made, seed->chosen[0]);
    if (!wanted || !got) {
      ADD_FAILURE() << (got ? "" : test::described(got.error())) << "\n" << open->trace.text();
      continue;
    }
    EXPECT_EQ(hash(*wanted), hash(*got)) << open->trace.text();
    same += hash(*wanted) == hash(*got);
  }
  EXPECT_GE(same, 150);
}

/// Sizes at which the evaluator ends soon: parameters as they are up to a cap, else drawn.
std::optional<std::map<std::string, int64_t>> small_sizes(const Program& program, std::mt19937& random) {
  for (const int64_t cap : {70, 40, 24, 12}) {
    std::map<std::string, int64_t> sizes;
    double points = 1;
    for (const Parameter& p : program.parameters) {
      sizes[p.name] = std::min<int64_t>(p.value, 2 + static_cast<int64_t>(random() % static_cast<uint64_t>(cap)));
      points *= static_cast<double>(sizes[p.name]);
    }
    if (points < 1e5 && make_binding(program, sizes)) return sizes;
  }
  return std::nullopt;
}

/// Iterations of all statements, as if nothing depended on anything.
double points_of(const Program& program) {
  double out = 0;
  for (const Equation& equation : program.equations) {
    double own = 1;
    for (const schedules::Interval& values : schedules::domain_of(program, equation).values)
      own *= static_cast<double>(std::max<int64_t>(1, values.hi - values.lo + 1));
    out += own;
  }
  return out;
}

std::string in_f64(std::string text) {
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos;) text.replace(at, 3, "f64");
  return text;
}

struct Change {
  schedules::VectorUnit unit;
  bool is_f64 = false;
};

// Small sizes, other types, shorter vectors and fewer registers: whatever the seed becomes, its nest computes what the
// evaluator does. A sample of traces; all of them in the soak.
TEST(LibrarySeeds, are_right_at_other_sizes_in_other_types_and_on_other_machines) {
  std::mt19937 random(20);
  test::Sample sample(3);
  int tried = 0, made = 0;
  const Change changes[] = {
      {{64, 32}, false}, {{32, 16}, false}, {{64, 32}, true}, {{32, 16}, true}, {{16, 32}, false}};
  for (const auto& file : library_test::library_files()) {
    const std::string text = library_test::contents(file), own = library_test::program_in(text);
    if (!sample.takes()) continue;
    const LibraryCase c = library_case(file);
    const Change& change = changes[random() % std::size(changes)];
    const auto parsed = lang::parse(own, "test.weft");
    const auto sizes = small_sizes(parsed->programs.front(), random);
    if (!sizes) continue;
    const std::string there = change.is_f64 ? in_f64(own) : own;
    if (!lang::parse(there, "test.weft")) continue;
    const Structured other = structured_library_program(there, *sizes);
    if (other.structure.text != c.own.structure.text || points_of(other.program) > 3e6) continue;
    SCOPED_TRACE(c.name);
    const auto open = schedules::open_trace(c.trace, Counterparts(c.own, other), {{64, 32}, change.unit, {}});
    if (!open) continue;
    ++tried;
    const schedules::Isl isl = test::isl_for(other.program);
    const auto seed = schedules::seed_template(other.program, NumericsClass::reassoc, *open, isl);
    if (!seed) continue;
    const auto values = schedules::instantiable(seed->made, seed->chosen[0]);
    if (!values) continue;
    ++made;
    const auto nest = instantiate(seed->made, *values);
    EXPECT_EQ(test::difference(other.program, *nest, 5, ir::DataKind::random), "") << open->trace.text();
  }
  EXPECT_GE(tried, 30);
  EXPECT_GE(made * 10, tried * 9) << made << " of " << tried;
}

}  // namespace
}  // namespace polyweft
