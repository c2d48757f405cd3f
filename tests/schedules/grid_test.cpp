// Blocks and threads for programs on machines that have them: proven, the terms of the program in both orders of
// threads; sizes keep the machine's limits; what isl has ordered stays in its order.
#include "schedules/sketches/grid.h"

#include "bands_harness.h"
#include "machines.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

Machine grid_machine() {
  Machine out = machine_with();
  out.levels = {{"device"}, {"block"}, {"thread"}};
  return out;
}

std::vector<NestTemplate> sketched(const Program& program, const Machine& machine = grid_machine()) {
  schedules::Isl isl = isl_for(program);
  if (schedules::has_recurrence(program))
    if (auto base = poly::base_nest(program, NumericsClass::reassoc))
      isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
  auto made = schedules::sketch_templates(program, NumericsClass::reassoc, machine, isl);
  if (!made) ADD_FAILURE() << described(made.error());
  return made ? *std::move(made) : std::vector<NestTemplate>{};
}

Result<NestTemplate> replay_text(const Program& program, const std::string& text) {
  const auto trace = parse_trace(text);
  return trace ? schedules::replay(program, NumericsClass::reassoc, *trace) : Result<NestTemplate>(trace.error());
}

void expect_right_grid(const Program& program, const NestTemplate& t) {
  auto nest = instantiate(t, values_of(t.trace));
  ASSERT_TRUE(nest) << described(nest.error());
  const auto verdict = poly::check_nest(program, *nest);
  EXPECT_EQ(verdict.verdict, Verdict::proven) << verdict.message << "\n" << t.trace.text();
  const auto inputs = ir::seeded_inputs(program, 5, ir::DataKind::integers);
  ir::EvaluateOptions evaluate;
  evaluate.tags = NumericsClass::reassoc;
  const auto wanted = ir::evaluate(program, inputs, evaluate);
  ASSERT_TRUE(wanted) << described(wanted.error());
  for (const bool last_first : {false, true}) {
    ir::InterpreterOptions options;
    options.with_tags = true;
    options.last_thread_first = last_first;
    const auto got = ir::interpret(*nest, inputs, options);
    ASSERT_TRUE(got) << described(got.error());
    EXPECT_EQ(got->tags, wanted->tags) << t.trace.text();
  }
}

TEST(Grid, an_element_a_thread_and_sums_in_registers) {
  const Program program = normalized_program(
      "program p(M = 37, N = 70, K = 9)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
      "B[k, "
      "j]\n");
  const auto found = sketched(program);
  ASSERT_EQ(found.size(), 3u);
  const std::string text = found.back().trace.text();
  for (const char* step :
       {"tile C [i: ty2, j: tx1]", "bind C i.1 to block_y", "bind C j.1 to block_x", "bind C i to thread_y",
        "bind C j to thread_x", "accumulate C at j reg", "require threads3: 1 * tx1 * ty2 <= 256"})
    EXPECT_NE(text.find(step), std::string::npos) << step << "\n" << text;
  expect_right_grid(program, found.back());
}

/// With sizes that its tiles do not divide, and so that blocks of several threads along y have partial tiles.
void expect_right_tiles(const Program& program, const std::vector<const char*>& steps) {
  const auto found = sketched(program);
  ASSERT_GE(found.size(), 2u);
  const std::string text = found[1].trace.text();
  for (const char* step : steps) EXPECT_NE(text.find(step), std::string::npos) << step << "\n" << text;
  for (size_t k = 0; k < 2; ++k) expect_right_grid(program, found[k]);
  NestTemplate smaller = found[1];
  std::vector<int64_t> values;
  for (const Decision& d : smaller.trace.decisions)
    values.push_back(d.candidates.size() > 1 ? d.candidates[1] : d.value);
  smaller.trace = with_values(smaller.trace, values);
  expect_right_grid(program, smaller);
}

TEST(GridTiles, a_product_in_registers_and_through_shared_memory) {
  const Program program = normalized_program(
      "program p(M = 37, N = 70, K = 19)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
      "B[k, j]\n");
  expect_right_tiles(program, {"vectorize C j 16", "bind C j.v to thread_x", "bind C i.2 to thread_y",
                               "promote A in C at k.1 shared", "promote B in C at k.1 shared"});
}

