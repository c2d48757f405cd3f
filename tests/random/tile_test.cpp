// Tile units: nests with sums in tiles by evaluator, interpreter and checker; their code by an emulator of the
// instructions, bit for bit.
#include <gtest/gtest.h>

#include <array>

#include "ir/nests/instruction.h"
#include "lang/parser.h"
#include "random/tile_products.h"
#include "schedules/steps.h"
#include "targets/kernels.h"

namespace polyweft::tile_test {
namespace {

using targets_test::run_with_tiles;
using targets_test::TilePermission;
using targets_test::TileRun;
using targets_test::with_tiles;

const Unit kOtherSigns[] = {
    {"tdpbssd", "i8", "i8", "i32", 4}, {"tdpbsud", "i8", "u8", "i32", 4}, {"tdpbuud", "u8", "u8", "i32", 4}};

TEST(Tiles, all_sizes_of_all_instructions) {
  for (const Unit& unit : kUnits)
    for (const Sizes& s :
         {Sizes{1, 1, 1}, {1, 17, 3}, {17, 31, 67}, {32, 32, 128}, {33, 47, 101}, {53, 64, 131}, {5, 80, 255}})
      for (bool packs_a : {false, true}) {
        const std::string what = unit.name + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
                                 std::to_string(s.k) + (packs_a ? " packed" : "");
        const Program source = product(unit, s);
        Block block;
        block.packs_a = packs_a;
        auto nest = scheduled(source, schedule(unit, block));
        ASSERT_TRUE(nest.ok()) << what << nest.error().message;
        if (!packs_a && s.m < 40) expect_right(source, *nest);
        const TileRun run = expect_same_bits(*nest, what);
        EXPECT_GT(run.counts.products, 0) << what;
        EXPECT_EQ(run.counts.configurations, 1) << what;
        // Every sum is in tiles for the whole of k: begun by tilezero, stored once.
        const int64_t sums = ((s.m + 15) / 16) * ((s.n + 15) / 16);
        EXPECT_EQ(run.counts.zeros, sums) << what;
        EXPECT_EQ(run.counts.stores, sums) << what;
      }
}

TEST(Tiles, bytes_of_all_signs) {
  for (const Unit& unit : kOtherSigns) {
    const Program source = product(unit, {19, 33, 75});
    auto nest = scheduled(source, schedule(unit, {}));
    ASSERT_TRUE(nest.ok()) << unit.name << nest.error().message;
    expect_right(source, *nest);
    EXPECT_GT(expect_same_bits(*nest, unit.name).counts.products, 0);
    EXPECT_NE(targets::assembly_text(*nest, with_tiles())->find("\t" + unit.name + "\t"), std::string::npos);
    for (const Unit& other : {kUnits[0], kOtherSigns[0], kOtherSigns[1], kOtherSigns[2]}) {
      auto wrong = scheduled(source, schedule(other, {}));
      EXPECT_EQ(wrong.ok(), other.name == unit.name) << unit.name << " by " << other.name;
    }
  }
}

// Operands are loaded once for all products of a block.
TEST(Tiles, blocks_share_their_operands) {
  for (const auto& [rows, columns] :
       {std::array{1, 1}, {2, 2}, {1, 3}, {3, 1}, {1, 4}, {2, 3}, {3, 2}, {6, 1}, {1, 6}}) {
    Block block;
    block.rows = rows;
    block.columns = columns;
    const Unit& unit = kUnits[0];
    const int64_t steps = 3;
    const Program source = product(unit, {16 * rows, 16 * columns, 64 * steps});
    auto nest = scheduled(source, schedule(unit, block));
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    const std::string what = std::to_string(rows) + "x" + std::to_string(columns);
    const TileRun run = expect_same_bits(*nest, what);
    EXPECT_EQ(run.counts.products, rows * columns * steps) << what;
    const bool all_stay = rows * columns + rows + columns <= 8 || rows == 1 || columns == 1 || rows * columns == 6;
    if (all_stay && std::min(rows, columns) < 3 && rows * columns < 6) {
      EXPECT_EQ(run.counts.loads, (rows + columns) * steps) << what;
    } else {
      EXPECT_LE(run.counts.loads, (rows + rows * columns) * steps) << what;
    }
    EXPECT_EQ(run.counts.stores, rows * columns) << what;
  }
}

TEST(Tiles, sums_in_memory_are_the_same) {
  for (const Unit& unit : kUnits) {
    Block block;
    block.scope = "stack";
    auto nest = scheduled(product(unit, {33, 47, 131}), schedule(unit, block));
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    EXPECT_GT(expect_same_bits(*nest, unit.name).counts.products, 0);
  }
}

// One configuration a task, one release; the tasks of both threads.
TEST(Tiles, tasks_configure_for_themselves) {
  for (const Unit& unit : kUnits)
    for (const char* loop : {"j.1", "i.1"}) {
      Block block;
      block.parallel = loop;
      const Program source = product(unit, {72, 80, 100});
      Trace trace = schedule(unit, block);
      if (loop == std::string("i.1"))
        trace = *parse_trace(
            replaced(replaced(trace.text(), "[j.1, i.1,", "[i.1, j.1,"), "accumulate C at i.1", "accumulate C at j.1"));
      auto nest = scheduled(source, trace);
      ASSERT_TRUE(nest.ok()) << nest.error().message;
      setenv("HL_NUM_THREADS", "2", 1);
      const TileRun run = expect_same_bits(*nest, unit.name + " parallel " + loop);
      unsetenv("HL_NUM_THREADS");
      EXPECT_EQ(run.counts.configurations, 3);
    }
}

// A sum over parts of k: its tiles begin with what was stored, where they are whole; edges by way of the stack.
TEST(Tiles, sums_may_go_on_from_memory) {
  for (const Unit& unit : kUnits)
    for (const Sizes& s : {Sizes{64, 64, 300}, {50, 33, 300}}) {
      const std::string text = schedule(unit, {}).text();
      auto trace =
          parse_trace(replaced(replaced(replaced(text, "tile C [", "tile C [k: 128, "),
                                        "[j.1, i.1, k.1, i.2, j.2, k.2, k,", "[k.1, j.1, i.1, k.2, i.2, j.2, k.3, k,"),
                               "i, j, k.2, k by", "i, j, k.3, k by"));
      ASSERT_TRUE(trace.ok()) << text;
      const Program source = product(unit, s);
      auto nest = scheduled(source, *trace);
      ASSERT_TRUE(nest.ok()) << nest.error().message;
      expect_right(source, *nest);
      const TileRun run = expect_same_bits(*nest, unit.name);
      const int64_t blocks = ((s.m + 15) / 16) * ((s.n + 15) / 16), parts = 3;
      EXPECT_EQ(run.counts.stores, blocks * parts);
      if (s.m == 64) {
        EXPECT_EQ(run.counts.zeros, blocks);
      }
    }
}

/// Does the code store sums among products? Then more than one product follows the first store and zero.
size_t products_after_first_store(const LoopNest& nest) {
  const std::string text = *targets::assembly_text(nest, with_tiles());
  size_t count = 0;
  for (size_t at = text.find("tilestored"); (at = text.find("\ttdp", at)) != std::string::npos; ++at) ++count;
  return count;
}

// Blocks in a pipeline: what a block leaves is stored and read among the products of the next one; each sum is still
// begun and stored once.
TEST(Tiles, blocks_leave_among_the_products_of_the_next) {
  for (const Unit& unit : kUnits)
    for (const auto& [rows, columns] : {std::array{2, 2}, {1, 3}, {1, 1}})
      for (int64_t steps : {3, 4, 7, 8, 40})
        for (int64_t blocks : {2, 3}) {
          Block block;
          block.rows = rows;
          block.columns = columns;
          const int64_t m = 16 * rows * blocks, n = 16 * columns * 2, k = 16 * unit.group * steps;
          const std::string what =
              unit.name + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
          auto nest = scheduled(product(unit, {m, n, k}), schedule(unit, block));
          ASSERT_TRUE(nest.ok()) << what << nest.error().message;
          EXPECT_EQ(products_after_first_store(*nest) > 0, steps >= 4) << what;
          if (m * n * k > 200'000) continue;  // the emulator's time
          const TileRun run = expect_same_bits(*nest, what);
          EXPECT_EQ(run.counts.zeros, rows * columns * blocks * 2) << what;
          EXPECT_EQ(run.counts.stores, rows * columns * blocks * 2) << what;
        }
}

// The reader's rows follow the products of the next block, few or many a step, and read the sums of their own block.
TEST(Tiles, readers_of_blocks_follow_products_of_the_next) {
  for (int64_t k : {256, 320, 1088}) {
    const std::string text =
        "program g(M = 64, N = 64, K = " + std::to_string(k) +
        ")\nin A: u8[M, K]\nin B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
        "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n";
    auto file = lang::parse(text, "test.weft");
    ASSERT_TRUE(file.ok());
    const std::string trace =
        schedule(kUnits[0], {}).text() + "\n  permute Q [i, j]\n  vectorize Q j 32\n  fuse Q into C at i.1\n";
    auto nest = scheduled(file->programs.front(), *parse_trace(trace));
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    EXPECT_GT(products_after_first_store(*nest), 0u);
    if (k == 256) expect_right(file->programs.front(), *nest);
    expect_same_bits(*nest, text);
  }
}

// Products that read what the reader of the block before has written are not overtaken.
TEST(Tiles, products_that_need_the_block_before_wait_for_it) {
  auto file = lang::parse(
      "program g(M = 64, N = 256, K = 256)\nin A: u8[M, K]\nin B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: N] = sum[k: "
      "K] i32(A[i, k]) * i32(B[k, j])\n"
      "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n",
      "test.weft");
  ASSERT_TRUE(file.ok());
  auto nest = scheduled(file->programs.front(),
                        *parse_trace(schedule(kUnits[0], {}).text() +
                                     "\n  permute Q [i, j]\n  vectorize Q j 32\n  fuse Q into C at i.1\n"));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  EXPECT_GT(products_after_first_store(*nest), 0u);
  auto chained = parse_loop_nest(replaced(replaced(print(*nest), "A[i.1 + 16", "Q[16"), "Q[i.1 + i@", "Q[i@"));
  ASSERT_TRUE(chained.ok()) << chained.error().message;
  ASSERT_NE(print(*chained), print(*nest));
  EXPECT_EQ(products_after_first_store(*chained), 0u) << print(*chained);
  expect_same_bits(*chained, "chained");
}

// What follows the sums reads them from memory.
TEST(Tiles, results_may_be_used_at_once) {
  const char* text =
      "program g(M = 37, N = 50, K = 70)\nin A: u8[M, K]\nin B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: N] = sum[k: K] "
      "i32(A[i, k]) * i32(B[k, j])\n"
      "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n";
  auto file = lang::parse(text, "test.weft");
  ASSERT_TRUE(file.ok());
  auto nest = scheduled(file->programs.front(), schedule(kUnits[0], {}));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  expect_right(file->programs.front(), *nest);
  expect_same_bits(*nest, "requantized");
}

// One query of four heads: rows are keys where they lie, columns are heads that share them.
TEST(Tiles, heads_that_share_keys_are_columns) {
  const char* text =
      "program g(const H = 8, const G = 2, S = 70, const D = 64)\nin Q: bf16[H, D]\nin K: bf16[G, S, D]\n"
      "out A[h: H, j: S] = sum[d: D] f32(Q[h, d]) * f32(K[h // 4, j, d])\n";
  auto file = lang::parse(text, "test.weft");
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto trace = parse_trace(
      "trace 1\n  tile A [h: 4, j: 16, d: 32, d: 2]\n  permute A [h.1, j.1, d.1, d.2, j, h, d]\n  promote Q in A at "
      "h.1 heap layout [d0 / 16, d1 / 2, d0 % 16, d1 % 2]\n"
      "  accumulate A at j.1 tile\n  tensorize A j, h, d.2, d by tdpbf16ps\n  prefetch K in A along j by 16\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  auto nest = scheduled(file->programs.front(), *trace);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  expect_right(file->programs.front(), *nest);
  EXPECT_EQ(expect_same_bits(*nest, "heads").counts.products, 2 * 5 * 2);
  EXPECT_NE(targets::assembly_text(*nest, with_tiles())->find("prefetcht1"), std::string::npos);
  auto wrong = parse_trace(
      "trace 1\n  tile A [h: 3, j: 16, d: 32, d: 2]\n  permute A [h.1, j.1, d.1, d.2, j, h, d]\n  accumulate A at j.1 "
      "tile\n  tensorize A j, h, d.2, d by tdpbf16ps\n");
  auto refused = scheduled(file->programs.front(), *wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0322");
}

// Of a tile that four blocks load, each asks for four rows of the next; of one that a block loads alone, all sixteen
// are asked for at once.
TEST(Tiles, blocks_share_what_they_ask_for_ahead) {
  const Program program = product(kUnits[0], {64, 64, 64});
  const auto requests = [&](const std::string& outer, const std::string& inner) -> size_t {
    auto trace =
        parse_trace("trace 1\n  tile C [i: 16, j: 16, k: 64, k: 4]\n  permute C [" + outer + ", " + inner +
                    ", k.1, k.2, i, j, k]\n  promote B in C at root heap layout [d1 / 16, d0 / 4, d1 % 16, d0 % 4]\n"
                    "  accumulate C at " +
                    inner + " tile\n  tensorize C i, j, k.2, k by tdpbusd\n  prefetch A in C along i by 16\n");
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    auto nest = scheduled(program, *trace);
    EXPECT_TRUE(nest.ok()) << (nest.ok() ? "" : nest.error().message);
    expect_right(program, *nest);
    const std::string code = *targets::assembly_text(*nest, with_tiles());
    size_t out = 0;
    for (size_t at = code.find("prefetcht1"); at != std::string::npos; at = code.find("prefetcht1", at + 1)) ++out;
    return out;
  };
  EXPECT_GT(requests("i.1", "j.1"), 0U);
  EXPECT_EQ(4 * requests("i.1", "j.1"), requests("j.1", "i.1"));
}

// All tests above run on the chip too, where it has the unit: this one says whether it has.
TEST(Tiles, the_chip_gives_the_bits_of_the_emulator) {
  for (const Unit& unit : kUnits) {
    auto nest = scheduled(product(unit, {48, 80, 200}), schedule(unit, {}));
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    if (!expect_same_bits(*nest, unit.name).ran_on_chip)
      GTEST_SKIP() << "no tile unit in this chip, or none that the system gives to this process";
  }
}

TEST(Tiles, a_system_that_refuses_is_an_error_code) {
  auto nest = scheduled(product(kUnits[0], {16, 16, 64}), schedule(kUnits[0], {}));
  ASSERT_TRUE(nest.ok());
  const TileRun run = run_with_tiles(*nest, with_tiles(), arguments_of(*nest), TilePermission::refused);
  EXPECT_TRUE(run.ended) << run.problem;
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.counts.configurations, 0);
}

TEST(Tiles, targets_without_the_unit_say_so) {
  for (const Unit& unit : kUnits) {
    auto nest = scheduled(product(unit, {16, 16, 64}), schedule(unit, {}));
    ASSERT_TRUE(nest.ok());
    auto object = targets::compile_object(*nest, *find_target("x86-64-v4"));
    ASSERT_FALSE(object.ok());
    EXPECT_EQ(object.error().code, "PW0518");
    EXPECT_NE(object.error().message.find("instruction " + unit.name + " needs amx-tile"), std::string::npos);
  }
}

}  // namespace
}  // namespace polyweft::tile_test
