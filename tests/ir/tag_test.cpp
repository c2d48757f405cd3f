#include "ir/oracles/tag.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "ir/oracles/evaluator.h"
#include "ir/small_sizes.h"
#include "ir/values/seeded_data.h"
#include "lang/corpus.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

using Tags = std::vector<std::vector<ir::Tag>>;

Tags tags_of(const Program& program, const std::map<std::string, int64_t>& sizes, NumericsClass cls) {
  Program bound = polyweft::bind(program, make_binding(program, sizes).value());
  ir::EvaluateOptions options;
  options.tags = cls;
  auto result = ir::evaluate(bound, ir::seeded_inputs(bound, 3, ir::DataKind::random), options);
  EXPECT_TRUE(result) << result.error().message;
  return result->tags;
}

Tags tags_of_text(const std::string& body, NumericsClass cls) {
  std::string text = "program p(N = 4, M = 3)\nin A: f32[N, M]\nin B: f32[N, M]\n" + body;
  auto parsed = lang::parse(text, "p.weft");
  EXPECT_TRUE(parsed) << body;
  return tags_of(parsed->programs.at(0), {}, cls);
}

constexpr auto kStrict = NumericsClass::strict;
constexpr auto kReassoc = NumericsClass::reassoc;

TEST(Tag, normalize_keeps_the_terms) {
  for (const auto& [name, text] : lang_test::corpus()) {
    if (name.find("qgemm") != std::string::npos)
      continue;  // its zero point leaves the sum: other terms, the same values (Normalized)
    Program program = lang::parse(text, name)->programs.at(0);
    for (NumericsClass cls : {kStrict, kReassoc})
      EXPECT_EQ(tags_of(program, test::small_sizes(name), cls),
                tags_of(normalize(program), test::small_sizes(name), cls))
          << name;
  }
}

TEST(Tag, operands_of_commutative_operators_swap) {
  EXPECT_EQ(tags_of_text("out Y[i: N, j: M] = A[i, j] * B[i, j]", kStrict),
            tags_of_text("out Y[i: N, j: M] = B[i, j] * A[i, j]", kStrict));
  EXPECT_NE(tags_of_text("out Y[i: N, j: M] = A[i, j] - B[i, j]", kStrict),
            tags_of_text("out Y[i: N, j: M] = B[i, j] - A[i, j]", kStrict));
}

TEST(Tag, the_order_of_a_sum_counts_in_strict_only) {
  std::string rows = "out Y = sum[i: N, j: M] A[i, j]", columns = "out Y = sum[j: M, i: N] A[i, j]";
  EXPECT_NE(tags_of_text(rows, kStrict), tags_of_text(columns, kStrict));
  EXPECT_EQ(tags_of_text(rows, kReassoc), tags_of_text(columns, kReassoc));
}

TEST(Tag, max_is_free_in_every_class) {
  EXPECT_EQ(tags_of_text("out Y = max[i: N, j: M] A[i, j]", kStrict),
            tags_of_text("out Y = max[j: M, i: N] A[i, j]", kStrict));
}

TEST(Tag, a_forgotten_or_doubled_term_shows) {
  std::string all = "out Y[j: M] = sum[i: N] A[i, j]";
  EXPECT_NE(tags_of_text(all, kReassoc), tags_of_text("out Y[j: M] = sum[i: 1..N] A[i, j]", kReassoc));
  EXPECT_NE(tags_of_text(all, kReassoc), tags_of_text("out Y[j: M] = sum[i: N + 1] A[clamp(i, 0, N-1), j]", kReassoc));
}