TEST(GridTiles, a_product_of_batches_and_a_convolution) {
  expect_right_tiles(
      normalized_program("program p(B = 3, M = 9, N = 33, K = 5)\nin A: f32[B, M, K]\nin W: f32[B, K, N]\n"
                         "out C[b: B, i: M, j: N] = sum[k: K] A[b, i, k] * W[b, k, j]\n"),
      {"bind C b to block_z", "promote W in C at k.1 shared"});
  expect_right_tiles(
      normalized_program("program p(H = 5, W = 9, C = 3, F = 18)\nin X: f32[H + 2, W + 2, C]\nin K: f32[3, 3, C, F]\n"
                         "out Y[y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] X[y + r, x + s, c] * K[r, s, c, f]\n"),
      {"bind Y y to block_z", "promote X in Y"});
}

TEST(GridTiles, a_triangular_product) {
  const Program program = normalized_program(
      "program p(N = 21, K = 5)\nin A: f32[N, K]\n"
      "out C[i: N, j: N] = sum[k: K] A[i, k] * A[j, k] where j <= i else 0.0\n");
  for (const NestTemplate& t : sketched(program)) expect_right_grid(program, t);
}

TEST(GridTiles, rows_by_the_threads_of_a_block) {
  const Program program = normalized_program(
      "program p(M = 5, N = 100)\nin X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\n"
      "let s[i: M] = sum[j: N] exp(X[i, j] - m[i])\nout Y[i: M, j: N] = exp(X[i, j] - m[i]) / s[i]\n");
  const auto found = sketched(program);
  ASSERT_GE(found.size(), 2u);
  const auto apart = std::find_if(found.begin(), found.end(), [](const NestTemplate& t) {
    return t.trace.text().find("compute_at") == std::string::npos;
  });
  ASSERT_NE(apart, found.end());
  const std::string text = apart->trace.text();
  for (const char* step : {"vectorize m j tx", "bind m j.v to thread_x", "bind s i to block_x"})
    EXPECT_NE(text.find(step), std::string::npos) << step << "\n" << text;
  expect_right_grid(program, *apart);
}

/// The sketch whose statements are one kernel.
std::optional<NestTemplate> one_kernel(const std::vector<NestTemplate>& found) {
  for (const NestTemplate& t : found)
    if (t.trace.text().find("compute_at") != std::string::npos) return t;
  return std::nullopt;
}

TEST(GridRows, statements_over_the_same_rows_are_one_kernel) {
  const char* const kPrograms[] = {
      "program softmax(M = 5, N = 150)\nin X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = "
      "exp(X[i, j] - m[i])\nlet s[i: M] = sum[j: N] e[i, j]\nout Y[i: M, j: N] = e[i, j] / s[i]\n",
      "program layernorm(M = 4, N = 96)\nin X: f32[M, N]\nin g: f32[N]\nlet mu[i: M] = (sum[j: N] X[i, j]) / "
      "f32(N)\nlet v[i: M] = (sum[j: N] (X[i, j] - mu[i]) * (X[i, j] - mu[i])) / f32(N)\nout Y[i: M, j: N] = (X[i, j] "
      "- mu[i]) * rsqrt(v[i] + 1e-5) * g[j]\n",
      "program batches(P = 2, M = 3, N = 64)\nin X: f32[P, M, N]\nlet m[p: P, i: M] = max[j: N] X[p, i, j]\nout "
      "Y[p: P, i: M, j: N] = X[p, i, j] - m[p, i]\n",
      "program spread(M = 6, N = 80)\nin X: f32[M, N]\nlet mu[i: M] = sum[j: N] X[i, j]\nout v[i: M] = sum[j: N] "
      "(X[i, j] - mu[i]) * (X[i, j] - mu[i])\n"};
  for (const char* text : kPrograms) {
    const Program program = normalized_program(text);
    SCOPED_TRACE(program.name);
    const auto sketch = one_kernel(sketched(program));
    ASSERT_TRUE(sketch);
    int roots = 0;
    for (const Stage& stage : sketch->stages) roots += stage.placement.kind == Placement::Kind::at_root;
    EXPECT_EQ(roots, 1) << sketch->trace.text();
    expect_right_grid(program, *sketch);
  }
}

