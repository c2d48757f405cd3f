// Barriers, waits and fences left out of nests, one at a time: first choices of programs, and products of warps by
// traces. The checker proves none of them that gives a wrong result; the emulator, in some order of threads, or tags
// find all but those that the checker proves without it. PW_MUTANTS=500 makes so many, else a sample.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "backend/bits.h"
#include "emulator/harness.h"
#include "emulator/product_nests.h"
#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "poly/check/checker.h"
#include "polyweft/tuner.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

constexpr const char* kMachines[] = {"sm_90a", "gfx942", "sm_75", "gfx1100", "sm_80"};

bool is_sample() {
  return std::getenv("PW_MUTANTS") == nullptr;
}
int wanted_mutants() {
  return is_sample() ? 9 : std::atoi(std::getenv("PW_MUTANTS"));
}
/// Of one nest.
constexpr size_t kSampled = 3;

struct Case {
  std::string name, machine;
  Program program;  ///< bound and normalized
  LoopNest nest;
};

struct Found {
  int made = 0, by_results = 0, by_tags = 0, proven = 0;
  std::map<std::string, int> ways;  ///< "sync block on sm_80: by results"
  std::vector<std::string> open;    ///< not proven, and no order and no tag shows them
};

/// The nest's text without each of its lines that begin with "sync".
std::vector<std::pair<std::string, LoopNest>> nests_without_a_sync(const LoopNest& nest) {
  std::vector<std::string> lines;
  std::istringstream text(print(nest));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<std::pair<std::string, LoopNest>> out;
  for (size_t without = 0; without < lines.size(); ++without) {
    const size_t word = lines[without].find_first_not_of(' ');
    if (word == std::string::npos || lines[without].compare(word, 5, "sync ") != 0) continue;
    std::string mutant;
    for (size_t k = 0; k < lines.size(); ++k)
      if (k != without) mutant += lines[k] + "\n";
    if (auto parsed = parse_loop_nest(mutant)) out.emplace_back(lines[without].substr(word), std::move(*parsed));
  }
  return out;
}

/// How an emulated kernel of the nest, in one of the orders, shows that it is none of what gives `wanted`: "by
/// results", "refused"; "": it does not.
std::string seen_difference(const LoopNest& nest, const std::string& machine, const std::vector<TensorData>& inputs,
                            const ir::NestRun& wanted) {
  for (const char* order : {"random", "", "reverse"}) {
    const Target target = emulated(machine, order);
    const targets::Backend& backend = *targets::backend_of(target.architecture);
    const auto made = backend.build(nest, target, {"kernel", targets::Caller::anyone, targets::Loader::process});
    if (!made) return "refused";
    const auto kernel = backend.load(*made, nest, target);
    if (!kernel) return "refused";
    std::vector<TensorData> outputs;
    for (const TensorData& each : wanted.tensors) outputs.push_back(make_tensor(each.type, each.extents));
    const auto code = backend_test::call(**kernel, inputs, outputs);
    if (!code || *code != 0) return "by results";
    for (size_t k = 0; k < outputs.size(); ++k)
      if (!backend_test::first_difference(outputs[k], wanted.tensors[k]).empty()) return "by results";
  }
  return "";
}

/// Do the nest's outputs stand for other terms than the program's, in some order of threads and of copies?
bool tags_differ(const Case& c, const LoopNest& nest, const std::vector<TensorData>& inputs) {
  ir::EvaluateOptions evaluate;
  evaluate.tags = nest.cls;
  const auto wanted = ir::evaluate(c.program, inputs, evaluate);
  EXPECT_TRUE(wanted) << (wanted ? "" : wanted.error().message);
  for (const bool is_late : {false, true})
    for (const bool last_first : {false, true}) {
      ir::InterpreterOptions options;
      options.with_tags = true;
      options.last_thread_first = last_first;
      options.late_copies = is_late;
      const auto got = ir::interpret(nest, inputs, options);
      if (!got || got->tags != wanted->tags) return true;
    }
  return false;
}

