#include "poly/order.h"

#include "corpus.h"

namespace polyweft::poly_test {
namespace {

std::optional<std::vector<poly::Ordered>> order_of(const Program& program, poly::Sizes sizes, poly::Context& context) {
  poly::Model model(context, program, sizes);
  auto order = poly::base_order(model, poly::kQuota);
  EXPECT_TRUE(order.ok()) << program.name << ": " << order.error().message;
  if (!order) return std::nullopt;
  return *order;
}

}  // namespace

TEST(Order, is_found_for_every_program_of_the_language) {
  for (const Program& program : corpus()) {
    poly::Context symbolic, numbers;
    order_of(program, poly::Sizes::symbolic, symbolic);
    order_of(normalize(polyweft::bind(program, *make_binding(program, {}))), poly::Sizes::bound, numbers);
  }
}

TEST(Order, keeps_border_and_interior_of_a_stencil_in_one_part) {
  for (const Program& program : corpus()) {
    if (program.name != "heat1d") continue;
    poly::Context context;
    auto order = order_of(program, poly::Sizes::symbolic, context);
    ASSERT_TRUE(order);
    size_t largest = 0;
    for (const poly::Ordered& part : *order) largest = std::max(largest, part.statements.size());
    EXPECT_EQ(largest, 2u);
  }
}

TEST(Order, refuses_an_order_that_leaves_an_element_before_what_it_needs) {
  poly::Context context;
  isl_ctx* ctx = context.get();
  const auto map = [&](const char* text) { return poly::Map(isl_map_read_from_str(ctx, text)); };
  poly::ElementGraph graph;
  for (const char* name : {"S", "T"})
    graph.statements.push_back(
        {0, name, poly::Set(isl_set_read_from_str(ctx, ("{ " + std::string(name) + "[i] : 0 <= i < 9 }").c_str()))});
  graph.needs.push_back({0, 0, {map("{ S[i] -> S[i-1] : 0 < i < 9 }")}});
  EXPECT_TRUE(poly::is_order(graph, {0}, {map("{ S[i] -> [i] }")}));
  EXPECT_FALSE(poly::is_order(graph, {0}, {map("{ S[i] -> [-i] }")}));
  EXPECT_FALSE(poly::is_order(graph, {0}, {map("{ S[i] -> [0] }")}));
  graph.needs.push_back({0, 1, {map("{ S[i] -> T[i] : 0 <= i < 9 }"), map("{ S[i] -> T[i-2] : 2 <= i < 9 }")}});
  EXPECT_TRUE(poly::is_order(graph, {0, 1}, {map("{ S[i] -> [i, 1] }"), map("{ T[i] -> [i, 0] }")}));
  EXPECT_TRUE(poly::is_order(graph, {1, 0}, {map("{ T[i] -> [i, 0] }"), map("{ S[i] -> [i, 1] }")}));
  EXPECT_FALSE(poly::is_order(graph, {0, 1}, {map("{ S[i] -> [i, 0] }"), map("{ T[i] -> [i, 1] }")}));
  EXPECT_FALSE(poly::is_order(graph, {0, 1}, {map("{ S[i] -> [i, 0] }"), map("{ T[i] -> [i, 0] }")}));
  EXPECT_FALSE(poly::is_order(graph, {0, 1}, {map("{ S[i] -> [i + 1, 0] }"), map("{ T[i] -> [i + 4, 0] : i < 7 }")}));
}

TEST(Order, splits_an_equation_where_its_dependences_turn) {
  Program program = parsed(R"(program turn(M = 4)
in X: f32[3*M]
let S[i: 3*M]: f32 = S[i+M] where i < M else (S[i-M] where i >= 2*M else X[i])
out Y[i: 3*M] = S[i])");
  poly::Context context;
  auto order = order_of(program, poly::Sizes::symbolic, context);
  ASSERT_TRUE(order);
  size_t pieces = 0;
  for (const poly::Ordered& part : *order)
    for (const poly::Statement& statement : part.statements) pieces += statement.name.find("S/") == 0;
  EXPECT_GE(pieces, 2u);
}

}  // namespace polyweft::poly_test
