// Passes of code generation over nests: what they make of small ones, and that it computes the same terms.
// Random pairs are compared behind every pass as well (tests/random/judges.cpp).
#include "ir/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/oracles/interpreter.h"

namespace polyweft::ir {
namespace {

LoopNest parsed_nest(const std::string& body, const std::string& loops = "i, j, k, v") {
  const std::string text = "nest 1 test class strict\nloops " + loops +
                           "\n"
                           "buffer X: f32[4, 20] argument align 4 tensor 0 element [$0, $1]\n"
                           "buffer S: f32[4, 20] argument align 4 output tensor 1 element [$0, $1]\n"
                           "arguments X, S\nbody {\n" +
                           body + "\n}\n";
  auto nest = parse_loop_nest(text);
  EXPECT_TRUE(nest) << nest.error().message << "\n" << text;
  return nest ? *nest : LoopNest{};
}

std::vector<TensorData> small_inputs() {
  TensorData x = make_tensor(ElementType::f32, {4, 20});
  for (int64_t e = 0; e < x.elements(); ++e) x.set(e, {ElementType::f32, 1 + static_cast<double>(e * 37 % 11) / 8, 0});
  return {x};
}

/// What the passes make of it, of the same meaning.
std::string behind_passes(const LoopNest& nest, const PassOptions& options = {}, std::string_view last = {}) {
  LoopNest made = run_passes(nest, options, last);
  made.auto_vectorized = false;  // else registers are not allowed
  if (auto ok = verify(made); !ok) ADD_FAILURE() << ok.error().message;
  InterpreterOptions how;
  how.with_tags = true;
  const auto wanted = interpret(nest, small_inputs(), how), got = interpret(made, small_inputs(), how);
  EXPECT_TRUE(wanted) << (wanted ? "" : wanted.error().message);
  EXPECT_TRUE(got) << (got ? "" : got.error().message) << print(made);
  if (wanted && got) {
    EXPECT_EQ(wanted->tensors[0].bytes, got->tensors[0].bytes) << print(made);
    EXPECT_EQ(wanted->written, got->written) << print(made);
    EXPECT_EQ(wanted->tags, got->tags) << print(made);
  }
  return print(made);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kPrefixSum =
    "for i in 0 .. 4 { for j in 0 .. 20 { if j - 1 >= 0 { compute 0(i, j) store: S[i, j] <- (S[i, j - 1] + X[i, j]) } "
    "else { compute 1(i, j) store: S[i, j] <- X[i, j] } } }";

TEST(Passes, loops_are_split_where_a_condition_changes) {
  const std::string text = behind_passes(parsed_nest(kPrefixSum), {}, "split_loops");
  EXPECT_TRUE(has(text, "for j in 1 .. 20")) << text;
  EXPECT_TRUE(has(text, "store: S[i, 0] <- X[i, 0]")) << text;
}

TEST(Passes, an_element_of_the_iteration_before_stays_in_a_register) {
  const std::string text = behind_passes(parsed_nest(kPrefixSum));
  EXPECT_TRUE(has(text, "buffer S.c: f32[2] reg")) << text;
  EXPECT_TRUE(has(text, "store: S.c[0] <- (S.c[1] + X[i, j])")) << text;
  EXPECT_TRUE(has(text, "copy S[i, j] <- S.c[0]")) << text;
}

TEST(Passes, elements_of_two_iterations_before_go_through_two_registers) {
  const std::string text =
      behind_passes(parsed_nest("for i in 0 .. 4 { for j in 0 .. 20 { if j - 2 >= 0 { compute 0(i, j) store: S[i, j] "
                                "<- (S[i, j - 2] - X[i, j]) } "
                                "else { compute 1(i, j) store: S[i, j] <- X[i, j] } } }"));
  EXPECT_TRUE(has(text, "buffer S.c: f32[3] reg")) << text;
  EXPECT_TRUE(has(text, "copy S.c[2] <- S.c[1]")) << text;
}

// W keeps a window of elements; one statement reads it in front of the store, one behind.
LoopNest window_nest(int64_t window, int64_t in_front, int64_t behind) {
  const auto earlier = [](int64_t steps, const char* row) {
    const std::string n = std::to_string(steps);
    return "guarded(j - " + n + " >= 0; W[j - " + n + "], X[" + row + ", j])";
  };
  const std::string text =
      "nest 1 test class strict\nloops j\n"
      "buffer X: f32[4, 20] argument align 4 tensor 0 element [$0, $1]\n"
      "buffer W: f32[20] heap fold 0 mod " +
      std::to_string(window) +
      " align 64 tensor 2 element [$0]\n"
      "buffer S: f32[4, 20] argument align 4 output tensor 1 element [$0, $1]\n"
      "arguments X, S\nbody {\nalloc W { for j in 0 .. 20 {\ncompute 0(j) store: W[j] <- (" +
      earlier(in_front, "1") + " - X[0, j])\ncompute 1(j) store: S[0, j] <- (W[j] + " + earlier(behind, "2") +
      ")\n} }\n}\n";
  auto nest = parse_loop_nest(text);
  EXPECT_TRUE(nest) << nest.error().message << "\n" << text;
  return nest ? *nest : LoopNest{};
}

TEST(Passes, elements_of_a_window_stay_in_registers_until_they_are_overwritten) {
  for (int64_t window = 1; window <= 4; ++window)
    for (int64_t in_front = 1; in_front <= 4; ++in_front)
      for (int64_t behind = 1; behind <= 4; ++behind)
        for (const bool by_compiler : {false, true}) {
          SCOPED_TRACE(std::to_string(window) + ", " + std::to_string(in_front) + ", " + std::to_string(behind));
          LoopNest nest = window_nest(window, in_front, behind);
          nest.auto_vectorized = by_compiler;
          const std::string text = behind_passes(nest);
          // The oldest element may be read in front of the store alone.
          const int64_t oldest = std::min<int64_t>(3, behind == window ? window - 1 : window);
          EXPECT_EQ(has(text, "W.c"), in_front <= oldest || behind <= oldest) << text;
          if (in_front <= oldest && behind <= oldest)
            EXPECT_FALSE(has(text.substr(text.rfind("for j")), "; W[")) << text;
        }
}

TEST(Passes, the_first_iteration_reads_only_what_it_may) {
  // The element before the first is outside of S, the one before that as well; a condition keeps both from being read.
  const std::string text =
      behind_passes(parsed_nest("for i in 0 .. 4 { for j in 0 .. 20 { compute 0(i, j) store: S[i, j] <- (X[i, j] + "
                                "guarded(all(j - 2 >= 0, i - 1 >= 0); S[i, j - 2], X[i, j])) } }"));
  EXPECT_TRUE(has(text, "S.c")) << text;
}

TEST(Passes, a_loop_of_no_iterations_touches_nothing) {
  behind_passes(
      parsed_nest("for i in 0 .. 4 { for k in 0 .. 20 { compute 1(i, k) store: S[i, k] <- X[i, k] } "
                  "for j in 7*i + 1 .. 20 { compute 0(i, j) store: S[i, j] <- (S[i, j - 1] + X[i, j]) } }"));
}

TEST(Passes, a_sum_whose_cells_are_memory_stays_in_registers) {
  const std::string text = behind_passes(parsed_nest(
      "for i in 0 .. 4 { for j in 0 .. 16 { compute 0(i, j) init sum: S[i, j] } for k in 0 .. 5 { for v in 0 .. 16 "
      "vector 16 { compute 0(i, v, k) accumulate sum: S[i, v] <- (X[i, k] * X[i, v]) } } }"));
  EXPECT_TRUE(has(text, "buffer S.c: f32[16] reg")) << text;
  EXPECT_TRUE(has(text, "accumulate sum: S.c[")) << text;
}

TEST(Passes, an_element_that_somebody_else_stores_stays_in_memory) {
  const std::string text =
      behind_passes(parsed_nest("for i in 0 .. 4 { compute 1(i, 0) store: S[i, 0] <- X[i, 0] for j in 1 .. 20 { "
                                "compute 0(i, j) store: S[i, j] <- (S[i, j - 1] + "
                                "X[i, j]) compute 2(i, j) store: S[i, 19] <- X[i, j] } }"));
  EXPECT_FALSE(has(text, " reg ")) << text;
}

TEST(Passes, too_many_values_stay_in_memory) {
  PassOptions options;
  options.scalars.carried_values = 0;
  options.scalars.promoted_cells = 0;
  EXPECT_FALSE(has(behind_passes(parsed_nest(kPrefixSum), options), " reg "));
}

TEST(Passes, scans_keep_their_form) {
  PassOptions options;
  options.scalars.vector_bits = 128;
  const std::string body =
      "for i in 0 .. 4 { compute 1(i, 0) store: S[i, 0] <- X[i, 0] for j in 1 .. 20 { compute 0(i, j) store: S[i, j] "
      "<- max(S[i, j - 1], X[i, j]) } }";
  EXPECT_FALSE(has(behind_passes(parsed_nest(body), options), " reg "));
  options.scalars.vector_bits = 2048;  // too long for two vectors
  EXPECT_TRUE(has(behind_passes(parsed_nest(body), options), " reg "));
}

// A row's sum and, of two rows, what lies two elements before; the sizes are open.
constexpr const char* kSymbolicSums =
    "nest 1 sums class strict\n"
    "param R = 4\nparam N = 20\nsymbolic\nassume R >= 0\nassume N >= 0\n"
    "loops i, j\n"
    "buffer X: f32[R, N] argument align 4 tensor 0 element [$0, $1]\n"
    "buffer S: f32[R, N] argument align 4 output tensor 1 element [$0, $1]\n"
    "arguments X, S\nbody {\n"
    "for i in 0 .. R { for j in 0 .. N { if j - 1 >= 0 { compute 0(i, j) store: S[i, j] <- (S[i, j - 1] + X[i, j]) } "
    "else { compute 1(i, j) store: S[i, j] <- X[i, j] } } }\n}\n";

TEST(Passes, sizes_may_be_open) {
  const auto nest = parse_loop_nest(kSymbolicSums);
  ASSERT_TRUE(nest) << nest.error().message;
  const std::string split = print(run_passes(*nest, {}, "split_loops"));
  EXPECT_TRUE(has(split, "for j@3 in 1 .. N")) << split;
  const LoopNest made = run_passes(*nest, {});
  ASSERT_TRUE(verify(made)) << print(made);
  EXPECT_TRUE(has(print(made), "store: S.c[0] <- (S.c[1] + X[i, j@3])")) << print(made);
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {3, 1}, {2, 2}, {2, 7}, {4, 20}}) {
    const auto before = specialize(*nest, sizes), after = specialize(made, sizes);
    ASSERT_TRUE(before && after);
    TensorData x = make_tensor(ElementType::f32, sizes);
    for (int64_t e = 0; e < x.elements(); ++e)
      x.set(e, {ElementType::f32, 1 + static_cast<double>(e * 37 % 11) / 8, 0});
    InterpreterOptions how;
    how.with_tags = true;
    const auto wanted = interpret(*before, {x}, how), got = interpret(*after, {x}, how);
    ASSERT_TRUE(wanted && got) << (got ? wanted : got).error().message << print(*after);
    EXPECT_EQ(wanted->tensors[0].bytes, got->tensors[0].bytes) << print(*after);
    EXPECT_EQ(wanted->tags, got->tags) << print(*after);
  }
}

}  // namespace
}  // namespace polyweft::ir
