// Tile units: nests with sums in tiles by evaluator, interpreter and checker; their code by an emulator of the instructions, bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/evaluator.h"
#include "ir/instruction.h"
#include "ir/interpreter.h"
#include "ir/seeded_data.h"
#include "ir/tag.h"
#include "lang/parser.h"
#include "poly/check/checker.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "targets/kernels.h"
#include "targets/plain_run.h"
#include "targets/tile_unit.h"

namespace polyweft::random_test {
namespace {

using targets_test::run_with_tiles;
using targets_test::TilePermission;
using targets_test::TileRun;
using targets_test::with_tiles;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

/// An instruction's operands, and how many values of k stand together.
struct Unit {
  std::string name, a, b, sum;
  int64_t group = 4;
};
const Unit kUnits[] = {{"tdpbusd", "u8", "i8", "i32", 4}, {"tdpbf16ps", "bf16", "bf16", "f32", 2}};
const Unit kOtherSigns[] = {{"tdpbssd", "i8", "i8", "i32", 4}, {"tdpbsud", "i8", "u8", "i32", 4}, {"tdpbuud", "u8", "u8", "i32", 4}};

struct Sizes {
  int64_t m = 1, n = 1, k = 1;
};
Program product(const Unit& unit, Sizes sizes) {
  std::string text = "program g(M = " + std::to_string(sizes.m) + ", N = " + std::to_string(sizes.n) + ", K = " + std::to_string(sizes.k) + ")\nin A: " + unit.a +
                     "[M, K]\nin B: " + unit.b + "[K, N]\nout C[i: M, j: N] = sum[k: K] " + (unit.a == unit.sum ? "" : unit.sum) + "(A[i, k]) * " + unit.sum +
                     "(B[k, j])\n";
  auto file = lang::parse(text, "test.weft");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file->programs.front();
}

/// rows x columns tiles of sums.
struct Block {
  int rows = 2, columns = 2;
  std::string scope = "tile";
  bool packs_a = false;
  std::string parallel;  ///< a loop
};
Trace schedule(const Unit& unit, const Block& block) {
  const std::string q = std::to_string(unit.group), kt = std::to_string(16 * unit.group);
  std::string text = "trace 1\n  tile C [j: " + std::to_string(16 * block.columns) + ", i: " + std::to_string(16 * block.rows) + ", j: 16, i: 16, k: " + kt +
                     ", k: " + q + "]\n  permute C [j.1, i.1, k.1, i.2, j.2, k.2, k, i, j]\n";
  if (!block.parallel.empty()) text += "  parallel C " + block.parallel + "\n";
  text += "  promote B in C at j.1 heap layout [d1 / 16, d0 / " + q + ", d1 % 16, d0 % " + q + "]\n";
  if (block.packs_a) text += "  promote A in C at i.1 heap layout [d0 / 16, d1 / " + kt + ", d0 % 16, d1 % " + kt + "]\n";
  text += "  accumulate C at i.1 " + block.scope + "\n  tensorize C i, j, k.2, k by " + unit.name + "\n  unroll C i.2\n  unroll C j.2\n";
  auto trace = parse_trace(text);
  EXPECT_TRUE(trace.ok()) << text << (trace.ok() ? "" : trace.error().message);
  return *trace;
}

Program bound(const Program& source) {
  return polyweft::normalize(polyweft::bind(source, *make_binding(source, {})));
}
Result<LoopNest> scheduled(const Program& source, const Trace& trace, NumericsClass cls = NumericsClass::reassoc) {
  auto t = schedules::replay(bound(source), cls, trace);
  if (!t) return t.error();
  return instantiate(*t, values_of(trace));
}

/// The interpreter's outputs are the evaluator's, tag mode finds nothing, and the checker proves the nest.
void expect_right(const Program& source, const LoopNest& nest) {
  const Program program = bound(source);
  ASSERT_TRUE(verify(nest).ok()) << verify(nest).error().message;
  const auto inputs = ir::seeded_inputs(program, 3, ir::DataKind::integers);
  auto got = ir::interpret(nest, inputs, {});
  auto wanted = ir::evaluate(program, inputs, {});
  ASSERT_TRUE(got.ok() && wanted.ok());
  EXPECT_EQ(got->tensors[0].bytes, wanted->tensors[0].bytes);
  EXPECT_EQ(poly::check_nest(program, nest).verdict, Verdict::proven);
}

int64_t small_integer(uint64_t n, ElementType type) {
  const auto value = static_cast<int64_t>((n * 2654435761u >> 7) % 256);
  return type == ElementType::u8 ? value : type == ElementType::i8 ? value - 128 : value % 17 - 8;
}
/// Arguments of the nest; bytes of all values, floats small whole numbers.
std::vector<TensorData> arguments_of(const LoopNest& nest) {
  std::vector<TensorData> out;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[id];
    TensorData cells = buffer.is_packed ? make_tensor(buffer.type, {allocated_elements(buffer)}) : targets_test::argument_data(buffer);
    for (int64_t k = 0; k < cells.elements(); ++k) {
      const int64_t value = small_integer(static_cast<uint64_t>(k + 1000 * id), cells.type);
      cells.set(k, is_float(cells.type) ? ir::float_literal(cells.type, static_cast<double>(value)) : ir::integer_literal(cells.type, value));
    }
    out.push_back(targets_test::argument_data(buffer));  // a packed argument is bytes to its caller
    out.back().bytes = std::move(cells.bytes);
  }
  return out;
}

/// The compiled nest through the emulator and the interpreter agree in every bit.
TileRun expect_same_bits(const LoopNest& nest, const std::string& what) {
  std::vector<TensorData> expected = arguments_of(nest);
  TileRun run = run_with_tiles(nest, with_tiles(), expected);
  EXPECT_TRUE(run.ended) << what << ": " << run.problem << " signal " << run.signal << " code " << run.code;
  EXPECT_EQ(run.code, 0) << what;
  if (!run.ended || run.code != 0) return run;
  for (size_t a = 0; a < expected.size(); ++a) {  // a packed argument is bytes to its caller, cells of its type to the nest
    const Buffer& buffer = nest.buffers[nest.arguments[a]];
    if (!buffer.is_packed) continue;
    run.arguments[a] = make_tensor(buffer.type, {allocated_elements(buffer)});
    run.arguments[a].bytes = expected[a].bytes;
    expected[a] = run.arguments[a];
  }
  targets_test::PlainRun(nest).run(expected);
  for (size_t a = 0; a < expected.size(); ++a) EXPECT_EQ(targets_test::difference(run.arguments[a], expected[a]), "") << what << " argument " << a;
  EXPECT_EQ(run.counts.configurations, run.counts.releases) << what;
  return run;
}

TEST(Tiles, all_sizes_of_all_instructions) {
  for (const Unit& unit : kUnits)
    for (const Sizes& s : {Sizes{1, 1, 1}, {1, 17, 3}, {17, 31, 67}, {32, 32, 128}, {33, 47, 101}, {53, 64, 131}, {5, 80, 255}})
      for (bool packs_a : {false, true}) {
        const std::string what = unit.name + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + (packs_a ? " packed" : "");
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
  for (const auto& [rows, columns] : {std::array{1, 1}, {2, 2}, {1, 3}, {3, 1}, {1, 4}, {2, 3}, {3, 2}, {6, 1}, {1, 6}}) {
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
      if (loop == std::string("i.1")) trace = *parse_trace(replaced(replaced(trace.text(), "[j.1, i.1,", "[i.1, j.1,"), "accumulate C at i.1", "accumulate C at j.1"));
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
          parse_trace(replaced(replaced(replaced(text, "tile C [", "tile C [k: 128, "), "[j.1, i.1, k.1, i.2, j.2, k.2, k,", "[k.1, j.1, i.1, k.2, i.2, j.2, k.3, k,"),
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

// Blocks in a pipeline: what a block leaves is stored and read among the products of the next one; each sum is still begun and stored once.
TEST(Tiles, blocks_leave_among_the_products_of_the_next) {
  for (const Unit& unit : kUnits)
    for (const auto& [rows, columns] : {std::array{2, 2}, {1, 3}, {1, 1}})
      for (int64_t steps : {3, 4, 7, 8, 40})
        for (int64_t blocks : {2, 3}) {
          Block block;
          block.rows = rows;
          block.columns = columns;
          const int64_t m = 16 * rows * blocks, n = 16 * columns * 2, k = 16 * unit.group * steps;
          const std::string what = unit.name + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
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
    const std::string text = "program g(M = 64, N = 64, K = " + std::to_string(k) +
                             ")\nin A: u8[M, K]\nin B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
                             "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n";
    auto file = lang::parse(text, "test.weft");
    ASSERT_TRUE(file.ok());
    const std::string trace = schedule(kUnits[0], {}).text() + "\n  permute Q [i, j]\n  vectorize Q j 32\n  fuse Q into C at i.1\n";
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
      "program g(M = 64, N = 256, K = 256)\nin A: u8[M, K]\nin B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
      "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n",
      "test.weft");
  ASSERT_TRUE(file.ok());
  auto nest = scheduled(file->programs.front(), *parse_trace(schedule(kUnits[0], {}).text() + "\n  permute Q [i, j]\n  vectorize Q j 32\n  fuse Q into C at i.1\n"));
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
      "program g(M = 37, N = 50, K = 70)\nin A: u8[M, K]\nin B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
      "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n";
  auto file = lang::parse(text, "test.weft");
  ASSERT_TRUE(file.ok());
  auto nest = scheduled(file->programs.front(), schedule(kUnits[0], {}));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  expect_right(file->programs.front(), *nest);
  expect_same_bits(*nest, "requantized");
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
/// Intel's order for one element: two chains of fused additions over 32 values of k, their sum, then the cell. A rest is whole pairs, then one.
float tile_sum(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (size_t begin = 0, end = 0; begin < a.size(); begin = end) {
    const size_t rest = a.size() - begin;
    end = begin + (rest >= 32 ? 32 : rest > 1 ? rest / 2 * 2 : rest);
    float chain[2] = {0, 0};
    for (size_t k = begin; k < end; ++k) chain[k % 2] = flushed(std::fma(flushed(a[k]), flushed(b[k]), chain[k % 2]));
    sum = flushed(sum + flushed(chain[0] + chain[1]));
  }
  return sum;
}

// Fractions, tiny numbers and infinities: the order of additions is the instruction's, over all steps of k.
TEST(Tiles, bf16_adds_in_its_own_order) {
  const Sizes s{19, 21, 101};
  auto nest = scheduled(product(kUnits[1], s), schedule(kUnits[1], {}));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  std::vector<TensorData> arguments = arguments_of(*nest);
  for (size_t t = 0; t < 2; ++t)
    for (int64_t k = 0; k < arguments[t].elements(); ++k) {
      const double x = static_cast<double>(small_integer(static_cast<uint64_t>(k * 7 + static_cast<int64_t>(t)), ElementType::u8)) / 97 - 1.3;
      arguments[t].set(k, ir::float_literal(ElementType::bf16, k % 29 == 0 ? std::ldexp(x, -70) : k % 31 == 0 ? std::ldexp(x, -128) : x));
    }
  const TileRun run = run_with_tiles(*nest, with_tiles(), arguments);
  ASSERT_TRUE(run.ended) << run.problem;
  int differ_from_plain = 0;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      std::vector<float> a, b;
      float plain = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        a.push_back(static_cast<float>(arguments[0].at(i * s.k + k).f));
        b.push_back(static_cast<float>(arguments[1].at(k * s.n + j).f));
        plain = std::fma(a.back(), b.back(), plain);
      }
      const float wanted = tile_sum(a, b);
      EXPECT_EQ(std::bit_cast<uint32_t>(wanted), std::bit_cast<uint32_t>(static_cast<float>(run.arguments[2].at(i * s.n + j).f))) << i << " " << j;
      differ_from_plain += wanted != plain;
    }
  EXPECT_GT(differ_from_plain, 0);
}

// f32 times bf16: each f32 is the sum of three bf16, so that no bit of it is lost. Whole numbers that need 24 bits, all sizes, then values of every magnitude.
const Unit kParts = {"tdpbf16ps_parts", "f32", "bf16", "f32", 2};

TEST(Tiles, f32_operands_are_cut_in_three) {
  for (const Sizes& s : {Sizes{1, 1, 1}, {1, 17, 3}, {17, 31, 67}, {32, 64, 128}, {33, 47, 101}, {5, 80, 255}})
    for (const auto& [rows, columns] : {std::array{1, 4}, {2, 2}, {1, 6}})
      for (bool packs_a : {false, true}) {
        if (columns != 4 && (s.m < 32 || packs_a)) continue;
        Block block;
        block.rows = rows;
        block.columns = columns;
        block.packs_a = packs_a;
        const std::string what =
            std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " by " + std::to_string(columns) + (packs_a ? " packed" : "");
        const Program source = product(kParts, s);
        auto nest = scheduled(source, schedule(kParts, block));
        ASSERT_TRUE(nest.ok()) << what << nest.error().message;
        if (s.m < 20 && rows == 1) expect_right(source, *nest);
        const TileRun run = expect_same_bits(*nest, what);
        EXPECT_GT(run.counts.products, 0) << what;
        EXPECT_EQ(run.counts.products % 3, 0) << what;
      }
}

TEST(Tiles, parts_are_loaded_once_for_a_row_of_products) {
  Block block;
  block.rows = 1;
  block.columns = 4;
  auto nest = scheduled(product(kParts, {16, 64, 160}), schedule(kParts, block));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  const TileRun run = expect_same_bits(*nest, "1x4");
  EXPECT_EQ(run.counts.products, 5 * 4 * 3);
  EXPECT_EQ(run.counts.loads, 5 * (3 + 4));
}

TEST(Tiles, parts_lose_nothing) {
  const Sizes s{19, 70, 101};
  Block block;
  block.rows = 1;
  block.columns = 4;
  auto nest = scheduled(product(kParts, s), schedule(kParts, block));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  std::vector<TensorData> arguments = arguments_of(*nest);
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < arguments[0].elements(); ++k) {
    double x = static_cast<double>(static_cast<float>(std::sin(static_cast<double>(k) + 0.1)));
    if (k % 29 == 0) x = static_cast<double>(static_cast<float>(std::ldexp(x, -90)));
    const int64_t row = k / s.k;
    if (row == 3 && k % s.k == 50) x = kInfinity;
    if (row == 4 && k % s.k == 7) x = std::numeric_limits<double>::quiet_NaN();
    if (row == 5 && k % s.k == 100) x = -kInfinity;
    if (row == 6 && k % s.k == 33) x = static_cast<double>(std::numeric_limits<float>::max());
    if (row == 7 && k % 2 == 0) x = static_cast<double>(static_cast<float>(std::ldexp(x, -120)));  // its rests have no whole significand
    arguments[0].set(k, ir::float_literal(ElementType::f32, x));
  }
  for (int64_t k = 0; k < arguments[1].elements(); ++k)
    arguments[1].set(k, ir::float_literal(ElementType::bf16, static_cast<double>(small_integer(static_cast<uint64_t>(k), ElementType::bf16)) / 16 + 0.03125));
  const TileRun run = run_with_tiles(*nest, with_tiles(), arguments);
  ASSERT_TRUE(run.ended) << run.problem;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      double wanted = 0, size = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const double term = arguments[0].at(i * s.k + k).f * arguments[1].at(k * s.n + j).f;
        wanted += term, size += std::fabs(term);
      }
      const double got = run.arguments[2].at(i * s.n + j).f;
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << i << " " << j;
      } else if (std::isinf(wanted)) {
        EXPECT_EQ(got, wanted) << i << " " << j;
      } else if (size < 1e38) {
        EXPECT_LE(std::fabs(got - wanted), (16 + 1 + 3 * 4) * 0x1p-24 * size) << i << " " << j;  // roundings that a term passes
      }
    }
}

// One query of four heads: rows are keys where they lie, columns are heads that share them.
TEST(Tiles, heads_that_share_keys_are_columns) {
  const char* text =
      "program g(const H = 8, const G = 2, S = 70, const D = 64)\nin Q: bf16[H, D]\nin K: bf16[G, S, D]\n"
      "out A[h: H, j: S] = sum[d: D] f32(Q[h, d]) * f32(K[h // 4, j, d])\n";
  auto file = lang::parse(text, "test.weft");
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto trace = parse_trace(
      "trace 1\n  tile A [h: 4, j: 16, d: 32, d: 2]\n  permute A [h.1, j.1, d.1, d.2, j, h, d]\n  promote Q in A at h.1 heap layout [d0 / 16, d1 / 2, d0 % 16, d1 % 2]\n"
      "  accumulate A at j.1 tile\n  tensorize A j, h, d.2, d by tdpbf16ps\n  prefetch K in A along j by 16\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  auto nest = scheduled(file->programs.front(), *trace);
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  expect_right(file->programs.front(), *nest);
  EXPECT_EQ(expect_same_bits(*nest, "heads").counts.products, 2 * 5 * 2);
  EXPECT_NE(targets::assembly_text(*nest, with_tiles())->find("prefetcht1"), std::string::npos);
  auto wrong = parse_trace(
      "trace 1\n  tile A [h: 3, j: 16, d: 32, d: 2]\n  permute A [h.1, j.1, d.1, d.2, j, h, d]\n  accumulate A at j.1 tile\n  tensorize A j, h, d.2, d by tdpbf16ps\n");
  auto refused = scheduled(file->programs.front(), *wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0322");
}

// All tests above run on the chip too, where it has the unit: this one says whether it has.
TEST(Tiles, the_chip_gives_the_bits_of_the_emulator) {
  for (const Unit& unit : kUnits) {
    auto nest = scheduled(product(unit, {48, 80, 200}), schedule(unit, {}));
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    if (!expect_same_bits(*nest, unit.name).ran_on_chip) GTEST_SKIP() << "no tile unit in this chip, or none that the system gives to this process";
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

std::string refusal(const Trace& trace, const Unit& unit = kUnits[0]) {
  auto nest = scheduled(product(unit, {96, 96, 128}), trace);
  return nest.ok() ? "" : nest.error().code + " " + nest.error().message;
}

TEST(Tiles, never_more_than_eight_live) {
  Block block;
  EXPECT_EQ(refusal(schedule(kUnits[0], block)), "");
  block.rows = block.columns = 3;
  EXPECT_EQ(refusal(schedule(kUnits[0], block)), "PW0311 accumulate C in tiles: 9 tiles of sums and 2 of operands are 11 live tiles, the unit has 8");
  block.columns = 2;
  auto nest = scheduled(product(kUnits[0], {96, 96, 128}), schedule(kUnits[0], block));
  ASSERT_TRUE(nest.ok());
  const std::string text = print(*nest);
  auto grown = parse_loop_nest(replaced(replaced(text, "i32[48, 32] tile", "i32[48, 48] tile"), "[0:48, 1:32]", "[0:48, 1:48]"));
  ASSERT_TRUE(grown.ok());
  const Status status = verify(*grown);
  ASSERT_FALSE(status.ok()) << print(*grown);
  EXPECT_EQ(status.error().code, "PW0412");
  EXPECT_NE(status.error().message.find("9 tiles of sums and 2 of operands are 11 live tiles, the unit has 8"), std::string::npos) << status.error().message;
}

TEST(Tiles, refusals_name_what_differs) {
  const std::string right = schedule(kUnits[0], {}).text();
  const auto with = [&](const std::string& from, const std::string& to) {
    auto trace = parse_trace(replaced(right, from, to));
    return trace.ok() ? refusal(*trace) : trace.error().message;
  };
  EXPECT_NE(with("i.1 tile", "i.1 reg").find("registers have no rows"), std::string::npos);
  EXPECT_NE(with("  tensorize C i, j, k.2, k by tdpbusd\n  unroll C i.2\n  unroll C j.2\n", "").find("tiles"), std::string::npos);
  EXPECT_NE(with("  unroll C i.2\n", "").find("loop i.2 inside is neither unrolled nor part of the instruction"), std::string::npos);
  EXPECT_NE(with("i: 16,", "i: 8,").find("takes 16 values of i at once"), std::string::npos);
  EXPECT_NE(with("i, j, k.2, k by", "j, i, k.2, k by").find("PW0322"), std::string::npos);
  EXPECT_NE(with("heap layout", "tile layout").find("PW0308"), std::string::npos);
}

schedules::TargetFacts facts_of(const Target& target, int threads) {
  schedules::TargetFacts facts;
  facts.threads = threads;
  facts.cache_bytes = {48 << 10, 64 << 10, 1 << 20};  // small sizes have panels then
  for (const ir::Instruction& instruction : ir::known_instructions())
    if (instruction.runs_on(target)) facts.instructions.push_back(instruction.name);
  return facts;
}

bool has_tiles(const Trace& trace) {
  return trace.text().find(" tile\n") != std::string::npos;
}

// Rule 10 proposes blocks of tiles by itself; each is proven, and its code gives the interpreter's bits.
TEST(Tiles, sketches_propose_blocks) {
  const std::string kPrograms[] = {
      "program g(M = 35, N = 50, K = 140)\nin A: u8[M, K]\nconst in B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n",
      "program g(M = 35, N = 50, K = 70)\nin A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] f32(A[i, k]) * f32(B[k, j])\n",
      "program rounded(M = 40, N = 75, K = 600)\nin A: bf16[M, K]\nconst in B: bf16[K, N]\nin s: f32[N]\nlet S[i: M, j: N] = sum[k: K] f32(A[i, k]) * f32(B[k, j])\n"
      "out C[i: M, j: N] = bf16(max(S[i, j] + s[j], 0.0))\n",
      "program long(M = 70, N = 40, K = 1100)\nin A: u8[M, K]\nconst in B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n",
      "program swapped(M = 33, N = 50, K = 130)\nin W: i8[K, N]\nin X: i8[M, K]\nout Y[i: M, j: N] = sum[k: K] i32(W[k, j]) * i32(X[i, k])\n",
      "program transposed(M = 33, N = 40, K = 70)\nin X: u8[K, M]\nin W: u8[K, N]\nout Y[i: M, j: N] = sum[k: K] i32(X[k, i]) * i32(W[k, j])\n",
      "program batch(B = 2, M = 20, N = 36, K = 66)\nin X: u8[B, M, K]\nin W: i8[B, K, N]\nout Y[b: B, i: M, j: N] = sum[k: K] i32(X[b, i, k]) * i32(W[b, k, j])\n",
      "program conv(H = 4, W = 19, C = 40, O = 20)\nin X: u8[H + 2, W + 2, C]\nconst in F: i8[3, 3, C, O]\n"
      "out Y[y: H, x: W, o: O] = sum[r: 3, s: 3, c: C] i32(F[r, s, c, o]) * i32(X[y + r, x + s, c])\n",
  };
  for (const std::string& text : kPrograms)
    for (int threads : {1, 2}) {
      if (threads == 2 && text != kPrograms[0] && text != kPrograms[1]) continue;
      auto file = lang::parse(text, "test.weft");
      ASSERT_TRUE(file.ok()) << file.error().message;
      const Program& source = file->programs.front();
      int with_tiles_count = 0, fused = 0, in_panels = 0;
      for (const Trace& trace : schedules::sketches(bound(source), NumericsClass::reassoc, facts_of(with_tiles(), threads))) {
        if (!has_tiles(trace)) continue;
        ++with_tiles_count;
        fused += trace.text().find("fuse ") != std::string::npos;
        in_panels += trace.text().find("decide panel") != std::string::npos;
        auto nest = scheduled(source, trace);
        ASSERT_TRUE(nest.ok()) << trace.text() << nest.error().message;
        ASSERT_TRUE(verify(*nest).ok()) << verify(*nest).error().message;
        EXPECT_EQ(poly::check_nest(bound(source), *nest).verdict, Verdict::proven) << trace.text();
        EXPECT_GT(expect_same_bits(*nest, trace.text()).counts.products, 0) << trace.text();
      }
      EXPECT_GT(with_tiles_count, 0) << text;
      EXPECT_EQ(fused > 0, text.find("rounded") != std::string::npos) << text;
      if (text.find("K = 1100") != std::string::npos) {
        EXPECT_GT(in_panels, 0);
      }
    }
}

// B in another order: no tile is loaded from it, and a nest that mixes its cells up is refuted.
TEST(Tiles, another_order_is_plain_code_or_refuted) {
  const Program source = product(kUnits[0], {32, 32, 128});
  const Trace trace = schedule(kUnits[0], {});
  auto plain = scheduled(source, *parse_trace(replaced(trace.text(), "d1 % 16, d0 % 4", "d0 % 4, d1 % 16")));
  ASSERT_TRUE(plain.ok());
  expect_right(source, *plain);
  EXPECT_EQ(expect_same_bits(*plain, "other order").counts.products, 0);
  EXPECT_EQ(targets::assembly_text(*plain, with_tiles())->find("ldtilecfg"), std::string::npos);
  const std::string right = print(*scheduled(source, trace));
  for (const auto& [from, to] : {std::pair{"B.p[k.1", "B.p[1 + k.1"}, {"+ k.2 + k, 16*j.2", "+ k.2 + k, 16*i.2"}, {"4*k.2", "2*k.2"}}) {
    const std::string wrong = replaced(right, from, to);
    if (wrong == right) continue;
    auto nest = parse_loop_nest(wrong);
    if (!nest.ok()) continue;
    EXPECT_EQ(poly::check_nest(bound(source), *nest).verdict, Verdict::refuted) << from;
  }
}

}  // namespace
}  // namespace polyweft::random_test
