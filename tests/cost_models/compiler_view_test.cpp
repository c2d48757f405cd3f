// What the model takes a compiler to make of plain loops: which are vectorized is a table of subscripts.
#include "cost_models/compiler_view.h"

#include <gtest/gtest.h>

#include <string>

#include "machines.h"

namespace polyweft::cost {
namespace {

struct Case {
  const char* name;
  const char* cls;
  const char* loops;  ///< over A, B: f32[64, 64] in and C: f32[64, 64] out
  bool is_vectorized;
};

const Case kCases[] = {
    {"elementwise", "strict",
     "for i in 0 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) store: C[i, j] <- (A[i, j] + B[i, j])\n }\n }", true},
    {"sum_along_rows_in_a_free_order", "reassoc",
     "for i in 0 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) accumulate sum: C[i, 0] <- A[i, j]\n }\n }", true},
    {"sum_along_rows_in_order", "strict",
     "for i in 0 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) accumulate sum: C[i, 0] <- A[i, j]\n }\n }", false},
    {"greatest_in_any_class", "strict",
     "for i in 0 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) accumulate max: C[i, 0] <- A[i, j]\n }\n }", true},
    {"recurrence_along_the_row", "reassoc",
     "for i in 0 .. 64 {\n for j in 1 .. 64 {\n compute 0(i, j) store: C[i, j] <- (C[i, j - 1] + A[i, j])\n }\n }",
     false},
    {"recurrence_along_the_column", "reassoc",
     "for i in 1 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) store: C[i, j] <- (C[i - 1, j] + A[i, j])\n }\n }",
     true},
    {"reads_what_comes_later", "reassoc",
     "for i in 0 .. 64 {\n for j in 0 .. 63 {\n compute 0(i, j) store: C[i, j] <- (C[i, j + 1] + A[i, j])\n }\n }",
     true},
    {"overwritten_cell", "reassoc",
     "for i in 0 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) store: C[i, 0] <- A[i, j]\n }\n }", false},
    {"short_inner_loop", "reassoc",
     "for i in 0 .. 62 {\n for j in 0 .. 64 {\n for k in 0 .. 3 {\n compute 0(i, j, k) accumulate sum: C[i, j] <- A[i "
     "+ k, j]\n }\n }\n }",
     true},
};

LoopNest nest_of(const Case& c) {
  const std::string text = std::string("nest 1 t class ") + c.cls + "\nautovectorize\nloops i, j" +
                           (std::string(c.loops).find("for k") == std::string::npos ? "" : ", k") +
                           "\nbuffer A: f32[64, 64] argument align 4\nbuffer B: f32[64, 64] argument align 4\n"
                           "buffer C: f32[64, 64] argument align 4 output\narguments A, B, C\nbody {\n" +
                           c.loops + "\n}\n";
  auto nest = parse_loop_nest(text);
  if (!nest) throw std::runtime_error(nest.error().message + "\n" + text);
  return *nest;
}

bool has_vectors(const LoopNest& nest) {
  for (const Node& node : nest.nodes)
    if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == MarkKind::vector) return true;
  return false;
}

TEST(CompilerView, vectorizes_what_subscripts_show_to_be_independent) {
  for (const Case& c : kCases) EXPECT_EQ(has_vectors(compiler_view(nest_of(c), 32)), c.is_vectorized) << c.name;
}

TEST(CompilerView, predicts_less_time_for_what_is_vectorized) {
  const auto model = analytic_model(test::machine_with(32, 16, {32 << 10, 1 << 20, 8 << 20}));
  for (const Case& c : kCases) {
    LoopNest left_to_compiler = nest_of(c), plain = left_to_compiler;
    plain.auto_vectorized = false;
    if (c.is_vectorized)
      EXPECT_LT(model->predict_ns(left_to_compiler) * 1.5, model->predict_ns(plain)) << c.name;
    else
      EXPECT_LT(model->predict_ns(left_to_compiler), model->predict_ns(plain) * 1.5) << c.name;
  }
}

}  // namespace
}  // namespace polyweft::cost
