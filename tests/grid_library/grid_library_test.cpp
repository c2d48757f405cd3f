// Traces of schedules/library/gpu. Each says its target and small sizes (`#: target sm_80`, `#: emulated M=64 N=32`):
// at its own sizes it is proven and assembled without spills, at the small ones the emulator gives the interpreter's
// bits in three orders of threads, and results within the error bound of the base nest's.
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "emulator/harness.h"
#include "ir/normalize/normalize.h"
#include "library/cases.h"
#include "nvptx/ptxas.h"
#include "polyweft/tuner.h"
#include "samples.h"
#include "schedules/seeds/seed_template.h"
#include "targets/registry.h"

namespace polyweft {
namespace {

using schedules::Counterparts;
using schedules::Structured;

std::filesystem::path grid_library_folder() {
  return library_test::library_folder() / "gpu";
}

struct GridCase {
  std::string name, text, target;
  Program program;
  std::map<std::string, int64_t> small;
};

/// The words of the line that begins with "#: KEY".
std::vector<std::string> words_behind(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.size() > 2 && words[0] == "#:" && words[1] == key) return {words.begin() + 2, words.end()};
  }
  return {};
}

std::vector<GridCase> grid_cases() {
  std::vector<GridCase> out;
  for (const auto& file : library_test::library_files(grid_library_folder())) {
    GridCase c;
    c.name = file.stem();
    c.text = library_test::contents(file);
    const auto program = parse_program(library_test::program_in(c.text));
    EXPECT_TRUE(program) << c.name;
    c.program = program.value();
    const auto target = words_behind(c.text, "target"), sizes = words_behind(c.text, "emulated");
    EXPECT_EQ(target.size(), 1u) << c.name;
    c.target = target.empty() ? "" : target[0];
    for (const std::string& word : sizes)
      c.small[word.substr(0, word.find('='))] = std::stoll(word.substr(word.find('=') + 1));
    EXPECT_FALSE(c.small.empty()) << c.name;
    out.push_back(std::move(c));
  }
  return out;
}

/// Its steps without their numbers and types.
std::string shape_of(const Trace& trace) {
  std::string out = std::regex_replace(trace.text(), std::regex("_(bf16|f16|s8)\\b"), "");
  return std::regex_replace(out, std::regex("\\b[0-9]+\\b"), "#");
}

/// One of those with the same steps; all of them in the soak.
std::vector<GridCase> sampled_cases() {
  std::vector<GridCase> out;
  std::set<std::string> seen;
  for (GridCase& c : grid_cases())
    if (test::takes_all_cases() || seen.insert(shape_of(parse_trace(c.text).value())).second)
      out.push_back(std::move(c));
  return out;
}

/// Proven.
Result<LoopNest> nest_by_hand(const GridCase& c, const std::map<std::string, int64_t>& sizes) {
  Tuner tuner(find_target(c.target).value(), TunerOptions{});
  TaskOptions options;
  options.parameters = sizes;
  options.trace = c.text;
  const auto text = tuner.show(c.program, options, ShowStage::loops);
  return text ? parse_loop_nest(*text) : text.error();
}

class GridLibrary : public emulator_test::Emulator {};

TEST_F(GridLibrary, there_are_traces_of_all_kinds) {
  const auto all = grid_cases();
  EXPECT_GE(all.size(), 10u);
  for (const char* kind : {"gemm_bf16", "gemm_f16", "gemm_i8", "softmax", "layernorm", "conv_bias_relu", "attention"})
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const GridCase& c) { return c.name.rfind(kind, 0) == 0; }))
        << kind;
  for (const GridCase& c : all) EXPECT_EQ(c.text.rfind("# ", 0), 0u) << c.name << " does not say what it is for";
}

