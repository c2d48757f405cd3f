// Error bounds of gathers whose index comes from floats. The oracle: the same program with its sums in other orders and
// its functions off by a few places, evaluated element by element, never lies further apart than the bound.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/oracles/bound_program.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/scalar.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

constexpr int kChoices = 5, kTerms = 8;

/// How an evaluation goes about what its class leaves open.
enum class Way { as_written, backward, by_halves, other_functions };

std::string put_for(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// The sum over `name` of `body`, which has @ where that stands.
std::string sum_of(Way way, const std::string& body, const std::string& name = "d") {
  const auto terms = [&](const std::string& range, const std::string& at) {
    return "(sum[" + name + ": " + range + "] " + put_for(body, "@", at) + ")";
  };
  if (way == Way::backward) return terms("8", "7-" + name);
  if (way == Way::by_halves) return "(" + terms("4", "2*" + name) + " + " + terms("4", "2*" + name + "+1") + ")";
  return terms("8", name);
}

std::string exponential(Way way, const std::string& of) {
  return way == Way::other_functions ? "(exp(" + of + ") * 1.0000003)" : "exp(" + of + ")";
}

struct GatherChoice {
  unsigned scores, index, place, result;
  std::string type;
};

std::string program_text(const GatherChoice& choice, Way way) {
  const std::string products = sum_of(way, "(x[t, @] * G[e, @])");
  const std::string scores[] = {products, exponential(way, products + " * 0.125"), "max(" + products + ", 0.5)"};
  const std::string whole = sum_of(way, "(x[t, @] * 0.7)");
  const std::string indices[] = {
      "argmax[e: 5] g[t, e]",
      "argmin[e: 5] g[t, e]",
      "i64(floor(" + whole + "))",
      "i64(round(" + whole + " * 1.1))",
      "i64(" + whole + ")",
      "sum[e: 5] i64(g[t, e] > " + whole + ")",
      "select(g[t, 1] < g[t, 2] and g[t, 1] < g[t, 3], i64(1), i64(argmax[e: 5] g[t, e]) * 2)",
      "i64(P[clamp(argmax[e: 5] g[t, e], 0, 4)])",
  };
  const std::string places[] = {"clamp(c[t], 0, 4)", "(c[t] % 5)", "select(c[t] > 2, 4, clamp(c[t], 0, 2))",
                                "clamp(i64(floor(" + whole + ")) + c[t], 0, 4)"};
  const std::string& place = places[choice.place];
  const std::string results[] = {
      "W[" + place + "]",
      "S[" + place + "]",
      sum_of(way, "(x[t, @] * G[" + place + ", @])", "k"),
      "select(W[" + place + "] <= S[" + place + "], W[0], x[t, 1])",
      "W[clamp(P[" + place + "], 0, 4)]",
      "max(W[" + place + "], 0) / (1 + abs(S[" + place + "]))",
  };
  return std::string("program p()\nin x: T[6, 8]\nin G: T[5, 8]\nin W: T[5]\nin P: i32[5] values 0..5\n") +
         "let g[t: 6, e: 5] = " + scores[choice.scores] + "\nlet S[e: 5] = " + sum_of(way, "(G[e, @] * G[e, @])") +
         "\nlet c[t: 6]: i64 = " + indices[choice.index] +
         "\nout C[t: 6] = c[t]\nout y[t: 6] = " + results[choice.result] + "\n" +
         "out z[t: 6, e: 5] = g[t, e] + S[e]\n";
}

Program parsed_gather(const GatherChoice& choice, Way way) {
  const std::string text = put_for(program_text(choice, way), "T[", choice.type + "[");
  auto parsed = lang::parse(text, "gather");
  EXPECT_TRUE(parsed) << parsed.error().message << "\n" << text;
  return normalize(polyweft::bind(parsed->programs.at(0), {}));
}

/// With `is_near`, rows of G that differ in a few last places, so that scores lie side by side, and whole sums near
/// integers.
std::vector<TensorData> gather_inputs(const Program& program, std::mt19937_64& random, bool is_near) {
  std::normal_distribution<double> normal;
  std::vector<TensorData> out;
  for (TensorId id : program.inputs()) {
    const Tensor& tensor = program.tensors[id];
    std::vector<int64_t> extents;
    for (const Affine& e : tensor.shape) extents.push_back(e.constant);
    TensorData data = make_tensor(tensor.type, extents);
    const double unit = tensor.type == ElementType::f16 ? 0x1p-10 : 0x1p-23;
    for (int64_t k = 0; k < data.elements(); ++k) {
      double value = normal(random);
      if (is_near && tensor.name == "G" && k >= kTerms && random() % 2)
        value = data.at(k % kTerms).f * (1 + unit * static_cast<double>(random() % 3));
      if (is_near && tensor.name == "x" && random() % 2) value = std::nearbyint(4 * value) / 0.7;
      data.set(k, is_float(tensor.type) ? ir::float_literal(tensor.type, value)
                                        : ir::integer_literal(tensor.type, static_cast<int64_t>(random() % kChoices)));
    }
    out.push_back(std::move(data));
  }
  return out;
}

struct Counts {
  int elements = 0, judged = 0, differ = 0, differ_unjudged = 0;
};

/// Adds what two evaluations show; fails where they lie further apart than the bound.
void compare_ways(const GatherChoice& choice, Way way, NumericsClass cls, std::mt19937_64& random, bool is_near,
                  Counts& counts) {
  const Program program = parsed_gather(choice, Way::as_written), other = parsed_gather(choice, way);
  const auto inputs = gather_inputs(program, random, is_near);
  const auto a = ir::evaluate(program, inputs), b = ir::evaluate(other, inputs);
  const auto bounds = ir::evaluate(ir::bound_program(program, cls), inputs);
  ASSERT_TRUE(a && b && bounds) << program_text(choice, way);
  for (size_t k = 0; k < a->tensors.size(); ++k)
    for (int64_t i = 0; i < a->tensors[k].elements(); ++i) {
      const double one = ir::as_double(a->tensors[k].at(i)), two = ir::as_double(b->tensors[k].at(i));
      const double bound = bounds->tensors[k].at(i).f;
      ++counts.elements;
      counts.differ += one != two;
      counts.differ_unjudged += one != two && std::isinf(bound);
      counts.judged += std::isfinite(bound);
      ASSERT_FALSE(std::isnan(bound));
      if (!std::isfinite(one)) continue;
      ASSERT_LE(std::fabs(one - two), bound)
          << "output " << k << " element " << i << " of " << program_text(choice, way);
    }
}

GatherChoice random_choice(std::mt19937_64& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  return {below(3), below(8), below(4), below(6), below(2) ? "f32" : "f16"};
}

TEST(GatherBounds, hold_for_other_orders_of_sums) {
  std::mt19937_64 random(20261128);
  Counts near, apart;
  for (int round = 0; round < 400; ++round)
    for (const Way way : {Way::backward, Way::by_halves}) {
      const bool is_near = round % 2 == 0;
      compare_ways(random_choice(random), way, NumericsClass::reassoc, random, is_near, is_near ? near : apart);
      if (HasFatalFailure()) return;
    }
  EXPECT_GT(near.differ_unjudged, 5);  // a bound that ignores the index fails here
  EXPECT_LT(near.judged, near.elements);
  EXPECT_GT(apart.judged, apart.elements * 9 / 10);
  RecordProperty("near", std::to_string(near.judged) + " of " + std::to_string(near.elements));
}

TEST(GatherBounds, of_class_strict_are_those_of_its_functions) {
  std::mt19937_64 random(20261129);
  Counts counts;
  for (int round = 0; round < 600; ++round) {
    GatherChoice choice = random_choice(random);
    choice.type = "f32";
    compare_ways(choice, Way::other_functions, NumericsClass::strict, random, round % 2 == 0, counts);
    if (HasFatalFailure()) return;
    if (choice.scores == 1) continue;
    const Program program = parsed_gather(choice, Way::as_written);
    const auto bounds =
        ir::evaluate(ir::bound_program(program, NumericsClass::strict), gather_inputs(program, random, true));
    ASSERT_TRUE(bounds);
    for (const TensorData& bound : bounds->tensors)
      for (int64_t i = 0; i < bound.elements(); ++i)
        ASSERT_EQ(bound.at(i).f, 0) << program_text(choice, Way::as_written);
  }
  EXPECT_GT(counts.differ, 100);
}

/// A product of zero with what an unsure index reads may be anything: also zero times infinity.
TEST(GatherBounds, are_infinite_where_an_unsure_element_is_compared) {
  const auto parsed = lang::parse(
      "program p()\nin x: f32[2]\nin W: f32[2]\nlet c = argmax[e: 2] x[e] * 1.1\n"
      "out n: i64 = select(x[1] * 0.0 * W[clamp(c, 0, 1)] <= 1.0, 1, 0)\n",
      "zero");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Program program = normalize(parsed->programs.at(0));
  TensorData x = make_tensor(ElementType::f32, {2}), w = x;
  for (int64_t i = 0; i < 2; ++i) x.set(i, {ElementType::f32, 3, 0});
  w.set(1, {ElementType::f32, INFINITY, 0});
  const auto bounds = ir::evaluate(ir::bound_program(program), {x, w});
  ASSERT_TRUE(bounds);
  EXPECT_GT(bounds->tensors[0].at(0).f, 0);
}

}  // namespace
}  // namespace polyweft