TEST(GridRows, a_statement_over_other_rows_keeps_a_kernel_of_its_own) {
  const Program program = normalized_program(
      "program columns(M = 40, N = 64)\nin X: f32[M, N]\nlet m[j: N] = max[i: M] X[i, j]\nlet s[i: M] = sum[j: N] "
      "X[i, j]\nout Y[i: M, j: N] = (X[i, j] - m[j]) * s[i]\n");
  const auto sketch = one_kernel(sketched(program));
  ASSERT_TRUE(sketch);
  EXPECT_NE(sketch->trace.text().find("compute_at s"), std::string::npos) << sketch->trace.text();
  EXPECT_EQ(sketch->trace.text().find("compute_at m"), std::string::npos) << sketch->trace.text();
  expect_right_grid(program, *sketch);
}

TEST(GridRows, short_rows_and_single_statements_are_left_to_other_rules) {
  for (const char* text : {"program narrow(M = 40, N = 6)\nin X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nout "
                           "Y[i: M, j: N] = X[i, j] - m[i]\n",
                           "program alone(M = 8, N = 64)\nin X: f32[M, N]\nout Y[i: M, j: N] = X[i, j] + 1.0\n"})
    EXPECT_FALSE(one_kernel(sketched(normalized_program(text)))) << text;
}

TEST(GridTiles, columns_and_totals) {
  for (const char* text : {"program p(M = 300, N = 70)\nin X: f32[M, N]\nout Y[j: N] = sum[i: M] X[i, j]\n",
                           "program p(M = 20, N = 70)\nin X: f32[M, N]\nout Y[j: N] = sum[i: M] X[i, j]\n",
                           "program p(N = 300)\nin X: f32[N]\nout Y = sum[i: N] X[i]\n"}) {
    const Program program = normalized_program(text);
    const auto found = sketched(program);
    ASSERT_GE(found.size(), 1u) << text;
    EXPECT_NE(found[0].trace.text().find(".v to thread_x"), std::string::npos) << found[0].trace.text();
    expect_right_grid(program, found[0]);
  }
}

// Blocks fold parts, threads of one more block put these together, and a short sum stays in one block.
TEST(GridTiles, long_sums_in_parts_by_blocks) {
  Machine machine = grid_machine();
  machine.levels[1].count = {16};
  for (const char* text : {"program p(N = 66001)\nin A: i32[N]\nin B: i32[N]\nout s = sum[i: N] A[i] * B[i]\n",
                           "program p(M = 259, N = 257)\nin A: i32[M, N]\nout s = max[i: M, j: N] A[i, j]\n",
                           "program p(M = 2, N = 66001)\nin A: f32[M, N]\nout s[i: M] = sum[j: N] A[i, j]\n"}) {
    const Program program = normalized_program(text);
    bool has_parts = false;
    for (const NestTemplate& t : sketched(program, machine)) {
      if (t.trace.text().find("rfactor s") == std::string::npos) continue;
      has_parts = true;
      expect_right_grid(program, t);
      const auto nest = instantiate(t, values_of(t.trace));
      ASSERT_TRUE(nest) << described(nest.error());
      EXPECT_NE(print(*nest).find("axis \"block_x\""), std::string::npos);
    }
    EXPECT_TRUE(has_parts) << text;
  }
  const Program is_short = normalized_program("program p(N = 6000)\nin A: f32[N]\nout s = sum[i: N] A[i]\n");
  for (const NestTemplate& t : sketched(is_short, machine))
    EXPECT_EQ(t.trace.text().find("rfactor"), std::string::npos) << t.trace.text();
}

TEST(GridTiles, a_transpose_through_shared_memory) {
  const Program program = normalized_program(
      "program p(M = 37, N = 50)\nin X: f32[N, M]\nin Z: f32[M, N]\nout Y[i: M, j: N] = X[j, i] + Z[i, j]\n");
  const auto found = sketched(program);
  ASSERT_GE(found.size(), 2u);
  EXPECT_NE(found[0].trace.text().find("promote X in Y at i.2 shared"), std::string::npos) << found[0].trace.text();
  expect_right_grid(program, found[0]);
}

