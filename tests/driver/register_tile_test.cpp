// A block of registers that does not fit is refused with one that does; what the documents show fits every level of the
// architecture.
#include "driver/register_tile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "driver/compile_service.h"
#include "driver/task.h"
#include "ir/nests/suit_target.h"
#include "polyweft/nest_template.h"
#include "schedules/steps.h"

namespace polyweft {
namespace {

TEST(RegisterTile, the_best_block_leaves_room_for_a_row_a_broadcast_and_one_more) {
  for (const int64_t registers : {8, 16, 32})
    for (const int64_t lanes : {1, 2, 8, 16, 32})
      for (const RegisterTile most : {RegisterTile{1, 1}, {1, 400}, {400, 1}, {14, 32}, {6, 16}, {64, 64}}) {
        const RegisterTile tile = fitting_tile(most, {registers, lanes});
        const int64_t vectors = (tile.columns + lanes - 1) / lanes;
        EXPECT_GE(tile.rows, 1);
        EXPECT_LE(tile.rows, most.rows);
        EXPECT_LE(tile.columns, most.columns);
        EXPECT_LT(tile.rows * vectors + vectors + 1, registers);
        // No other block that fits does more multiply-adds a load.
        for (int64_t v = 1; v <= (most.columns + lanes - 1) / lanes; ++v)
          for (int64_t r = 1; r <= most.rows && r * v + v + 1 < registers; ++r)
            EXPECT_LE(r * v * (tile.rows + vectors), tile.rows * vectors * (r + v));
      }
}

constexpr const char* kGemm =
    "program gemm(M = 512, N = 512, K = 512)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] "
    "* B[k, j]\n";

LoopNest nest_by(const std::string& trace, const Target& target, const std::string& program = kGemm) {
  const Task task = make_task(parse_program(program).value(), {}, target).value();
  const auto parsed = parse_trace(trace);
  EXPECT_TRUE(parsed) << parsed.error().message;
  auto nest_template = schedules::replay(task.program, task.key.cls, *parsed, schedules::Isl{});
  EXPECT_TRUE(nest_template) << nest_template.error().message;
  ir::suit_target(*nest_template, target);
  return instantiate(*nest_template, values_of(nest_template->trace)).value();
}

std::string with_tile(RegisterTile tile, int lanes) {
  return "trace 1\n  tile C [k: kc, j: nr, i: mr]\n  accumulate C at mr reg\n  unroll C i ; vectorize C j " +
         std::to_string(lanes) + "\ndecide kc = 256, mr = " + std::to_string(tile.rows) +
         ", nr = " + std::to_string(tile.columns) + "\n";
}

struct TooLarge {
  const char* target;
  int lanes;
  RegisterTile tile;
  const char* note;
};
const TooLarge kTooLarge[] = {
    {"x86-64",
     4,
     {16, 64},
     "C.a [16, 64] takes 256 of 16 vector registers of x86-64: a block of 3 x 12 elements fits; make the tile sizes "
     "that are unrolled and vectorized smaller"},
    {"x86-64-v3",
     8,
     {24, 64},
     "C.a [24, 64] takes 192 of 16 vector registers of x86-64-v3: a block of 6 x 16 elements fits; make the tile sizes "
     "that are unrolled and vectorized smaller"},
    {"x86-64-v4",
     8,
     {24, 64},
     "C.a [24, 64] takes 192 of 32 vector registers of x86-64-v4: a block of 5 x 40 elements fits; make the tile sizes "
     "that are unrolled and vectorized smaller"},
    {"x86-64-v4",
     16,
     {24, 64},
     "C.a [24, 64] takes 96 of 32 vector registers of x86-64-v4: a block of 6 x 64 elements fits; make the tile sizes "
     "that are unrolled and vectorized smaller"},
};

// A block of lanes that runs straight through may spill once for four of its computations; the sums of a block of a
// product may not.
TEST(RegisterTile, straight_blocks_may_spill_more) {
  const std::string text =
      "program p(B = 64)\nin A: f32[B, 6, 6]\nin X: f32[B, 6, 6]\nlet C[b: B, i: 6, j: 6] = sum[k: 6] A[b, i, k] * "
      "X[b, k, j]\nlet D[b: B, i: 6, j: 6] = sum[k: 6] C[b, i, k] "
      "* C[b, j, k]\nout Y[b: B, i: 6, j: 6] = sum[k: 6] D[b, k, i] * X[b, j, k]\n";
  const Target target = find_target("x86-64-v3").value();
  const CompileService compiler(target);
  const LoopNest nest = nest_by("trace 1\n  batch 8\n", target, text);
  EXPECT_FALSE(compiler.is_too_many(2 * target.machine.units.vector_registers + 100, nest));
  EXPECT_TRUE(compiler.is_too_many(2 * target.machine.units.vector_registers + 1000, nest));
}

TEST(RegisterTile, what_spills_is_refused_with_a_block_that_does_not) {
  for (const TooLarge& c : kTooLarge) {
    const Target target = find_target(c.target).value();
    const CompileService compiler(target);
    const LoopNest nest = nest_by(with_tile(c.tile, c.lanes), target);
    const auto refused = compiler.for_runner(nest);
    ASSERT_FALSE(refused) << c.note;
    EXPECT_EQ(refused.error().code, "PW0506");
    const auto allowed = compiler.for_runner(nest, CompileService::Spills::allow);
    ASSERT_TRUE(allowed) << allowed.error().message;
    EXPECT_TRUE(compiler.is_too_many(allowed->spills, nest));
    EXPECT_EQ(refused.error().message,
              "the register tile does not fit: " + std::to_string(allowed->spills) + " vector registers are spilled");
    EXPECT_EQ(refused.error().notes,
              (std::vector<std::string>{c.note, "polyweft bench --schedule times it all the same"}));
    const RegisterTile tile =
        fitting_tile(c.tile, {target.machine.units.vector_registers - (target.can.fused_products ? 0 : 1), c.lanes});
    const auto cured = compiler.for_runner(nest_by(with_tile(tile, c.lanes), target));
    ASSERT_TRUE(cured) << cured.error().message;
    EXPECT_EQ(cured->spills, 0) << c.target << ": " << tile.rows << " x " << tile.columns;
  }
}

/// The first block of the page that begins with "trace 1".
std::string example_of(const std::string& page) {
  std::ifstream in(PW_SOURCE_DIR "/" + page);
  std::stringstream text;
  text << in.rdbuf();
  const size_t begin = text.str().find("```\ntrace 1\n") + 4, end = text.str().find("```", begin);
  return text.str().substr(begin, end - begin);
}

TEST(RegisterTile, the_example_of_the_documents_fits_every_level) {
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    const Target target = find_target(name).value();
    const auto kernel = CompileService(target).for_runner(nest_by(example_of("docs/schedules.md"), target));
    ASSERT_TRUE(kernel) << name << ": " << kernel.error().message;
    EXPECT_LE(kernel->spills, target.can.fused_products ? 0 : target.machine.units.vector_registers / 2) << name;
  }
}

}  // namespace
}  // namespace polyweft
