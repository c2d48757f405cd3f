// Sums over triangles: tiles that the diagonal crosses are classes of their own, loops of sums are divided where all
// rows take part, and what only a fused reader needs lives in a buffer of its iteration.
#include <regex>

#include "harness.h"

namespace polyweft::test {
namespace {

struct Triangle {
  const char* what;
  std::string program, trace;
};

std::string tiles(const std::string& height, const std::string& width) {
  return "trace 1\n tile C.1 [i: " + height + ", j: " + width +
         "]\n permute C.1 [i.1, j.1, k, i, j]\n accumulate C.1 at j.1 reg\n unroll C.1 i\n vectorize C.1 j 4\n";
}
constexpr const char* kFused = " fuse C into C.1 at j.1\n unroll C i\n vectorize C j 4\n unroll C j\n";

const Triangle kTriangles[] = {
    {"lower",
     "program p(N = 29, M = 5)\nin A: f32[N, M]\nin D: f32[N, N]\nout partial C[i: N, j: 0..i+1] = D[i, j] + sum[k: M] "
     "A[i, k] * A[j, k]\n",
     tiles("4", "8")},
    {"upper",
     "program p(N = 29, M = 5)\nin A: f32[N, M]\nin D: f32[N, N]\nout partial C[i: N, j: i..N] = D[i, j] + sum[k: M] "
     "A[i, k] * A[j, k]\n",
     tiles("6", "4")},
    {"more classes than copies",
     "program p(N = 29, M = 5)\nin A: f32[N, M]\nin D: f32[N, N]\nout partial C[i: N, j: i..N] = D[i, j] + sum[k: M] "
     "A[i, k] * A[j, k]\n",
     tiles("9", "16")},
    {"rows that begin late",
     "program p(N = 23, M = 17)\nin A: f32[M, M]\nin B: f32[M, N]\nout C[i: M, j: N] = B[i, j] + sum[k: i+1..M] A[k, "
     "i] * B[k, j]\n",
     tiles("4", "8")},
    {"rows that end soon",
     "program p(N = 23, M = 17)\nin A: f32[M, M]\nin B: f32[M, N]\nout C[i: M, j: N] = B[i, j] + sum[k: 0..i+1] A[i, "
     "k] * B[k, j]\n",
     tiles("5", "4")},
    {"two products",
     "program p(N = 13, M = 5)\nin A: f32[N, M]\nin B: f32[N, M]\nout partial C[i: N, j: 0..i+1] = 2.0 * sum[k: M] "
     "(A[i, k] * B[j, k] + A[j, k] * B[i, k])\n",
     tiles("4", "8")},
};

TEST(Triangles, are_right_whole_and_with_their_readers_in_the_tile) {
  for (const Triangle& triangle : kTriangles) {
    const Program program = normalized_program(triangle.program);
    for (const std::string& trace : {triangle.trace, triangle.trace + kFused}) {
      auto nest = nest_of(program, trace);
      ASSERT_TRUE(nest.ok()) << triangle.what << ": " << described(nest.error());
      EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << triangle.what << "\n" << print(*nest);
    }
  }
}

std::string text_of(const Triangle& triangle, const std::string& more = "") {
  return print(*nest_of(normalized_program(triangle.program), triangle.trace + more));
}

// 4 rows and 8 columns meet the diagonal in three ways: whole, three classes, and no test inside the sum.
TEST(Triangles, test_once_a_tile) {
  const std::string text = text_of(kTriangles[0]);
  EXPECT_TRUE(std::regex_search(text, std::regex("if [^\n]*== 0"))) << text;
  EXPECT_FALSE(std::regex_search(text, std::regex("for k[^\n]*\n *if "))) << text;
}

TEST(Triangles, write_out_what_only_some_rows_need) {
  EXPECT_TRUE(std::regex_search(text_of(kTriangles[3]), std::regex("for k[^\n]* in 0 .. 3 unroll")))
      << text_of(kTriangles[3]);
  EXPECT_TRUE(std::regex_search(text_of(kTriangles[4]), std::regex("for k[^\n]* in 0 .. 4 unroll")))
      << text_of(kTriangles[4]);
}

TEST(Triangles, keep_what_only_a_fused_reader_needs_in_the_tile) {
  for (const Triangle& triangle : kTriangles) {
    EXPECT_NE(text_of(triangle).find("buffer C.1: f32["), std::string::npos) << triangle.what;
    const std::string text = text_of(triangle, kFused);
    EXPECT_EQ(text.find("buffer C.1: f32["), std::string::npos) << text;
    EXPECT_NE(text.find("buffer C.1.l"), std::string::npos) << text;
  }
}

// A attached stage without the host's conditions would lose the points that the host's tiles skip.
TEST(Triangles, refuse_attached_stages_on_more_points) {
  const Program program = normalized_program(
      "program p(N = 29)\nin A: f32[N]\nlet S[i: N, j: 0..i+1] = A[i] * A[j]\nout C[i: N, j: N] = A[j] + (S[i, j] "
      "where j <= i else 0)\n");
  auto nest = nest_of(program, "trace 1\n fuse C into S at j\n");
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().code, "PW0314");
}

TEST(SumsOfProducts, are_folded_one_by_one_in_class_reassoc) {
  const Program program = normalized_program(kTriangles[5].program);
  for (const auto cls : {NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict}) {
    auto t = schedules::base_template(program, cls);
    ASSERT_TRUE(t.ok());
    auto nest = instantiate(*t, {});
    ASSERT_TRUE(nest.ok());
    EXPECT_EQ(print(*nest).find("accumulate sum fused") != std::string::npos, cls == NumericsClass::reassoc);
  }
}

}  // namespace
}  // namespace polyweft::test