TEST(GridTiles, what_is_shared_needs_threads_that_share_it) {
  const Program program = normalized_program(
      "program p(M = 37, N = 70, K = 9)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
      "B[k, j]\n");
  const auto t = replay_text(program, "trace 1\n  tile C [k: 4]\n  promote A in C at k.1 shared\n");
  ASSERT_TRUE(t) << described(t.error());
  const auto nest = instantiate(*t, values_of(t->trace));
  ASSERT_FALSE(nest);
  EXPECT_EQ(nest.error().code, "PW0311");
  const auto summed = replay_text(program, "trace 1\n  accumulate C at j shared\n");
  ASSERT_FALSE(summed);
  EXPECT_EQ(summed.error().code, "PW0308");
  const auto across = replay_text(program, "trace 1\n  vectorize C j 16\n  bind C j.v to thread_y\n");
  ASSERT_FALSE(across);
  EXPECT_EQ(across.error().code, "PW0304");
}

std::string product_of(const std::string& type, const std::string& sums, const std::string& sizes) {
  return "program p(" + sizes + ")\nin A: " + type + "[M, K]\nin B: " + type +
         "[K, N]\nout C[i: M, j: N] = sum[k: K] " + sums + "(A[i, k]) * " + sums + "(B[k, j])\n";
}

TEST(GridProducts, products_of_warps_are_proven_with_whole_tiles_and_edges) {
  Machine machine = grid_machine();
  machine.grid.lockstep_threads = {32};
  machine.units.instructions = {"mma_m16n8k16_bf16", "mma_m16n8k32_s8"};
  for (const std::string& text :
       {product_of("bf16", "f32", "M = 37, N = 43, K = 35"), product_of("i8", "i32", "M = 32, N = 48, K = 64")}) {
    const Program program = normalized_program(text);
    const auto found = schedules::grid_product_sketches(program, NumericsClass::reassoc, machine, {});
    ASSERT_EQ(found.size(), 2u);
    const std::string staged = found[0].trace.text();
    for (const char* step : {"bind C i.1 to block_y", "bind C i.2 to thread_z", "bind C j.2 to thread_y",
                             "accumulate C at j.2 tile", "promote A in C at k.1 shared", "by mma_m16n8k"})
      EXPECT_NE(staged.find(step), std::string::npos) << step << "\n" << staged;
    for (const NestTemplate& t : found) expect_right_grid(program, t);
  }
  machine.units.instructions.clear();
  const Program program = normalized_program(product_of("bf16", "f32", "M = 37, N = 43, K = 35"));
  EXPECT_TRUE(schedules::grid_product_sketches(program, NumericsClass::reassoc, machine, {}).empty());
}

TEST(GridProducts, what_a_warp_cannot_hold_is_refused) {
  const Program program = normalized_program(product_of("bf16", "f32", "M = 256, N = 256, K = 32"));
  const auto trace = [](int64_t side, const std::string& scope) {
    const std::string s = std::to_string(side);
    return "trace 1\n  tile C [i: " + s + ", j: " + s + ", i: 16, j: 8, k: 16]\n" +
           "  permute C [i.1, j.1, k.1, i.2, j.2, i, j, k]\n  bind C i.1 to block_y\n  bind C j.1 to block_x\n" +
           (scope.empty() ? "" : "  accumulate C at j.1 " + scope + "\n") +
           "  tensorize C i, j, k by mma_m16n8k16_bf16\n  unroll C i.2, j.2\n";
  };
  for (const std::string& scope : {"", "reg"}) {
    const auto t = replay_text(program, trace(64, scope));
    ASSERT_FALSE(t) << scope;
    EXPECT_EQ(t.error().code, "PW0322") << scope;
  }
  const auto t = replay_text(program, trace(128, "tile"));
  ASSERT_TRUE(t) << described(t.error());
  const auto nest = instantiate(*t, {});
  ASSERT_FALSE(nest);
  EXPECT_EQ(nest.error().code, "PW0311");
  EXPECT_NE(nest.error().message.find("512 cells of sums in each lane of a warp"), std::string::npos)
      << nest.error().message;
  const auto strict = schedules::replay(program, NumericsClass::strict, *parse_trace(trace(64, "tile")));
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, "PW0307");
}

TEST(Grid, statements_of_one_to_four_dimensions_each_in_a_grid_of_its_own) {
  const Program program = normalized_program(
      "program p(N = 2, H = 5, W = 6, C = 3)\nin X: f32[N, H, W, C]\n"
      "let S[c: C] = sum[n: N, h: H, w: W] X[n, h, w, c]\n"
      "out Y[n: N, h: H, w: W, c: C] = X[n, h, w, c] - S[c]\nout Z[n: N, h: H] = sum[w: W, c: C] Y[n, h, w, c]\n"
      "out total = sum[c: C] S[c]\n");
  const auto found = sketched(program);
  ASSERT_GE(found.size(), 1u);
  const std::string text = found.back().trace.text();
  for (const char* step : {"bind S c to thread_x", "bind Y h to block_z", "bind Y w to thread_y",
                           "bind Y c to thread_x", "bind Z h to thread_x"})
    EXPECT_NE(text.find(step), std::string::npos) << step << "\n" << text;
  for (const NestTemplate& t : found) expect_right_grid(program, t);
}

