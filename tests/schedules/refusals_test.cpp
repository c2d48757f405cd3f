// What a step refuses, with its code; where a dependence is the reason, the two instances it names are confirmed by
// enumeration.
#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "harness.h"
#include "schedules/queries.h"

namespace polyweft::test {
namespace {

const char* kConv =
    "program conv(H = 4, C = 3, F = 2)\nin X: f32[H + 2, C]\nin W: f32[3, C, F]\n"
    "out Y[x: H, f: F] = sum[r: 3, c: C] X[x + r, c] * W[r, c, f]\n";
const char* kRows =
    "program rows(M = 4, N = 5)\nin X: f32[M, N]\nlet s[i: M] = sum[j: N] X[i, j]\nlet e[i: M, j: N] = X[i, j] - s[i]\n"
    "out Y[i: M, j: N] = e[i, j] * s[i]\n";
const char* kNone =
    "program none(M = 4, N = 0) assume N >= 0\nin X: f32[M, N]\nout Y[i: M, j: N] = X[i, j]\nout s[i: M] = min[j: N] "
    "X[i, j]\n";
const char* kStencil =
    "program stencil(N = 6)\nin X: f32[N + 1]\nlet P[x: N + 1] = X[x] * X[x]\nout Y[x: N] = P[x] + P[x + 1]\nout Z[x: "
    "N] = Y[x] - Y[N - 1 - x]\n";

const char* kWindow =
    "program window(H = 5, W = 4)\nin X: f32[H + 2, W + 2]\nlet A[y: H + 2, x: W + 2] = X[y, x] * 2\nout Y[y: H, x: W] "
    "= A[y, x] + A[y + 2, x]\n";
const char* kUpwards =
    "program upwards(H = 5)\nin X: f32[H + 2]\nlet A[y: H + 2] = X[y] * 2\nout Y[y: H] = A[H - 1 - y] + A[H + 1 - y]\n";
const char* kDiagonal =
    "program diagonal(H = 5)\nin X: f32[H + 2, H + 2]\nlet A[y: H + 2, x: H + 2] = X[y, x] * 2\nout Y[y: H] = A[y, y] "
    "+ A[y + 2, y + 2]\n";
const char* kSpeeds =
    "program speeds(H = 5)\nin X: f32[2 * H]\nlet A[y: 2 * H] = X[y] * 2\nout Y[y: H] = A[y] + A[2 * y]\n";
const char* kHalves = "program halves(H = 6)\nin X: f32[H]\nlet A[y: H] = X[y] * 2\nout Y[y: 2 * H] = A[y // 2] * 3\n";
const char* kSingle =
    "program single(N = 5)\nin X: f32[1, N]\nin w: f32\nlet c: f32 = w * w\nout Y[i: 1, j: N] = X[i, j] * c\n";
const char* kFixed = "program fixed(H = 5)\nin X: f32[3]\nlet A[r: 3] = X[r] * 2\nout Y[y: H] = A[0] + A[2]\n";

struct Refusal {
  const char* program;
  NumericsClass cls;
  const char* steps;
  const char* code;
};

const Refusal kRefusals[] = {
    {gemm_text(), NumericsClass::reassoc, "tile D [i: 4]", "PW0302"},
    {gemm_text(), NumericsClass::reassoc, "tile C [q: 4]", "PW0303"},
    {gemm_text(), NumericsClass::reassoc, "tile C [i: 0]", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "permute C [i, i]", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "tile C [i: 4]\n permute C [i, i.1]", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "parallel C k", "PW0306"},
    {gemm_text(), NumericsClass::reassoc, "parallel C i\n parallel C j", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "parallel C k in 2", "PW0306"},
    {gemm_text(), NumericsClass::reassoc, "parallel C q in 2", "PW0303"},
    {gemm_text(), NumericsClass::reassoc, "parallel C i in 2\n parallel C j in 2", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "split C j at 1\n parallel C j in 2", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "bind C k to thread_x", "PW0306"},
    {gemm_text(), NumericsClass::reassoc, "accumulate C at i stack\n bind C j to block_x", "PW0306"},
    {gemm_text(), NumericsClass::reassoc, "bind C i to thread_w", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "bind C i to thread_x\n bind C j to thread_x", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "bind C i to thread_x\n bind C i to thread_y", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "bind C i to thread_x\n bind C j to block_x", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "bind C i to block_x\n parallel C j", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "parallel C j\n bind C i to block_x", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 8\n bind C j.v to thread_y", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 8\n autovectorize", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "accumulate C at j reg\n autovectorize", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "bind C i to block_x\n autovectorize", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "autovectorize\n tile C [i: 4]", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "tile C [i: 4]\n batch 8", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "batch 8\n tile C [i: 4]", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "batch 8\n autovectorize", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "batch 6", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "batch 1", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "batch 128", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "batch 8 in 2000", "PW0304"},
    {"program p(B = 3, M = 2)\nin A: f32[B, M]\nout T[b: B, j: M] = 2.0 * A[b, j]\n", NumericsClass::reassoc, "batch 4",
     "PW0304"},
    {"program p(B = 9)\nin A: f32[B]\nlet s = sum[b: B] A[b]\nout T[b: B] = s * A[b]\n", NumericsClass::reassoc,
     "batch 16", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C k 8", "PW0307"},
    {gemm_text(), NumericsClass::strict, "accumulate C at j reg\n vectorize C k 8", "PW0307"},
    {gemm_text(), NumericsClass::contract, "accumulate C at j reg\n vectorize C k 8", "PW0307"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 8\n vectorize C i 8", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 129", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "tile C [i: 4]\n unroll C i.1", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "promote C in C at i heap", "PW0308"},
    {"program p(N = 2, M = 2)\nout T[i: N, j: M]: f32 = T[i - 1, j] where i > 0 else 0.0\n", NumericsClass::reassoc,
     "promote T in T at root stack", "PW0309"},
    {gemm_text(), NumericsClass::reassoc, "promote B at i heap layout [d1, d1]", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "promote B at i reg", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "promote B at i heap vectors 4", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "promote B at i heap\n promote B at j heap", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "permute C [k, i, j]\n accumulate C at j reg", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "inline C", "PW0308"},
    {kConv, NumericsClass::strict, "permute Y [c, r]", "PW0305"},
    {kConv, NumericsClass::strict, "tile Y [c: 7]\n split Y c.1 at 1", "PW0305"},
    {kConv, NumericsClass::contract, "tile Y [c: 2]", "PW0305"},
    {kRows, NumericsClass::reassoc, "accumulate e at i reg", "PW0308"},
    {kRows, NumericsClass::reassoc, "compute_at s in Y at i heap", "PW0314"},
    {kRows, NumericsClass::reassoc, "compute_at Y in e at i heap", "PW0308"},
    {kRows, NumericsClass::reassoc, "promote e in Y at i heap\n compute_at e in Y at j heap", "PW0304"},
    {kRows, NumericsClass::reassoc, "inline s", "PW0308"},
    {kRows, NumericsClass::reassoc, "distribute e", "PW0304"},
    {kRows, NumericsClass::reassoc, "fuse e into s at j", "PW0305"},
    {kRows, NumericsClass::reassoc, "fuse s into e at i", "PW0314"},
    {kRows, NumericsClass::reassoc, "accumulate s at root stack\n fuse Y into s at i", "PW0314"},
    {kNone, NumericsClass::reassoc, "fuse s into Y at i", "PW0314"},
    {gemm_text(), NumericsClass::reassoc, "split C k at 0", "PW0303"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 4\n stream C", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "prefetch A in C along i by 2", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 4\n prefetch B in C along i by 2", "PW0308"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 4\n prefetch Q in C along i by 2", "PW0302"},
    {gemm_text(), NumericsClass::reassoc, "vectorize C j 4\n prefetch B in C along q by 2", "PW0303"},
    {kRows, NumericsClass::reassoc, "vectorize e j 4\n stream e", "PW0308"},
    {kRows, NumericsClass::reassoc, "stream Y", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "tile C [k: 4]\n split C k at 1", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "unroll C k\n split C k at 1", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "split C k at 1\n unroll C k", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "split C j at 1\n vectorize C j 4", "PW0304"},
    {gemm_text(), NumericsClass::reassoc, "split C k at 1\n tile C [k: 4]", "PW0304"},
    {kStencil, NumericsClass::reassoc, "fuse Z into Y at x", "PW0305"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at root heap slide", "PW0304"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at y reg slide", "PW0304"},
    {kWindow, NumericsClass::reassoc, "parallel Y y\n compute_at A in Y at y heap slide", "PW0306"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at y heap slide\n parallel Y y", "PW0306"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at y heap slide\n bind Y y to block_x", "PW0306"},
    {kWindow, NumericsClass::reassoc, "tile Y [y: 2]\n compute_at A in Y at y heap slide\n unroll Y y", "PW0304"},
    {kWindow, NumericsClass::reassoc, "split Y y at 2\n compute_at A in Y at y heap slide", "PW0304"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at y heap slide\n split Y y at 2", "PW0304"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at x heap slide\n permute Y [x, y]", "PW0304"},
    {kWindow, NumericsClass::reassoc, "compute_at A in Y at y heap slide\n permute Y [x, y]", "PW0304"},
    {kConv, NumericsClass::reassoc, "compute_at Y in Y at r heap slide", "PW0304"},
    {kUpwards, NumericsClass::reassoc, "compute_at A in Y at y heap slide", "PW0315"},
    {kDiagonal, NumericsClass::reassoc, "compute_at A in Y at y heap slide", "PW0315"},
    {kSpeeds, NumericsClass::reassoc, "compute_at A in Y at y heap slide", "PW0315"},
    {kHalves, NumericsClass::reassoc, "compute_at A in Y at y heap slide", "PW0315"},
    {kFixed, NumericsClass::reassoc, "compute_at A in Y at y heap slide", "PW0315"},
    {kSingle, NumericsClass::reassoc, "compute_at c in Y at i heap slide", "PW0315"},
    {kSingle, NumericsClass::reassoc, "compute_at c in Y at j heap slide", "PW0315"},
};

TEST(Refusals, have_their_codes) {
  for (const Refusal& refusal : kRefusals) {
    Program program = normalized_program(refusal.program);
    auto nest = nest_of(program, std::string("trace 1\n ") + refusal.steps + "\n", refusal.cls);
    ASSERT_FALSE(nest.ok()) << refusal.steps;
    EXPECT_EQ(nest.error().code, refusal.code) << refusal.steps << "\n" << described(nest.error());
  }
}

/// "Y[x=0, f=1]" to its numbers, for every instance in a text.
std::vector<std::vector<int64_t>> instances_in(const std::string& text) {
  std::vector<std::vector<int64_t>> out;
  std::regex instance("\\w+\\[((?:\\w+=-?\\d+(?:, )?)+)\\]"), value("=(-?\\d+)");
  for (std::sregex_iterator it(text.begin(), text.end(), instance), end; it != end; ++it) {
    std::string inside = (*it)[1];
    out.emplace_back();
    for (std::sregex_iterator v(inside.begin(), inside.end(), value); v != end; ++v)
      out.back().push_back(std::stoll((*v)[1]));
  }
  return out;
}

/// Order in which a nest of loops over `order` (indices, outermost first) meets two points.
bool comes_before(const std::vector<int64_t>& a, const std::vector<int64_t>& b, const std::vector<size_t>& order) {
  for (size_t k : order)
    if (a[k] != b[k]) return a[k] < b[k];
  return false;
}

TEST(Refusals, a_reversed_reduction_names_two_folds_that_change_places) {
  Program program = normalized_program(kConv);
  auto t = schedules::base_template(program, NumericsClass::strict);
  ASSERT_TRUE(t.ok());
  auto refused = schedules::permute(*t, PermuteStep{"Y", {"c", "r"}});
  ASSERT_FALSE(refused.ok());
  auto pair = instances_in(refused.error().notes.at(0));
  ASSERT_EQ(pair.size(), 2u) << refused.error().notes.at(0);
  for (const auto& point : pair) EXPECT_TRUE(schedules::contains(*t, t->stages[0], point));
  EXPECT_EQ(std::vector<int64_t>(pair[0].begin(), pair[0].begin() + 2),
            std::vector<int64_t>(pair[1].begin(), pair[1].begin() + 2));
  EXPECT_TRUE(comes_before(pair[0], pair[1], {0, 1, 2, 3}));
  EXPECT_TRUE(comes_before(pair[1], pair[0], {0, 1, 3, 2}));
}

/// The elements that an instance of one statement reads of a tensor, by enumeration of its accesses.
std::set<std::vector<int64_t>> elements_read(const NestTemplate& t, const Stage& stage, const std::string& tensor,
                                             const std::vector<int64_t>& point) {
  std::set<std::vector<int64_t>> out;
  std::vector<int64_t> values(t.program.parameters.size(), 0);
  values.insert(values.end(), point.begin(), point.end());
  for (TensorId id = 0; id < t.program.tensors.size(); ++id) {
    if (t.program.tensors[id].name != tensor) continue;
    for (const Access& access : schedules::reads_of(t, stage, id)) {
      std::vector<int64_t> element;
      for (const Subscript& s : access.index) element.push_back(evaluate(s.affine, values));
      out.insert(element);
    }
  }
  return out;
}

TEST(Refusals, a_window_that_moves_down_names_an_iteration_that_needs_a_new_first_element) {
  auto t = schedules::base_template(normalized_program(kUpwards), NumericsClass::reassoc);
  ASSERT_TRUE(t.ok());
  auto refused = schedules::apply(*t, ComputeAtStep{"A", "Y", "y", Scope::heap, {}, Sliding{}});
  ASSERT_FALSE(refused.ok());
  auto first = instances_in(refused.error().notes.at(0)), second = instances_in(refused.error().notes.at(1));
  ASSERT_EQ(first.size() + second.size(), 2u) << described(refused.error());
  auto before = elements_read(*t, t->stages[1], "A", first[0]), after = elements_read(*t, t->stages[1], "A", second[0]);
  EXPECT_LT(first[0], second[0]);
  EXPECT_LT(*after.begin(), *before.begin());  // nothing kept reaches so far down
}

TEST(Refusals, a_parallel_loop_with_a_window_names_an_iteration_that_needs_what_the_one_before_computes) {
  auto t = schedules::base_template(
      normalized_program(
          "program w(H = 5)\nin X: f32[H + 2]\nlet A[y: H + 2] = X[y] * 2\nout Y[y: H] = A[y] + A[y + 1] + A[y + 2]\n"),
      NumericsClass::reassoc);
  ASSERT_TRUE(t.ok());
  auto slid = schedules::apply(*t, ComputeAtStep{"A", "Y", "y", Scope::heap, {}, Sliding{}});
  ASSERT_TRUE(slid.ok()) << described(slid.error());
  auto refused = schedules::apply(*slid, ParallelStep{"Y", "y", 0});
  ASSERT_FALSE(refused.ok());
  auto first = instances_in(refused.error().notes.at(0)), second = instances_in(refused.error().notes.at(1));
  ASSERT_EQ(first.size() + second.size(), 2u) << described(refused.error());
  auto before = elements_read(*t, t->stages[1], "A", first[0]), after = elements_read(*t, t->stages[1], "A", second[0]);
  std::vector<std::vector<int64_t>> both;
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(both));
  EXPECT_FALSE(both.empty());
}

TEST(Refusals, a_parallel_reduced_loop_names_two_folds_into_one_element) {
  Program program = normalized_program(gemm_text());
  auto t = schedules::base_template(program, NumericsClass::reassoc);
  ASSERT_TRUE(t.ok());
  auto refused = schedules::parallel(*t, ParallelStep{"C", "k"});
  ASSERT_FALSE(refused.ok());
  auto pair = instances_in(refused.error().notes.at(0));
  ASSERT_EQ(pair.size(), 2u);
  EXPECT_EQ(pair[0][0], pair[1][0]);
  EXPECT_EQ(pair[0][1], pair[1][1]);
  EXPECT_NE(pair[0][2], pair[1][2]);
  for (const auto& point : pair) EXPECT_TRUE(schedules::contains(*t, t->stages[0], point));
}

/// With every point of a small triangle the pair still lies inside the domain.
TEST(Refusals, pairs_lie_inside_triangular_domains) {
  Program program = normalized_program(
      "program tri(M = 5, N = 3)\nin A: f32[M, M]\nin B: f32[M, N]\nout C[i: M, j: N] = sum[k: i+1..M, l: k..M] A[k, "
      "l] * B[l, j]\n");
  auto t = schedules::base_template(program, NumericsClass::strict);
  ASSERT_TRUE(t.ok());
  auto refused = schedules::permute(*t, PermuteStep{"C", {"l", "k"}});
  ASSERT_FALSE(refused.ok());
  auto pair = instances_in(refused.error().notes.at(0));
  ASSERT_EQ(pair.size(), 2u);
  for (const auto& p : pair) EXPECT_TRUE(p[2] > p[0] && p[3] >= p[2] && p[3] < 5) << refused.error().notes.at(0);
  EXPECT_TRUE(comes_before(pair[0], pair[1], {0, 1, 2, 3}) && comes_before(pair[1], pair[0], {0, 1, 3, 2}));
}

TEST(Refusals, a_fusion_names_the_element_of_another_iteration) {
  Program program = normalized_program(kStencil);
  auto nest = nest_of(program, "trace 1\n fuse Z into Y at x\n");
  ASSERT_FALSE(nest.ok());
  EXPECT_NE(nest.error().notes.at(0).find("Z[x=0] reads Y at x=5"), std::string::npos) << described(nest.error());
}

TEST(Refusals, say_which_step_it_was) {
  auto nest = nest_of(normalized_program(gemm_text()), "trace 1\n tile C [i: 4]\n parallel C k\n");
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().notes.back(), "in step: parallel C k");
}

// A triangle that copies the other one, and a diagonal between them, need nothing of themselves.
TEST(Recurrences, are_not_what_reads_another_part_of_its_tensor) {
  const std::string head = "program s(N = 7)\nin X: f32[N]\n";
  const char* texts[] = {
      "out S[i: N, j: i..N] = X[i] * X[j]\nout S[i: N, j: 0..i] = S[j, i]\n",
      "out S[i: N, i] = X[i]\nout S[i: N, j: 0..i] = S[j, i]\nout S[i: N, j: i+1..N] = X[i] * X[j]\n"};
  for (const char* text : texts) {
    Program program = normalized_program(head + text);
    EXPECT_FALSE(schedules::has_recurrence(program)) << text;
    auto nest = nest_of(program, "trace 1\n");
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << text;
  }
  EXPECT_TRUE(schedules::has_recurrence(
      normalized_program(head + "out S[i: N, j: i..N] = X[i] * X[j]\nout S[i: N, j: 0..i]: f32 = S[i, j+1]\n")));
}

TEST(Recurrences, are_left_to_the_base_nest) {
  Program program = normalized_program(
      "program s(N = 5)\nin X: f32[N]\nlet S[0] = X[0]\nlet S[i: 1..N] = S[i-1] + X[i]\nout Y[i: N] = S[i]\n");
  EXPECT_TRUE(schedules::has_recurrence(program));
  EXPECT_EQ(schedules::base_template(program, NumericsClass::reassoc).error().code, "PW0320");
}

}  // namespace
}  // namespace polyweft::test
