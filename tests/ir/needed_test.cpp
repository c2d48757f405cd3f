#include "ir/normalize/needed.h"

#include <gtest/gtest.h>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "tests/generators/random_program.h"

namespace polyweft::ir {
namespace {

Program bound_needed(const std::string& text) {
  auto parsed = lang::parse(text, "t.weft");
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return polyweft::bind(parsed->programs[0], make_binding(parsed->programs[0], {}).value());
}

std::vector<std::string> names(const Program& program) {
  std::vector<std::string> out;
  for (const Tensor& tensor : program.tensors) out.push_back(tensor.name);
  return out;
}

TEST(Needed, locals_that_no_output_reads_are_left_out_whoever_reads_them) {
  const Program program =
      without_unneeded(bound_needed("program p(N = 5)\nin X: i32[N]\nin unread: i32[N]\nlet A[i: N] = X[i] + 1\nlet "
                                    "D[i: N] = A[i] * 2\nlet E[i: N] = D[i] + (E[i-1] where i >= 1 else 0)\n"
                                    "let B[i: N] = A[i] + X[i]\nout Y[i: N] = B[i]\n"));
  EXPECT_EQ(names(program), (std::vector<std::string>{"X", "unread", "A", "B", "Y"}));
  ASSERT_EQ(program.equations.size(), 3u);
  for (const Equation& equation : program.equations) {
    EXPECT_LT(equation.targets[0], program.tensors.size());
    visit(equation.rhs, [&](const ExprNode& node) {
      if (node.op == Op::read) EXPECT_LT(node.access.id, program.tensors.size());
    });
  }
}

TEST(Needed, subscripts_and_components_of_tuples_are_needed) {
  const Program program = without_unneeded(
      bound_needed("program p(N = 5)\nin X: f32[N]\nin I: i32[N] values 0..5\nlet J[i: N] = I[i] % 5\nlet (v, k) = "
                   "argmax[i: N, j: N] X[i]\nout Y[i: N] = X[clamp(J[i], 0, N-1)]\nout z = k\n"));
  EXPECT_EQ(names(program), (std::vector<std::string>{"X", "I", "J", "v", "k", "Y", "z"}));
}

TEST(Needed, nothing_changes_where_all_is_needed) {
  const Program program = bound_needed("program p(N = 5)\nin X: f32[N]\nlet A[i: N] = X[i] * 2\nout Y[i: N] = A[i]\n");
  EXPECT_TRUE(equal(without_unneeded(program), program));
}

TEST(Needed, outputs_of_random_programs_stay_bit_by_bit) {
  int smaller = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Program source = random_program(seed);
    const auto binding = make_binding(source, {});
    ASSERT_TRUE(binding);
    const Program program = polyweft::bind(source, *binding), needed = without_unneeded(program);
    smaller += needed.equations.size() < program.equations.size();
    const auto inputs = seeded_inputs(program, seed, DataKind::random);
    const auto before = evaluate(program, inputs, {}), after = evaluate(needed, inputs, {});
    ASSERT_EQ(before.ok(), after.ok()) << seed;
    if (!before) continue;
    ASSERT_EQ(before->tensors.size(), after->tensors.size());
    for (size_t k = 0; k < before->tensors.size(); ++k)
      EXPECT_EQ(before->tensors[k].bytes, after->tensors[k].bytes) << seed;
  }
  EXPECT_GT(smaller, 10);
}

}  // namespace
}  // namespace polyweft::ir
