// One way from a program's text and a trace's text to a compared result.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "lang/parser.h"
#include "plain_run.h"
#include "references.h"
#include "schedules/steps.h"

namespace polyweft::test {

inline Program normalized_program(const std::string& text, const std::map<std::string, int64_t>& values = {}) {
  auto parsed = lang::parse(text, "test.weft");
  if (!parsed) throw std::runtime_error("parse: " + parsed.error().message);
  const Program& program = parsed->programs.front();
  auto binding = make_binding(program, values);
  if (!binding) throw std::runtime_error(binding.error().message);
  return polyweft::normalize(polyweft::bind(program, *binding));
}

inline std::string described(const Error& error) {
  std::string out = error.code + " " + error.message;
  for (const auto& note : error.notes) out += "\n  note: " + note;
  return out;
}

/// Empty when the nest computes what the evaluator computes on whole numbers, bit for bit; else what differs.
inline std::string difference(const Program& program, const LoopNest& nest, uint64_t seed,
                              ir::DataKind kind = ir::DataKind::integers) {
  if (auto status = verify(nest); !status) return "verify: " + described(status.error());
  ir::EvaluateOptions options;
  options.with_bounds = kind == ir::DataKind::random;
  const auto expected = reference(program, seed, kind, options);
  const auto& [inputs, wanted] = *expected;
  if (!wanted) return "evaluate: " + described(wanted.error());
  try {
    PlainRun run(nest, inputs);
    auto got = run.outputs();
    for (size_t k = 0; k < got.size(); ++k) {
      if (got[k].extents != wanted->tensors[k].extents) return "output " + std::to_string(k) + " has other extents";
      for (int64_t e = 0; e < got[k].elements(); ++e) {
        if (!wanted->written.empty() && !wanted->written[k].empty() && !wanted->written[k][static_cast<size_t>(e)])
          continue;
        Literal a = got[k].at(e), b = wanted->tensors[k].at(e);
        double x = ir::as_double(a), y = ir::as_double(b);
        bool same = a == b || x == y || (x != x && y != y);
        if (!same && options.with_bounds) same = std::abs(x - y) <= wanted->bound[k][static_cast<size_t>(e)];
        if (!same)
          return "output " + std::to_string(k) + " element " + std::to_string(e) + ": " + std::to_string(x) +
                 " instead of " + std::to_string(y);
      }
    }
  } catch (const std::exception& e) {
    return std::string("run: ") + e.what();
  }
  return "";
}

inline Result<LoopNest> nest_of(const Program& program, const std::string& trace_text,
                                NumericsClass cls = NumericsClass::reassoc) {
  auto trace = parse_trace(trace_text);
  if (!trace) return trace.error();
  auto t = schedules::replay(program, cls, *trace);
  if (!t) return t.error();
  return instantiate(*t, values_of(t->trace));
}

inline std::string check_trace(const Program& program, const std::string& trace_text,
                               NumericsClass cls = NumericsClass::reassoc) {
  auto nest = nest_of(program, trace_text, cls);
  if (!nest) return described(nest.error());
  return difference(program, *nest, 7);
}

/// Each cell of each output holds the term that the evaluator finds for its element.
inline void expect_equal_tags(const Program& program, const LoopNest& nest, NumericsClass cls,
                              const std::string& what) {
  const auto expected = tag_reference(program, cls);
  const auto& [inputs, wanted] = *expected;
  ASSERT_TRUE(wanted.ok()) << described(wanted.error());
  ir::InterpreterOptions options;
  options.with_tags = true;
  auto got = ir::interpret(nest, inputs, options);
  ASSERT_TRUE(got.ok()) << described(got.error()) << "\n" << what;
  EXPECT_EQ(got->tags, wanted->tags) << what;
}

/// The text with its first `from` replaced; a failure where it has none.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline bool mentions(const Trace& trace, const std::string& what) {
  return trace.text().find(what) != std::string::npos;
}

inline const char* gemm_text() {
  return "program gemm(M = 20, N = 40, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, "
         "k] * B[k, j]\n";
}

}  // namespace polyweft::test
