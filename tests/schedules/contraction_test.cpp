// Products and sums in one rounding: where classes allow them, before all judges, and told from what only looks alike.
#include <regex>

#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "poly/band.h"
#include "poly/check/checker.h"
#include "schedules/steps.h"

namespace polyweft::test {
namespace {

Result<LoopNest> contracted_nest(const Program& program, const std::string& steps, NumericsClass cls) {
  const schedules::Isl isl{
      nullptr, [&program](const poly::BandQuestion& question) { return poly::band_facts(program, question); }};
  auto t = schedules::replay(program, cls, *parse_trace("trace 1\n" + steps), isl);
  if (!t) return t.error();
  return instantiate(*t, values_of(t->trace));
}

std::vector<std::vector<ir::Tag>> tags_of(const Program& program, const LoopNest& nest) {
  ir::InterpreterOptions options;
  options.with_tags = true;
  return ir::interpret(nest, ir::seeded_inputs(program, 3, ir::DataKind::integers), options)->tags;
}

std::vector<std::vector<ir::Tag>> wanted_tags(const Program& program, NumericsClass cls) {
  ir::EvaluateOptions options;
  options.tags = cls;
  return ir::evaluate(program, ir::seeded_inputs(program, 3, ir::DataKind::integers), options)->tags;
}

/// Loop variables without their numbers.
std::string loops_of(const LoopNest& nest) {
  return std::regex_replace(print(nest), std::regex("@[0-9]+"), "");
}

Program of_values(const std::string& value) {
  return normalized_program(
      "program p(N = 5)\nin a: f32[N]\nin b: f32[N]\nin c: f32[N]\nin d: f32[N]\nlet m[i: N] = a[i] * b[i]\nout y[i: "
      "N] = " +
      value + "\n");
}

TEST(Contraction, sums_and_differences_of_products_round_once_in_all_classes_but_strict) {
  struct Case {
    const char* value;
    const char* loops;
    const char* steps;
  };
  const Case cases[] = {
      {"a[i] * b[i] + c[i]", "fma(a[i], b[i], c[i])", ""},
      {"a[i] * b[i] - c[i]", "fma(a[i], b[i], neg(c[i]))", ""},
      {"c[i] - a[i] * b[i]", "fma(neg(a[i]), b[i], c[i])", ""},
      {"a[i] * b[i] + c[i] * d[i]", "fma(c[i], d[i], (a[i] * b[i]))", ""},
      {"m[i] + c[i]", "fma(a[i], b[i], c[i])", "inline m\n"},
      {"c[i] - m[i]", "fma(neg(a[i]), b[i], c[i])", "inline m\n"},
      {"max(a[i] * b[i] + 1.0, c[i])", "max(fma(a[i], b[i], 1:f32), c[i])", ""},
  };
  for (const Case& c : cases)
    for (auto cls : {NumericsClass::strict, NumericsClass::contract, NumericsClass::reassoc}) {
      SCOPED_TRACE(std::string(c.value) + " " + name_of(cls));
      const Program program = of_values(c.value);
      auto nest = contracted_nest(program, c.steps, cls);
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      EXPECT_EQ(print(*nest).find("fma") != std::string::npos, cls != NumericsClass::strict);
      if (cls != NumericsClass::strict) {
        EXPECT_NE(loops_of(*nest).find(c.loops), std::string::npos) << print(*nest);
      }
      EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << print(*nest);
      EXPECT_EQ(tags_of(program, *nest), wanted_tags(program, cls)) << print(*nest);
      auto check = poly::check_nest(program, *nest);
      EXPECT_EQ(check.verdict, Verdict::proven) << check.message << "\n" << print(*nest);
    }
}

// What a sum folds by fma stays a product, or a sum of products; their factors round once each.
TEST(Contraction, factors_of_folded_products_are_contracted_and_the_products_stay) {
  const std::pair<const char*, const char*> cases[] = {
      {"(a[i] + b[k] * c[k]) * d[k]", "accumulate sum fused: y[i] <- (fma(b[k], c[k], a[i]) * d[k])"},
      {"a[k] * b[i] + c[k] * d[i]", "accumulate sum fused: y[i] <- ((a[k] * b[i]) + (c[k] * d[i]))"},
      {"a[k] * (b[k] * c[i] - d[i]) + c[k] * d[i]",
       "accumulate sum fused: y[i] <- ((a[k] * fma(b[k], c[i], neg(d[i]))) + (c[k] * d[i]))"},
  };
  for (const auto& [value, loops] : cases) {
    SCOPED_TRACE(value);
    const Program program = normalized_program(
        "program p(N = 5)\nin a: f32[N]\nin b: f32[N]\nin c: f32[N]\nin d: f32[N]\nout y[i: N] = sum[k: N] (" +
        std::string(value) + ")\n");
    auto nest = contracted_nest(program, "", NumericsClass::reassoc);
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_NE(loops_of(*nest).find(loops), std::string::npos) << print(*nest);
    EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << print(*nest);
    EXPECT_EQ(tags_of(program, *nest), wanted_tags(program, NumericsClass::reassoc)) << print(*nest);
    auto check = poly::check_nest(program, *nest);
    EXPECT_EQ(check.verdict, Verdict::proven) << check.message << "\n" << print(*nest);
  }
}

// Of two products the one with the element before is folded last: one operation from element to element.
TEST(Contraction, keeps_the_chain_of_a_recurrence_short) {
  const Program program = normalized_program(
      "program p(N = 5)\nin a: f32[N]\nlet y[0] = a[0]\nlet y[i: 1..N] = 0.5 * y[i-1] + 0.25 * a[i]\nout z[i: N] = "
      "y[i]\n");
  auto nest = contracted_nest(program, "band r [i] of y@1: [0], y@2: [i]\n", NumericsClass::reassoc);
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_NE(print(*nest).find("(0.25:f32 * a["), std::string::npos) << print(*nest);
}

TEST(Contraction, other_signs_and_operands_are_refuted) {
  const Program program = of_values("c[i] - a[i] * b[i]");
  const auto nest = contracted_nest(program, "", NumericsClass::reassoc);
  ASSERT_TRUE(nest.ok());
  const auto with = [&](const std::function<Expr(const ExprNode&)>& change) {
    LoopNest out = *nest;
    for (auto& node : out.nodes)
      if (auto* compute = std::get_if<Compute>(&node); compute && compute->rhs[0]->op == Op::fma)
        compute->rhs[0] = change(*compute->rhs[0]);
    return out;
  };
  const std::vector<std::function<Expr(const ExprNode&)>> changes = {
      [](const ExprNode& e) {
        return make_op(Op::fma, e.type, {e.args[0]->args[0], e.args[1], e.args[2]});
      },
      [](const ExprNode& e) {
        return make_op(Op::fma, e.type, {e.args[0]->args[0], e.args[1], make_op(Op::neg, e.type, {e.args[2]})});
      },
      [](const ExprNode& e) {
        return make_op(Op::fma, e.type, {e.args[0], e.args[2], e.args[1]});
      },
  };
  for (const auto& change : changes) {
    const LoopNest wrong = with(change);
    EXPECT_NE(tags_of(program, wrong), wanted_tags(program, NumericsClass::reassoc)) << print(wrong);
    EXPECT_EQ(poly::check_nest(program, wrong).verdict, Verdict::refuted) << print(wrong);
  }
}

}  // namespace
}  // namespace polyweft::test