TEST_F(GridLibrary, traces_are_proven_at_their_sizes_and_assembled_without_spills) {
  const bool has_assembler = nvptx_test::ptxas().has_value();
  if (!has_assembler) {
    const char* const required = std::getenv("POLYWEFT_REQUIRED");
    ASSERT_FALSE(required && std::string(required).find("ptxas") != std::string::npos) << "there is no ptxas";
    std::printf("skipped: ptxas: kernels are proven, and not assembled\n");
  }
  for (const GridCase& c : sampled_cases()) {
    SCOPED_TRACE(c.name);
    const auto nest = nest_by_hand(c, {});
    if (!nest) {
      ADD_FAILURE() << nest.error().message;
      continue;
    }
    const targets::BuildOptions for_here{"kernel", targets::Caller::anyone, targets::Loader::process};
    for (const std::string& machine : {c.target, std::string("sm_90a")}) {
      if (machine != c.target && !test::takes_all_cases()) continue;
      SCOPED_TRACE(machine);
      const auto made = targets::backend_of("nvptx64")->build(*nest, find_target(machine).value(), for_here);
      ASSERT_TRUE(made) << made.error().message;
      if (!has_assembler) continue;
      const auto found = nvptx_test::assembled({made->bytes.begin(), made->bytes.end()}, machine);
      ASSERT_EQ(found.problem, "");
      ASSERT_EQ(found.kernels.size(), made->plan.launches.size());
      for (const targets::Launch& launch : made->plan.launches) {
        const auto& kernel = found.kernels.at(launch.symbol);
        std::printf("%s %s %s: %d registers, %lld shared bytes\n", c.name.c_str(), machine.c_str(),
                    launch.symbol.c_str(), kernel.registers, static_cast<long long>(launch.shared_bytes));
        EXPECT_EQ(kernel.spill_bytes, 0) << launch.symbol;
        EXPECT_EQ(kernel.shared_bytes, launch.shared_bytes - launch.dynamic_shared_bytes) << launch.symbol;
      }
    }
  }
}

TEST_F(GridLibrary, products_by_hand_use_the_tensor_unit) {
  for (const GridCase& c : grid_cases()) {
    const bool is_product = c.name.rfind("gemm", 0) == 0 || c.name.rfind("conv", 0) == 0;
    EXPECT_EQ(c.text.find("tensorize ") != std::string::npos, is_product) << c.name;
    if (c.name.rfind("gemm", 0) == 0) {
      EXPECT_NE(c.text.find(" k.1 by 3"), std::string::npos) << c.name;
    }
  }
}

TEST_F(GridLibrary, small_sizes_give_the_bits_of_the_interpreter) {
  for (const GridCase& c : sampled_cases()) {
    SCOPED_TRACE(c.name);
    const auto nest = nest_by_hand(c, c.small);
    if (!nest) {
      ADD_FAILURE() << nest.error().message;
      continue;
    }
    EXPECT_NE(print(*nest).find("axis \"thread_x\""), std::string::npos);
    expect_bits(*nest, c.target, {emulator_test::integer_inputs_of(*nest)});
  }
}

TEST_F(GridLibrary, small_sizes_agree_with_the_base_nest) {
  test::Sample sample(2);
  for (const GridCase& c : sampled_cases()) {
    if (!sample.takes()) continue;
    SCOPED_TRACE(c.name);
    Tuner tuner(emulator_test::emulated(c.target, ""), TunerOptions{});
    TaskOptions options;
    options.parameters = c.small;
    options.trace = c.text;
    const auto inputs = tuner.make_inputs(c.program, options, InputSet::random, 3);
    ASSERT_TRUE(inputs) << inputs.error().message;
    const auto compared = tuner.verify(c.program, options, *inputs);
    ASSERT_TRUE(compared) << compared.error().message;
    EXPECT_TRUE(compared->equal) << compared->detail;
  }
}

// ---- as seeds of searches ----

Structured structured_grid_program(const Program& program, const std::map<std::string, int64_t>& sizes) {
  return schedules::structured(
             normalize(polyweft::bind(program, make_binding(program, sizes).value()), NumericsClass::reassoc))
      .value();
}