TEST(Tag, merged_states_equal_folds_where_the_order_is_free) {
  std::vector<ir::Tag> terms;
  for (int64_t k = 0; k < 6; ++k) {
    ir::Tag value = ir::tag_of_element(0, std::array{k});
    terms.push_back(ir::tag_of_term(Reducer::sum, 0, 0, {&value, 1}));
  }
  auto fold = [&](ir::FoldOrder order, size_t from, size_t to) {
    ir::Tag state;
    for (size_t k = from; k < to; ++k) state = ir::fold_tags(order, state, terms[k]);
    return state;
  };
  for (ir::FoldOrder order : {ir::FoldOrder::fixed, ir::FoldOrder::tree, ir::FoldOrder::any}) {
    ir::Tag whole = fold(order, 0, 6), front = fold(order, 0, 2), back = fold(order, 2, 6);
    EXPECT_EQ(ir::merge_tags(order, front, back) == whole, order != ir::FoldOrder::fixed);
    EXPECT_EQ(ir::merge_tags(order, back, front) == whole, order == ir::FoldOrder::any);
    EXPECT_EQ(ir::merge_tags(order, {}, whole) == whole, order != ir::FoldOrder::fixed);
    std::swap(terms[1], terms[4]);
    EXPECT_EQ(fold(order, 0, 6) == whole, order == ir::FoldOrder::any);
    std::swap(terms[1], terms[4]);
  }
}

TEST(Tag, orders_follow_class_and_promises) {
  Combiner c;
  using ir::FoldOrder;
  EXPECT_EQ(ir::fold_order(kReassoc, Reducer::combiner, ElementType::f32, &c), FoldOrder::fixed);
  c.associative = true;
  EXPECT_EQ(ir::fold_order(kReassoc, Reducer::combiner, ElementType::f32, &c), FoldOrder::tree);
  EXPECT_EQ(ir::fold_order(kStrict, Reducer::combiner, ElementType::f32, &c), FoldOrder::fixed);
  c.commutative = true;
  EXPECT_EQ(ir::fold_order(kReassoc, Reducer::combiner, ElementType::f32, &c), FoldOrder::any);
  EXPECT_EQ(ir::fold_order(NumericsClass::contract, Reducer::sum, ElementType::bf16, nullptr), FoldOrder::fixed);
  EXPECT_EQ(ir::fold_order(kStrict, Reducer::sum, ElementType::i32, nullptr), FoldOrder::any);
}

TEST(Tag, fma_is_a_product_and_a_sum) {
  ir::Tag x[3] = {ir::tag_of_element(0, {}), ir::tag_of_element(1, {}), ir::tag_of_element(2, {})};
  ir::Tag sum[2] = {x[2], ir::tag_of_operation(Op::mul, ElementType::f32, std::span(x).first(2))};
  EXPECT_EQ(ir::tag_of_operation(Op::fma, ElementType::f32, x), ir::tag_of_operation(Op::add, ElementType::f32, sum));
}

TEST(Tag, signs_go_through_products_and_differences_are_sums) {
  const ir::Tag x = ir::tag_of_element(0, {}), y = ir::tag_of_element(1, {}), z = ir::tag_of_element(2, {});
  const auto of = [](Op op, std::vector<ir::Tag> args, ElementType type = ElementType::f64) {
    return ir::tag_of_operation(op, type, args);
  };
  const ir::Tag minus_x = of(Op::neg, {x}), xy = of(Op::mul, {x, y});
  EXPECT_NE(minus_x, x);
  EXPECT_EQ(of(Op::neg, {minus_x}), x);
  EXPECT_EQ(of(Op::mul, {minus_x, y}), of(Op::neg, {xy}));
  EXPECT_EQ(of(Op::mul, {minus_x, of(Op::neg, {y})}), xy);
  EXPECT_EQ(of(Op::fma, {minus_x, y, z}), of(Op::sub, {z, xy}));
  EXPECT_EQ(of(Op::fma, {x, y, of(Op::neg, {z})}), of(Op::sub, {xy, z}));
  EXPECT_NE(of(Op::sub, {xy, z}), of(Op::sub, {z, xy}));
  EXPECT_NE(of(Op::sub, {x, y}, ElementType::i32),
            of(Op::add, {x, of(Op::neg, {y}, ElementType::i32)}, ElementType::i32));
}

TEST(Tag, different_elements_have_different_tags) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (TensorId id = 0; id < 4; ++id)
    for (int64_t i = -20; i < 20; ++i)
      for (int64_t j = -20; j < 20; ++j) {
        ir::Tag tag = ir::tag_of_element(id, std::array{i, j});
        seen.insert({tag.a, tag.b});
      }
  EXPECT_EQ(seen.size(), 4u * 40 * 40);
}

}  // namespace
}  // namespace polyweft
