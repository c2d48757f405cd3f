// Traces of bands before all judges: evaluator, interpreter, tags, checker.
#pragma once

#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "proofs.h"
#include "schedules/steps.h"

namespace polyweft::test {

inline Result<NestTemplate> replayed(const Program& program, const std::string& steps,
                                     NumericsClass cls = NumericsClass::reassoc) {
  auto trace = parse_trace("trace 1\n" + steps);
  if (!trace) return trace.error();
  EXPECT_EQ(parse_trace(trace->text())->text(), trace->text());
  schedules::Isl isl = isl_for(program);
  if (schedules::runs_base_order(*trace) && schedules::has_recurrence(program)) {
    auto base = poly::base_nest(program, cls);
    if (!base) return base.error();
    isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
  }
  return schedules::replay(program, cls, *trace, isl);
}

inline void expect_right(const Program& program, const std::string& steps, NumericsClass cls = NumericsClass::reassoc) {
  SCOPED_TRACE(steps);
  auto t = replayed(program, steps, cls);
  ASSERT_TRUE(t.ok()) << described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << print(*nest);
  const auto expected = tag_reference(program, cls);
  const auto& [inputs, wanted] = *expected;
  ir::InterpreterOptions options;
  options.with_tags = true;
  auto got = ir::interpret(*nest, inputs, options);
  ASSERT_TRUE(wanted.ok() && got.ok());
  EXPECT_EQ(got->tags, wanted->tags) << print(*nest);
  auto check = poly::check_nest(program, *nest);
  EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message << "\n"
                                                           << print(*nest);
}

inline std::string refusal(const Program& program, const std::string& steps) {
  auto t = replayed(program, steps);
  return t ? "accepted" : described(t.error());
}

}  // namespace polyweft::test
