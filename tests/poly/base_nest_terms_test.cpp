// The base nest computes the program: the terms of the normalized one by tags, the bits of the one as written;
// interpreter against evaluator, on the programs of LANGUAGE.md section 8 and on random ones. Neither shares code with
// the other beyond scalar arithmetic.
#include <gtest/gtest.h>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/small_sizes.h"
#include "ir/values/scalar_math.h"
#include "ir/values/seeded_data.h"
#include "lang/corpus.h"
#include "lang/parser.h"
#include "poly/base_nest.h"
#include "tests/generators/random_program.h"

namespace polyweft {
namespace {

bool has_functions(const Program& program) {
  bool found = false;
  auto look = [&](const ExprNode& e) { found |= ir::is_function(e.op); };
  for (const Equation& equation : program.equations) visit(equation.rhs, look);
  for (const Combiner& combiner : program.combiners)
    for (const Expr& e : combiner.result) visit(e, look);
  return found;
}

/// Empty, or how nest and program differ.
std::string difference(const Program& bound, NumericsClass cls) {
  const Program normal = normalize(bound, cls);
  auto nest = poly::base_nest(normal, cls);
  if (!nest) return "no base nest: " + nest.error().message;
  Status valid = verify(*nest);
  if (!valid) return "not valid: " + valid.error().message;
  std::vector<TensorData> inputs = ir::seeded_inputs(bound, 17, ir::DataKind::random);
  ir::EvaluateOptions options;
  options.tags = cls;
  auto terms = ir::evaluate(normal, inputs, options), expected = ir::evaluate(bound, inputs);
  ir::InterpreterOptions with_tags;
  with_tags.with_tags = true;
  auto got = ir::interpret(*nest, inputs, with_tags);
  if (!terms || !expected) return "evaluator: " + (terms ? expected : terms).error().message;
  if (!got) return "interpreter: " + got.error().message;
  if (got->tensors.size() != expected->tensors.size()) return "number of outputs";
  bool same_bits = cls == NumericsClass::strict && !has_functions(bound);
  for (size_t k = 0; k < got->tensors.size(); ++k) {
    if (got->written[k] != expected->written[k]) return "written elements of output " + std::to_string(k);
    if (got->tags[k] != terms->tags[k]) return "terms of output " + std::to_string(k);
    if (!same_bits) continue;
    for (int64_t x = 0; x < got->tensors[k].elements(); ++x)
      if (!(got->tensors[k].at(x) == expected->tensors[k].at(x))) return "bits of output " + std::to_string(k);
  }
  return "";
}

TEST(BaseNest, computes_the_terms_of_the_programs_of_the_language) {
  for (const auto& [name, text] : lang_test::corpus()) {
    Program program = lang::parse(text, name)->programs.at(0);
    Program bound = polyweft::bind(program, make_binding(program, test::small_sizes(name)).value());
    for (NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc})
      EXPECT_EQ(difference(bound, cls), "") << name;
  }
}

TEST(BaseNest, computes_the_terms_of_random_programs) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto differs = [](const Program& p) {
      return difference(polyweft::bind(p, make_binding(p, {}).value()), NumericsClass::strict);
    };
    Program program = ir::random_program(seed);
    std::string first = differs(program);
    if (first.empty()) continue;
    Program small = ir::shrink(
        program, [&](const Program& p) { return !differs(p).empty(); }, 100);
    FAIL() << first << " for seed " << seed << "; smallest:\n" << print(small);
  }
}

}  // namespace
}  // namespace polyweft
