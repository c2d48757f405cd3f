// Programs built from C++ print as the same text as those parsed, and are refused where the parser refuses.
#include "polyweft/dsl.h"

#include <gtest/gtest.h>

#include <limits>

#include "lang/corpus.h"
#include "lang/parser.h"
#include "lang/program_equality.h"

namespace polyweft {
namespace {

using namespace dsl;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_same_as_corpus(const ProgramBuilder& builder, const std::string& name) {
  auto built = builder.build();
  ASSERT_TRUE(built.ok()) << built.error().message << "\n" << builder.text();
  auto parsed = lang::parse(lang_test::read_file(PW_SOURCE_DIR "/tests/lang/programs/" + name + ".weft"), name);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(print(*built), print(parsed->programs[0])) << builder.text();
  EXPECT_EQ(lang_test::difference(*built, parsed->programs[0]), "");
}

TEST(dsl, gemm_with_ranges_from_shapes) {
  ProgramBuilder p("gemm");
  Param M = p.param("M", 1024), N = p.param("N", 1024), K = p.param("K", 1024);
  TensorRef A = p.input("A", ElementType::f32, {M, K}), B = p.input("B", ElementType::f32, {K, N});
  TensorRef C = p.output("C", {M, N});
  Index i, j, k;
  C(i, j) = sum(k, A(i, k) * B(k, j));
  EXPECT_EQ(p.text(),
            "program gemm(M = 1024, N = 1024, K = 1024)\nin A: f32[M, K]\nin B: f32[K, N]\n"
            "out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
  expect_same_as_corpus(p, "gemm");
}

TEST(dsl, conv_padded_with_guards) {
  ProgramBuilder p("conv_padded");
  Param H = p.param("H", 16), W = p.param("W", 16), C = p.param("C", 4), F = p.param("F", 4);
  TensorRef X = p.input("X", ElementType::f32, {H, W, C}), K = p.input("K", ElementType::f32, {3, 3, C, F});
  TensorRef P = p.let("P"), Y = p.output("Y");
  Index y("y"), x("x"), c("c"), f("f"), r("r"), s("s");
  P(y.in(H + 2), x.in(W + 2), c.in(C)) = where(1 <= y && y <= H && 1 <= x && x <= W, X(y - 1, x - 1, c)).otherwise(0);
  Y(y.in(H), x.in(W), f.in(F)) = sum({r.in(3), s.in(3), c.in(C)}, P(y + r, x + s, c) * K(r, s, c, f));
  expect_same_as_corpus(p, "conv_padded");
}

TEST(dsl, heat1d_with_several_equations_and_a_domain_guard) {
  ProgramBuilder p("heat1d");
  Param T = p.param("T", 50), N = p.param("N", 100);
  TensorRef A0 = p.input("A0", ElementType::f64, {N});
  TensorRef A = p.let("A"), R = p.output("R");
  Index t("t"), i("i");
  A(0, i.in(N)) = A0(i);
  A(t.in(1, T + 1), i.in(1, N - 1)) = 0.125 * (A(t - 1, i - 1) - 2.0 * A(t - 1, i) + A(t - 1, i + 1)) + A(t - 1, i);
  A(t.in(1, T + 1), i.in(N)).where(i == 0 || i == N - 1) = A(t - 1, i);
  R(i.in(N)) = A(T, i);
  expect_same_as_corpus(p, "heat1d");
}

TEST(dsl, cholesky_with_diagonal_slots) {
  ProgramBuilder p("cholesky");
  Param N = p.param("N", 120);
  TensorRef A = p.input("A", ElementType::f64, {N, N});
  TensorRef L = p.let("L"), R = p.partial_output("R");
  Index i("i"), j("j"), k("k");
  L(j.in(N), j) = dsl::sqrt(A(j, j) - sum(k.in(0, j), L(j, k) * L(j, k)));
  L(i.in(N), j.in(0, i)) = (A(i, j) - sum(k.in(0, j), L(i, k) * L(j, k))) / L(j, j);
  R(i.in(N), j.in(0, i + 1)) = L(i, j);
  expect_same_as_corpus(p, "cholesky");
}

TEST(dsl, gathers_need_a_promise) {
  ProgramBuilder p("embedding_bag");
  Param B = p.param("B", 8), L = p.param("L", 4), V = p.param("V", 100), D = p.param("D", 16);
  InputOptions promise;
  promise.values = {V};
  TensorRef idx = p.input("idx", ElementType::i32, {B, L}, promise), E = p.input("E", ElementType::f32, {V, D});
  TensorRef Y = p.output("Y", {B, D});
  Index b("b"), d("d"), l("l");
  Y(b, d) = sum(l, E(idx(b, l), d));
  expect_same_as_corpus(p, "embedding_bag");
}

TEST(dsl, combiner_with_tuples) {
  ProgramBuilder p("logsumexp");
  Param M = p.param("M", 16), N = p.param("N", 64);
  TensorRef X = p.input("X", ElementType::f32, {M, N});
  CombinerOptions options;
  options.types = {ElementType::f32, ElementType::f32};
  options.identity = {-kInfinity, 0};
  options.associative = options.commutative = true;
  CombinerHandle online = p.combine("online", options, [](const std::vector<Value>& l, const std::vector<Value>& r) {
    Value top = dsl::max(l[0], r[0]);
    return std::vector<Value>{top, select(l[0] == -kInfinity, 0, l[1] * dsl::exp(l[0] - top)) +
                                       select(r[0] == -kInfinity, 0, r[1] * dsl::exp(r[0] - top))};
  });
  TensorRef m = p.let("m", {M}), s = p.let("s", {M}), Y = p.output("Y", {M});
  Index i("i"), j("j");
  p.define({m(i), s(i)}, reduce(online, j, {X(i, j), 1}));
  Y(i) = m(i) + dsl::log(s(i));
  auto built = p.build();
  ASSERT_TRUE(built.ok()) << built.error().message << "\n" << p.text();
  EXPECT_EQ(built->combiners.size(), 1U);
  EXPECT_NE(p.text().find("let (m, s)[i: M] = reduce online[j: N] (X[i, j], 1)\n"), std::string::npos) << p.text();
}

TEST(dsl, constants_conversions_and_operators) {
  ProgramBuilder p("ops");
  Param N = p.param("N", 8);
  p.assume(N >= 4);
  TensorRef X = p.input("X", ElementType::i32, {N});
  TensorRef w = p.constant("w", ElementType::f32, {2}, {0.1, -2});
  TensorRef Y = p.output("Y", {N}, ElementType::f32);
  Index i("i"), k("k");
  Y(i) = f32((X(i) & 3) + (X(i) >> 1)) * w(0) - (w(1) - f32(X(i) % 5)) -
         sum(ReductionIndices(k.in(2)).where(k != i), w(k));
  EXPECT_EQ(p.text(),
            "program ops(N = 8) assume N >= 4\nin X: i32[N]\nconst w: f32[2] = [0.1, -2.0]\n"
            "out Y[i: N]: f32 = f32((X[i] & 3) + (X[i] >> 1)) * w[0] - (w[1] - f32(X[i] % 5)) - sum[k: 2 where k != i] "
            "w[k]\n");
  auto built = p.build();
  ASSERT_TRUE(built.ok()) << built.error().message;
}

TEST(dsl, misuse_is_an_error_of_build) {
  ProgramBuilder bad_name("p");
  bad_name.param("N = 1)\nout x", 4);
  EXPECT_EQ(bad_name.build().error().code, "PW0150");
  ProgramBuilder no_range("p");
  TensorRef Y = no_range.output("Y");
  Index i;
  Y(i) = 1.0;
  EXPECT_EQ(no_range.build().error().message,
            "p: slot 0 of Y: the index has no range; write i.in(N), or give the tensor a shape");
}

TEST(dsl, shared_and_deep_expressions_end_at_the_limit_of_a_text) {
  constexpr int kDoublings = 60, kTerms = 400'000;
  for (const bool is_shared : {true, false}) {
    ProgramBuilder p("p");
    Param N = p.param("N", 4);
    TensorRef A = p.input("A", ElementType::f64, {N}), Y = p.output("Y", {N});
    Index i("i"), k;
    Value value = A(i);
    for (int n = 0; n < (is_shared ? kDoublings : kTerms); ++n) value = is_shared ? value + value : value + A(i);
    Y(i) = sum(k, value);
    EXPECT_EQ(p.build().error().code, "PW0150");
    Y(i) = value;
    EXPECT_EQ(p.build().error().code, "PW0150");
  }
}

TEST(dsl, what_the_parser_refuses_is_refused) {
  ProgramBuilder p("p");
  Param N = p.param("N", 4);
  TensorRef A = p.input("A", ElementType::f16, {N}), B = p.input("B", ElementType::f32, {N}), Y = p.output("Y", {N});
  Index i("i");
  Y(i) = A(i) * B(i);
  auto built = p.build();
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().message, "f16 * f32: convert one side, e.g. f32(A[i])");
}

}  // namespace
}  // namespace polyweft