TEST_F(GridLibrary, traces_are_found_by_the_index_of_structures) {
  const auto index = grid_library_folder() / "structures.txt";
  std::string wanted;
  for (const GridCase& c : grid_cases())
    wanted += schedules::key_of(structured_grid_program(c.program, {}).structure) + " " + c.name + "\n";
  if (std::getenv("PW_WRITE_EXPECTED")) std::ofstream(index) << wanted;
  EXPECT_EQ(library_test::contents(index), wanted)
      << "write it anew: PW_WRITE_EXPECTED=1 build/dev/tests/grid_library_tests --gtest_filter=*index_of_structures";
}

/// The nest with which a search at these sizes begins.
Result<LoopNest> nest_of_seed(const GridCase& c, const Structured& own, const Structured& here) {
  const Target target = find_target(c.target).value();
  const schedules::VectorUnit unit{target.machine.vector_bytes(), target.machine.units.vector_registers};
  const auto open = schedules::open_trace(parse_trace(c.text).value(), Counterparts(own, here),
                                          {unit, unit, target.machine.units.instructions});
  if (!open) return fail("PW0310", "no trace for this machine");
  const auto seed = schedules::seed_template(here.program, NumericsClass::reassoc, *open, {});
  if (!seed) return seed.error();
  EXPECT_EQ(seed->left_out, std::vector<std::string>());
  const auto values = schedules::instantiable(seed->made, seed->chosen[0]);
  if (!values) return fail("PW0310", "no values");
  return instantiate(seed->made, *values);
}

TEST_F(GridLibrary, searches_begin_with_the_nests_that_people_wrote) {
  for (const GridCase& c : grid_cases()) {
    SCOPED_TRACE(c.name);
    const Structured own = structured_grid_program(c.program, {});
    const auto by_hand =
        schedules::replay(own.program, NumericsClass::reassoc, parse_trace(c.text).value(), schedules::Isl{});
    ASSERT_TRUE(by_hand) << by_hand.error().message;
    const auto wanted = instantiate(*by_hand, values_of(by_hand->trace));
    const auto seed = nest_of_seed(c, own, own);
    ASSERT_TRUE(wanted && seed) << (seed ? "" : seed.error().message);
    EXPECT_EQ(hash(*wanted), hash(*seed));
  }
}

TEST_F(GridLibrary, seeds_at_other_sizes_give_the_bits_of_the_interpreter) {
  test::Sample sample(2);
  for (const GridCase& c : sampled_cases()) {
    if (!sample.takes()) continue;
    SCOPED_TRACE(c.name);
    auto sizes = c.small;
    for (auto& [name, value] : sizes) value += value % 3 == 0 ? 8 : 0;  // edges, of rows of 16 bytes
    const auto seed =
        nest_of_seed(c, structured_grid_program(c.program, {}), structured_grid_program(c.program, sizes));
    ASSERT_TRUE(seed) << seed.error().message;
    expect_bits(*seed, c.target, {emulator_test::integer_inputs_of(*seed)});
  }
}

TEST_F(GridLibrary, searches_for_grids_take_them) {
  const auto product = parse_program(
      "program p(M = 256, N = 128, K = 64)\nin X: bf16[M, K]\nin W: bf16[K, N]\nout Z[a: M, b: N] = sum[c: K] f32(X[a, "
      "c]) * f32(W[c, b])\n");
  ASSERT_TRUE(product) << product.error().message;
  TuneOptions options;
  options.trials = 2;
  options.budget = TuneOptions::kNoLimit;
  const auto seeds_of = [&](const Target& target, bool uses_library) {
    Tuner tuner(target, TunerOptions{});
    options.uses_library = uses_library;
    options.refresh = true;
    const auto report = tuner.tune(*product, options);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? report->seeds : -1;
  };
  EXPECT_EQ(seeds_of(emulator_test::emulated("sm_80", ""), true), 1);
  EXPECT_EQ(seeds_of(emulator_test::emulated("sm_80", ""), false), 0);
  EXPECT_EQ(seeds_of(emulator_test::emulated("sm_75", ""), true), 0) << "it lacks the instruction";
}

}  // namespace
}  // namespace polyweft