TEST(Grid, a_thread_has_elements_of_several_rows_where_memory_is_far) {
  Machine machine = grid_machine();
  machine.grid.shared_bytes_per_cycle = {128};
  const Program program = normalized_program(
      "program p(N = 45, M = 70)\nin A: f32[N, M]\nin B: f32[N, M]\nout C[i: N, j: M] = A[i, j] + B[i, j]\n");
  bool has_rows = false;
  for (NestTemplate t : sketched(program, machine)) {
    for (Decision& d : t.trace.decisions)
      if (d.name.starts_with("py")) has_rows = true, d.value = 4;
    for (Decision& d : t.trace.decisions)
      if (d.name.starts_with("ty")) d.value = 8;
    const auto replayed = schedules::replay(program, NumericsClass::reassoc, t.trace);
    ASSERT_TRUE(replayed) << described(replayed.error());
    expect_right_grid(program, *replayed);
  }
  EXPECT_TRUE(has_rows);
}

TEST(Grid, threads_along_x_fill_lines_where_there_are_so_many) {
  const Program program = normalized_program("program p(N = 1000)\nin X: f32[N]\nout Y[i: N] = X[i] * 2\n");
  const auto found = sketched(program);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].trace.decisions.size(), 1u);
  EXPECT_EQ(found[0].trace.decisions[0].value, 256);
  EXPECT_EQ(found[0].trace.decisions[0].candidates, (std::vector<int64_t>{16, 32, 64, 128, 256}));
}

// ---- recurrences ----

/// The band's sketch first, the base order last.
void expect_right_bands(const std::string& text, const std::vector<const char*>& steps) {
  const Program program = normalized_program(text);
  const auto found = sketched(program);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found.back().trace.steps.empty()) << found.back().trace.text();
  const std::string trace = found[0].trace.text();
  for (const char* step : steps) EXPECT_NE(trace.find(step), std::string::npos) << step << "\n" << trace;
  expect_right_grid(program, found[0]);
}

TEST(GridBands, a_chain_keeps_its_order) {
  const Program program = normalized_program(
      "program p(N = 20)\nin X: f32[N]\nout Y[i: N]: f32 = (0.5 * Y[i - 1] where i > 0 else 0.0) + X[i]\n");
  for (const NestTemplate& t : sketched(program)) {
    EXPECT_EQ(t.trace.text().find("bind"), std::string::npos) << t.trace.text();
    expect_right_grid(program, t);
  }
}

TEST(GridBands, steps_in_time_are_launches) {
  expect_right_bands(
      "program p(T = 4, N = 11)\nin X: f32[N, N]\nlet A[0, i: N, j: N] = X[i, j]\n"
      "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.2 * (A[t-1, i, j] + A[t-1, i-1, j] + A[t-1, i+1, j] + A[t-1, i, j-1] "
      "+ "
      "A[t-1, i, j+1])\n"
      "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A[t-1, i, j]\n"
      "out R[i: N, j: N] = A[T, i, j]\n",
      {"bind", "to block_y", "to thread_x"});
}

TEST(GridBands, rows_of_running_sums_are_threads) {
  expect_right_bands(
      "program p(R = 9, N = 20)\nin X: f32[R, N]\n"
      "out Y[r: R, i: N]: f32 = (0.5 * Y[r, i - 1] where i > 0 else 0.0) + X[r, i]\n",
      {"to block_x", "to thread_x"});
}

TEST(GridBands, diagonals_are_launches) {
  expect_right_bands(
      "program p(M = 8, N = 11)\nin X: f32[M, N]\n"
      "out Y[i: M, j: N]: f32 = (0.5 * Y[i - 1, j] where i > 0 else 0.0) + (0.25 * Y[i, j - 1] where j > 0 "
      "else 0.0) + X[i, j]\n",
      {"[ijw", "to thread_x"});
}

}  // namespace
}  // namespace polyweft::test
