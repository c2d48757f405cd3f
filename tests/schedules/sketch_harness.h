// What a rule proposes before all judges: evaluator, interpreter, tags, checker.
#pragma once

#include "bands_harness.h"

namespace polyweft::test {

/// The text of the only trace, whose nest is proven and computes what the evaluator does, of the same elements.
inline std::string checked_trace(const Program& program, const std::vector<Trace>& traces) {
  if (traces.size() != 1) return std::to_string(traces.size()) + " traces";
  auto t = schedules::replay(program, NumericsClass::reassoc, traces[0], isl_for(program));
  if (!t) return described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  if (!nest) return described(nest.error());
  EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << traces[0].text();
  const auto verdict = poly::check_nest(program, *nest);
  EXPECT_EQ(verdict.verdict, Verdict::proven) << verdict.message << "\n" << traces[0].text();
  expect_equal_tags(program, *nest, NumericsClass::reassoc, traces[0].text());
  return traces[0].text();
}

inline void expect_steps(const std::string& text, const std::vector<std::string>& steps) {
  for (const std::string& step : steps)
    EXPECT_NE(text.find(step), std::string::npos) << "no " << step << " in\n" << text;
}

}  // namespace polyweft::test
