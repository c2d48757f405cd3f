#include "poly/order.h"

#include "corpus.h"
#include "poly/own_order.h"

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

/// Sweeps of an ADI solver: eliminations run up, back substitutions down, all inside one step of time.
TEST(Order, lets_back_substitutions_run_down) {
  Program program = parsed(R"(program adi(T = 3, N = 5)
in u0: f64[N, N]
let u[0, i: N, j: N] = u0[i, j]
let d[t: T, 0, j: N] = u[t, 0, j]
let d[t: T, i: 1..N, j: N] = u[t, i, j] + d[t, i-1, j]
let v[t: T, N-1, j: N] = d[t, N-1, j]
let v[t: T, i: N-1, j: N] = d[t, i, j] - v[t, i+1, j]
let e[t: T, i: N, 0] = v[t, i, 0]
let e[t: T, i: N, j: 1..N] = v[t, i, j] + e[t, i, j-1]
let u[t: 1..T+1, i: N, N-1] = e[t-1, i, N-1]
let u[t: 1..T+1, i: N, j: N-1] = e[t-1, i, j] - u[t, i, j+1]
out R[i: N, j: N] = u[T, i, j])");
  for (const auto sizes : {poly::Sizes::symbolic, poly::Sizes::bound}) {
    poly::Context context;
    const Program at = sizes == poly::Sizes::bound ? normalize(polyweft::bind(program, {3, 5})) : program;
    poly::Model model(context, at, sizes);
    const auto graph = poly::element_graph(model, poly::kQuota);
    ASSERT_TRUE(graph) << graph.error().message;
    size_t largest = 0;
    for (const auto& component : poly::components(*graph)) {
      largest = std::max(largest, component.size());
      if (component.size() == 1) continue;
      EXPECT_FALSE(poly::own_orders(*graph, component, poly::Ways::up));
      EXPECT_TRUE(poly::own_orders(*graph, component, poly::Ways::up_and_down));
    }
    EXPECT_EQ(largest, 8u);
  }
}

}  // namespace polyweft::poly_test
