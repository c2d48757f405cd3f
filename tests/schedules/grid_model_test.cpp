// The model of machines with grids: for each term two nests of one program that it tells apart, in the order in which
// such machines have them.
#include "bands_harness.h"
#include "machines.h"
#include "polyweft/cost_model.h"

namespace polyweft::test {
namespace {

/// A device of many units, with memory that the threads of a block share.
Machine device() {
  Machine out = machine_with();
  out.levels = {{"device"}, {"block", {64}}, {"thread"}};
  out.grid.lockstep_threads = {32};
  out.grid.block_threads = {1024};
  out.grid.block_shared_bytes = {48 << 10};
  out.grid.unit_shared_bytes = {96 << 10};
  out.grid.coalesced_bytes = {128};
  out.grid.shared_banks = {32};
  out.grid.shared_bytes_per_cycle = {128};
  out.grid.launch_ns = {4000};
  out.units.gather_lane_slots = {1};
  return out;
}

LoopNest nest_by(const std::string& program, const std::string& trace, const std::vector<int64_t>& values = {}) {
  const auto steps = parse_trace(trace);
  if (!steps) ADD_FAILURE() << described(steps.error());
  const Program normalized = normalized_program(program);
  const auto t = schedules::replay(normalized, NumericsClass::reassoc, *steps);
  if (!t) ADD_FAILURE() << described(t.error());
  auto nest = instantiate(*t, values.empty() ? values_of(t->trace) : values);
  if (!nest) ADD_FAILURE() << described(nest.error());
  return nest ? *std::move(nest) : LoopNest{};
}

void expect_faster(const LoopNest& one, const LoopNest& other, double least, const Machine& machine = device()) {
  const auto model = analytic_model(machine);
  const double one_ns = model->predict_ns(one), other_ns = model->predict_ns(other);
  EXPECT_GT(other_ns, least * one_ns) << one_ns << " " << other_ns << "\n" << print(one) << print(other);
}

constexpr const char* kScaledRows = "program p(N = 2048)\nin X: f32[N, N]\nout Y[i: N, j: N] = X[i, j] * 2\n";

std::string scaled_by(const std::string& x, const std::string& y) {
  return "trace 1\n tile Y [" + y + ": 8, " + x + ": 32]\n permute Y [" + y + ".1, " + x + ".1, " + y + ", " + x +
         "]\n bind Y " + y + ".1 to block_y\n bind Y " + x + ".1 to block_x\n bind Y " + y + " to thread_y\n bind Y " +
         x + " to thread_x\n";
}

TEST(GridModel, neighbours_on_neighbouring_elements) {
  expect_faster(nest_by(kScaledRows, scaled_by("j", "i")), nest_by(kScaledRows, scaled_by("i", "j")), 2);
}

TEST(GridModel, blocks_for_all_units) {
  expect_faster(nest_by(kScaledRows, scaled_by("j", "i")),
                nest_by(kScaledRows,
                        "trace 1\n tile Y [j: 1024]\n permute Y [j.1, j, i]\n bind Y j.1 to block_x\n bind Y j to "
                        "thread_x\n"),
                4);
}

TEST(GridModel, whole_groups_of_threads) {
  const auto of = [](const std::string& threads) {
    return "trace 1\n tile Y [j: " + threads +
           "]\n bind Y i to block_y\n bind Y j.1 to block_x\n bind Y j to thread_x\n";
  };
  expect_faster(nest_by(kScaledRows, of("256")), nest_by(kScaledRows, of("4")), 2);
}

constexpr const char* kTiledProduct =
    "program p(M = 1024, N = 1024, K = 1024)\nin A: f32[M, K]\nin B: f32[K, N]\n"
    "out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n";

std::string tiled_by(int py, int columns, bool staged) {
  const std::string row = std::to_string(py), block = std::to_string(8 * py), width = std::to_string(32 * columns);
  return "trace 1\n tile C [i: " + block + ", j: " + width + ", k: 16, i: " + row + "]\n vectorize C j 32\n" +
         " permute C [i.1, j.1, i.2, k.1, k, i, j]\n bind C i.1 to block_y\n bind C j.1 to block_x\n bind C i.2 to "
         "thread_y\n accumulate C at i.2 reg\n" +
         (staged ? " promote A in C at k.1 shared\n promote B in C at k.1 shared\n" : "") +
         " unroll C i\n bind C j.v to thread_x\n";
}

TEST(GridModel, sums_in_registers) {
  expect_faster(nest_by(kTiledProduct, tiled_by(8, 4, false)), nest_by(kTiledProduct, tiled_by(1, 1, false)), 1.5);
}

TEST(GridModel, more_sums_than_registers) {
  Machine few = device();
  few.grid.thread_registers = {32};
  expect_faster(nest_by(kTiledProduct, tiled_by(4, 4, false)), nest_by(kTiledProduct, tiled_by(16, 4, false)), 1.3,
                few);
}

TEST(GridModel, shared_memory_where_it_is_of_its_own) {
  Machine cached = device();
  cached.grid.shared_bytes_per_cycle = {0};
  cached.grid.unit_threads = {32};
  expect_faster(nest_by(kTiledProduct, tiled_by(8, 4, false)), nest_by(kTiledProduct, tiled_by(8, 4, true)), 1.05,
                cached);
}

TEST(GridModel, blocks_beside_each_other_hide_what_their_chains_wait) {
  Machine full = device(), empty = device();
  full.grid.unit_shared_bytes = {48 << 10};
  empty.grid.unit_shared_bytes = {4 << 10};
  for (Machine* each : {&full, &empty}) each->units.multiply_add_latency_cycles = {40};
  const LoopNest nest = nest_by(kTiledProduct, tiled_by(1, 1, true));
  EXPECT_GT(analytic_model(empty)->predict_ns(nest), 1.2 * analytic_model(full)->predict_ns(nest));
}

/// A block of threads reads columns of a tile in shared memory.
LoopNest tile_of_rows(int row) {
  const std::string text =
      "nest 1 p class reassoc\nparam N = 2048\nloops b, t, c, d\n"
      "buffer X: f32[65536] argument align 4 tensor 0 element [$0]\n"
      "buffer Y: f32[65536] argument align 4 output tensor 1 element [$0]\n"
      "buffer s: f32[32, " +
      std::to_string(row) +
      "] shared align 64\narguments X, Y\nbody {\n"
      "  for b in 0 .. 64 axis \"block_x\" {\n    alloc s {\n      for t in 0 .. 32 axis \"thread_x\" {\n"
      "        for c in 0 .. 32 {\n          copy s[c, t] <- X[1024*b + 32*c + t] else 0:f32\n        }\n"
      "        sync block 0\n        for d in 0 .. 32 {\n          copy Y[1024*b + 32*d + t] <- s[t, d] else 0:f32\n"
      "        }\n      }\n    }\n  }\n}\n";
  auto nest = parse_loop_nest(text);
  if (!nest) ADD_FAILURE() << described(nest.error());
  return nest ? *std::move(nest) : LoopNest{};
}

TEST(GridModel, threads_that_meet_in_a_bank) {
  Machine machine = device();
  machine.grid.launch_ns = {0};
  expect_faster(tile_of_rows(33), tile_of_rows(32), 1.5, machine);
}

TEST(GridModel, launches) {
  const auto of = [](bool inside) {
    const std::string t = "for t in 0 .. 100 {\n", b = "for b in 0 .. 4 axis \"block_x\" {\n for i in 0 .. 256 axis "
                                                       "\"thread_x\" {\n";
    return "nest 1 p class reassoc\nparam N = 1024\nloops t, b, i\n"
           "buffer X: f32[1024] argument align 4 tensor 0 element [$0]\n"
           "buffer Y: f32[1024] argument align 4 output tensor 1 element [$0]\narguments X, Y\nbody {\n" +
           (inside ? b + t : t + b) + "copy Y[256*b + i] <- X[256*b + i] else 0:f32\n}\n}\n}\n}\n";
  };
  const auto inside = parse_loop_nest(of(true)), outside = parse_loop_nest(of(false));
  ASSERT_TRUE(inside) << described(inside.error());
  ASSERT_TRUE(outside) << described(outside.error());
  expect_faster(*inside, *outside, 10);
}

TEST(GridModel, barriers) {
  Machine dear = device();
  dear.grid.barrier_cycles = {5000};
  expect_faster(nest_by(kTiledProduct, tiled_by(8, 4, false)), nest_by(kTiledProduct, tiled_by(8, 4, true)), 1.5, dear);
}

TEST(GridModel, products_by_warps) {
  const std::string product =
      "program p(M = 512, N = 512, K = 512)\nin A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "f32(A[i, k]) * f32(B[k, j])\n";
  const std::string by_warps =
      "trace 1\n tile C [i: 64, j: 64, k: 32, i: 32, j: 32, i: 16, j: 8, k: 16]\n permute C [i.1, j.1, i.2, j.2, k.1, "
      "k.2, i.3, j.3, i, j, k]\n bind C i.1 to block_y\n bind C j.1 to block_x\n bind C i.2 to thread_z\n bind C j.2 "
      "to thread_y\n accumulate C at j.2 tile\n promote A in C at k.1 shared\n promote B in C at k.1 shared\n "
      "tensorize C i, j, k by mma_m16n8k16_bf16\n unroll C i.3, j.3\n";
  const std::string by_threads =
      "trace 1\n tile C [i: 64, j: 64, k: 32, i: 8]\n vectorize C j 32\n permute C [i.1, j.1, i.2, k.1, k, i, j]\n "
      "bind C i.1 to block_y\n bind C j.1 to block_x\n bind C i.2 to thread_y\n accumulate C at i.2 reg\n promote A in "
      "C at k.1 shared\n promote B in C at k.1 shared\n unroll C i\n bind C j.v to thread_x\n";
  expect_faster(nest_by(product, by_warps), nest_by(product, by_threads), 2);
}

}  // namespace
}  // namespace polyweft::test
