#include "tests/generators/random_program.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

constexpr uint64_t kSeeds = 2000;

Program at_defaults(const Program& p) {
  return polyweft::bind(p, make_binding(p, {}).value());
}

Result<ir::Evaluation> evaluated(const Program& p) {
  Program bound = at_defaults(p);
  return ir::evaluate(bound, ir::seeded_inputs(bound, 1, ir::DataKind::random));
}

bool parses_back(const Program& p) {
  auto again = lang::parse(print(p), "random.weft");
  return again && again->programs.size() == 1 && equal(again->programs[0], p);
}

bool same_after_normalize(const Program& p) {
  auto direct = evaluated(p), hidden = evaluated(normalize(p));
  if (!direct || !hidden) return false;
  for (size_t k = 0; k < direct->tensors.size(); ++k)
    if (direct->tensors[k].bytes != hidden->tensors[k].bytes || direct->written[k] != hidden->written[k]) return false;
  return true;
}

/// The failing program as small as it gets, with its seed.
template <class Holds>
void expect_for_all_seeds(const Holds& holds, const char* property) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Program program = ir::random_program(seed);
    if (holds(program)) continue;
    Program small = ir::shrink(program, [&](const Program& p) { return !holds(p); });
    auto again = lang::parse(print(small), "random.weft");
    std::string message = again                               ? ""
                          : again.error().diagnostics.empty() ? again.error().message
                                                              : again.error().diagnostics[0].text;
    FAIL() << property << " does not hold for seed " << seed << "; smallest:\n" << print(small) << message;
  }
}

TEST(RandomProgram, the_same_seed_gives_the_same_program) {
  EXPECT_EQ(print(ir::random_program(42)), print(ir::random_program(42)));
  EXPECT_NE(print(ir::random_program(42)), print(ir::random_program(43)));
}

TEST(RandomProgram, every_program_is_defined_everywhere_it_is_read) {
  expect_for_all_seeds([](const Program& p) { return evaluated(p).ok(); }, "evaluation");
}

TEST(RandomProgram, every_program_is_text_of_the_language) {
  expect_for_all_seeds(parses_back, "parse(print(p)) == p");
}

TEST(RandomProgram, normalize_keeps_the_bits) {
  expect_for_all_seeds(same_after_normalize, "normalize");
}

TEST(RandomProgram, smaller_programs_are_valid_too) {
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const Program& p : ir::smaller_programs(ir::random_program(seed))) {
      EXPECT_TRUE(evaluated(p).ok()) << seed << "\n" << print(p) << evaluated(p).error().message;
      EXPECT_TRUE(parses_back(p)) << seed << "\n" << print(p);
    }
}

TEST(RandomProgram, shrinking_finds_the_operator_that_matters) {
  auto has_mod = [](const Program& p) {
    bool found = false;
    for (const Equation& e : p.equations)
      visit(e.rhs, [&](const ExprNode& node) { found |= node.op == Op::floor_mod; });
    return found;
  };
  int tried = 0;
  for (uint64_t seed = 0; seed < kSeeds && tried < 5; ++seed) {
    Program p = ir::random_program(seed);
    if (!has_mod(p)) continue;
    ++tried;
    Program small = ir::shrink(p, has_mod);
    EXPECT_TRUE(has_mod(small));
    EXPECT_LE(small.equations.size(), p.equations.size());
    EXPECT_LT(print(small).size(), 400u) << print(small);
  }
  EXPECT_EQ(tried, 5);
}

TEST(RandomProgram, programs_cover_the_language) {
  std::set<Op> ops;
  std::set<Reducer> reducers;
  int gathers = 0, guards = 0, recurrences = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Equation& e : ir::random_program(seed).equations) {
      visit(e.rhs, [&](const ExprNode& node) {
        ops.insert(node.op);
        if (node.op == Op::reduce) reducers.insert(node.reduction.reducer);
        guards += node.op == Op::guarded;
        for (const Subscript& s : node.access.index) gathers += s.data != nullptr;
        recurrences += node.op == Op::read && node.access.id == e.targets[0];
      });
    }
  }
  EXPECT_GE(ops.size(), 35u);
  EXPECT_GE(reducers.size(), 6u);
  EXPECT_GE(gathers, 10);
  EXPECT_GE(guards, 100);
  EXPECT_GE(recurrences, 100);
}

}  // namespace
}  // namespace polyweft