void drop_each_sync(const Case& c, int most, Found& found) {
  SCOPED_TRACE(c.name + " on " + c.machine);
  const std::vector<TensorData> inputs = integer_inputs_of(c.nest);
  const auto wanted = ir::interpret(c.nest, inputs);
  ASSERT_TRUE(wanted) << wanted.error().message;
  auto mutants = nests_without_a_sync(c.nest);
  if (mutants.empty()) return;
  if (is_sample() && mutants.size() > kSampled) {
    for (size_t k = 0; k < kSampled; ++k) mutants[k] = mutants[k * mutants.size() / kSampled];
    mutants.resize(kSampled);
  }
  ASSERT_EQ(seen_difference(c.nest, c.machine, inputs, *wanted), "") << print(c.nest);
  ASSERT_EQ(poly::check_nest(c.program, c.nest).verdict, Verdict::proven);
  for (const auto& [what, nest] : mutants) {
    if (found.made >= most) return;
    ++found.made;
    const std::string where = what.substr(0, what.rfind(' ')) + " on " + c.machine + ": ";
    const poly::NestCheck check = poly::check_nest(c.program, nest);
    const bool is_proven = check.verdict == Verdict::proven;
    if (const std::string how = seen_difference(nest, c.machine, inputs, *wanted); !how.empty()) {
      ++found.by_results, ++found.ways[where + how];
      EXPECT_FALSE(is_proven) << what << "\n" << print(nest);
    } else if (is_proven) {
      ++found.proven, ++found.ways[where + "proven"];
    } else if (tags_differ(c, nest, inputs)) {
      ++found.by_tags, ++found.ways[where + "by tags"];
    } else {
      found.open.push_back(c.name + " on " + c.machine + ", " + what + ": " + check.code + " " + check.message);
    }
  }
}

std::vector<std::filesystem::path> all_programs() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"examples", "tests/lang/programs", "examples/polybench", "examples/recurrences"}) {
    const size_t first = out.size();
    for (const auto& entry : std::filesystem::directory_iterator(std::string(PW_SOURCE_DIR "/") + folder))
      if (entry.path().extension() == ".weft") out.push_back(entry.path());
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }
  return out;
}

/// The first choice at the largest of some sizes that the interpreter gets through soon.
std::optional<Case> first_choice(const std::filesystem::path& path, const std::string& machine) {
  constexpr int64_t kMostSteps = 300'000;
  std::ifstream in(path);
  const auto program = parse_program(std::string(std::istreambuf_iterator<char>(in), {}));
  EXPECT_TRUE(program) << path;
  if (!program) return std::nullopt;
  Tuner tuner(find_target("emulated:" + machine).value(), TunerOptions{});
  for (const int64_t cap : {100, 72, 40, 24, 16, 10}) {
    TaskOptions options;
    for (const Parameter& p : program->parameters) options.parameters[p.name] = std::min(p.value, cap);
    const auto binding = make_binding(*program, options.parameters);
    if (!binding) continue;
    const auto shown = tuner.show(*program, options, ShowStage::loops);
    if (!shown) continue;
    auto nest = parse_loop_nest(*shown);
    EXPECT_TRUE(nest) << nest.error().message;
    if (!nest) return std::nullopt;
    ir::InterpreterOptions few;
    few.step_limit = kMostSteps;
    if (!ir::interpret(*nest, integer_inputs_of(*nest), few)) continue;
    const NumericsClass cls = nest->cls;
    return Case{path.stem(), machine, normalize(bind(*program, *binding), cls), std::move(*nest)};
  }
  return std::nullopt;
}

void report(const char* what, const Found& found) {
  std::printf("%s: %d made, %d found in the emulator, %d by tags, %d proven equivalent, %zu open\n", what, found.made,
              found.by_results, found.by_tags, found.proven, found.open.size());
  std::fflush(stdout);
}

void report_all(const char* what, const Found& found) {
  report(what, found);
  for (const auto& [way, count] : found.ways) std::printf("  %s: %d\n", way.c_str(), count);
  for (const std::string& one : found.open) std::printf("  open: %s\n", one.c_str());
}

TEST_F(Emulator, first_choices_without_a_barrier_are_refused_and_show) {
  Found found;
  const auto programs = all_programs();
  for (size_t round = 0; round < std::size(kMachines); ++round)
    for (size_t k = 0; k < programs.size() && found.made < wanted_mutants(); ++k) {
      const auto c = first_choice(programs[k], kMachines[(k + round) % std::size(kMachines)]);
      if (c) drop_each_sync(*c, wanted_mutants(), found);
      if (!is_sample()) report(programs[k].stem().c_str(), found);
    }
  report_all("first choices", found);
  EXPECT_GE(found.made, 9);
  EXPECT_EQ(found.open, std::vector<std::string>());
}

TEST_F(Emulator, products_of_warps_without_a_barrier_or_a_fence_are_refused_and_show) {
  Found found;
  std::vector<ProductCase> all = product_cases({"sm_80", "gfx942", "gfx1100"});
  for (const int slots : {3, 1, 2})
    for (const ProductCase& p : all) {
      if (found.made >= wanted_mutants()) break;
      const ProductSizes sizes{4 * p.m, 4 * p.n, 8 * p.k};
      const auto nest = product_nest(p, sizes, slots == 1 ? ProductOperands(true) : ProductOperands(true, 16, slots));
      ASSERT_TRUE(nest);
      drop_each_sync(
          {p.instruction->name + " by " + std::to_string(slots), p.machine, product_program(p, sizes), *nest},
          wanted_mutants(), found);
    }
  report_all("products", found);
  EXPECT_EQ(found.open, std::vector<std::string>());
}

}  // namespace
}  // namespace polyweft::emulator_test
