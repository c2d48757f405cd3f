#include "ir/oracles/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/values/scalar.h"
#include "small_programs.h"

namespace polyweft {
namespace {

TensorData filled(ElementType type, std::vector<int64_t> extents, double (*f)(int64_t)) {
  TensorData out = make_tensor(type, std::move(extents));
  for (int64_t k = 0; k < out.elements(); ++k)
    out.set(k, is_float(type) ? ir::float_literal(type, f(k)) : ir::integer_literal(type, static_cast<int64_t>(f(k))));
  return out;
}

Program defaults(const Program& p) {
  return polyweft::bind(p, make_binding(p, {}).value());
}

std::vector<TensorData> gemm_inputs() {
  return {filled(ElementType::f32, {3, 5}, [](int64_t k) { return k * 0.5 - 2; }),
          filled(ElementType::f32, {5, 4}, [](int64_t k) { return 3.0 - k; })};
}

TEST(Evaluator, gemm_is_the_sum_of_products) {
  std::vector<TensorData> in = gemm_inputs();
  auto result = ir::evaluate(defaults(test::gemm()), in);
  ASSERT_TRUE(result) << result.error().message;
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k) sum += in[0].at(i * 5 + k).f * in[1].at(k * 4 + j).f;
      EXPECT_EQ(result->tensors[0].at(i * 4 + j).f, sum);
    }
  }
}

TEST(Evaluator, bound_of_a_sum_is_terms_times_roundings) {
  std::vector<TensorData> in = gemm_inputs();
  ir::EvaluateOptions options;
  options.with_bounds = true;
  auto result = ir::evaluate(defaults(test::gemm()), in, options);
  ASSERT_TRUE(result);
  double magnitudes = 0;
  for (int64_t k = 0; k < 5; ++k) magnitudes += std::fabs(in[0].at(k).f * in[1].at(k * 4).f);
  EXPECT_NEAR(result->bound[0][0], 2 * 6 * magnitudes * 0x1p-24, 1e-9);
}

TEST(Evaluator, long_recurrences_need_no_deep_stack) {
  Program p = test::prefix_sum(200000);
  p.equations[2].rhs = p.equations[2].rhs->args[0];
  auto x = filled(ElementType::i32, {200000}, [](int64_t k) { return static_cast<double>(k % 7); });
  auto result = ir::evaluate(defaults(p), {x});
  ASSERT_TRUE(result) << result.error().message;
  int64_t sum = 0;
  for (int64_t k = 0; k < 200000; ++k) sum += k % 7;
  EXPECT_EQ(result->tensors[0].at(199999).i, sum);
}

TEST(Evaluator, last_element_first_needs_no_deep_stack) {
  Program p = test::prefix_sum(100000);
  p.equations[2].slots = {test::position(test::zero())};
  p.equations[2].rhs = test::read(p, 1, {Affine::variable(0) - Affine::of(1)});
  p.equations[2].index_names = {};
  auto x = filled(ElementType::i32, {100000}, [](int64_t) { return 1.0; });
  auto result = ir::evaluate(defaults(p), {x});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tensors[0].at(0).i, 100000);
}

TEST(Evaluator, cycles_name_their_elements) {
  Program p = test::prefix_sum(4);
  p.equations[0].rhs = test::read(p, 1, {Affine::of(2)});
  auto x = filled(ElementType::i32, {4}, [](int64_t) { return 1.0; });
  auto result = ir::evaluate(defaults(p), {x});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "PW0163");
  EXPECT_EQ(result.error().message, "S[0] needs itself: S[0] reads S[2] reads S[1] reads S[0]");
}

TEST(Evaluator, undefined_elements_are_errors) {
  Program p = test::prefix_sum(4);
  p.equations[1].slots[0].lo = Affine::of(2);
  auto x = filled(ElementType::i32, {4}, [](int64_t) { return 1.0; });
  auto result = ir::evaluate(defaults(p), {x});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "S[1] is read by Y[1] but no equation defines it");
}

TEST(Evaluator, sizes_beyond_the_limit_are_refused_before_enumeration) {
  Program p = test::with_parameters("huge", {{"N", 3000000}});
  TensorId y = test::add_tensor(p, "Y", TensorKind::output, ElementType::f32, 2);
  p.tensors[y].partial = true;
  Equation e;
  e.targets = {y};
  e.slots = {test::slot(1, test::zero(), Affine::variable(0)), test::slot(2, test::zero(), Affine::variable(1))};
  e.index_names = {"i", "j"};
  e.rhs = test::number(ElementType::f32, 1);
  p.equations = {e};
  auto result = ir::evaluate(defaults(p), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "PW0812");
}

TEST(Evaluator, wrong_inputs_are_refused) {
  auto x = filled(ElementType::f32, {4}, [](int64_t) { return 1.0; });
  EXPECT_EQ(ir::evaluate(defaults(test::prefix_sum(4)), {x}).error().code, "PW0160");
  EXPECT_EQ(ir::evaluate(defaults(test::prefix_sum(4)), {}).error().code, "PW0160");
}

TEST(Normalize, reductions_move_to_hidden_tensors_over_what_they_depend_on) {
  Program n = normalize(test::prefix_sum(6));
  ASSERT_EQ(n.equations.size(), 4u);
  EXPECT_EQ(n.tensors.back().name, "Y.1");
  EXPECT_TRUE(n.tensors.back().hidden);
  EXPECT_EQ(n.tensors.back().rank, 1u);
  EXPECT_EQ(n.equations[2].index_names, std::vector<std::string>{"i"});
  EXPECT_EQ(n.equations[3].index_names, (std::vector<std::string>{"i", "k"}));
  auto x = filled(ElementType::i32, {6}, [](int64_t k) { return static_cast<double>((k * 5) % 7); });
  auto expected = ir::evaluate(defaults(test::prefix_sum(6)), {x});
  auto result = ir::evaluate(defaults(n), {x});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tensors[0].bytes, expected->tensors[0].bytes);
}

TEST(Normalize, whole_right_hand_sides_stay) {
  Program p = test::gemm();
  EXPECT_TRUE(equal(normalize(p), p));
}

TEST(Print, programs_are_text_of_the_language) {
  EXPECT_EQ(print(test::prefix_sum(6)),
            "program prefix(N = 6)\n"
            "in X: i32[N]\n"
            "let S[0]: i32 = X[0]\n"
            "let S[i: 1..N]: i32 = S[i - 1] + X[i]\n"
            "out Y[i: N]: i32 = S[i] - (max[k: i + 1] X[k])\n");
}

}  // namespace
}  // namespace polyweft
