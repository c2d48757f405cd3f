#include "random/tile_products.h"

#include <gtest/gtest.h>

#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "poly/check/checker.h"
#include "schedules/steps.h"
#include "targets/kernels.h"
#include "targets/plain_run.h"

namespace polyweft::tile_test {

using targets_test::run_with_tiles;
using targets_test::TileRun;
using targets_test::with_tiles;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

Program product(const Unit& unit, Sizes sizes) {
  std::string text = "program g(M = " + std::to_string(sizes.m) + ", N = " + std::to_string(sizes.n) +
                     ", K = " + std::to_string(sizes.k) + ")\nin A: " + unit.a + "[M, K]\nin B: " + unit.b +
                     "[K, N]\nout C[i: M, j: N] = sum[k: K] " + (unit.a == unit.sum ? "" : unit.sum) + "(A[i, k]) * " +
                     unit.sum + "(B[k, j])\n";
  auto file = lang::parse(text, "test.weft");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file->programs.front();
}

Trace schedule(const Unit& unit, const Block& block) {
  const std::string q = std::to_string(unit.group), kt = std::to_string(16 * unit.group);
  std::string text = "trace 1\n  tile C [j: " + std::to_string(16 * block.columns) +
                     ", i: " + std::to_string(16 * block.rows) + ", j: 16, i: 16, k: " + kt + ", k: " + q +
                     "]\n  permute C [j.1, i.1, k.1, i.2, j.2, k.2, k, i, j]\n";
  if (!block.parallel.empty()) text += "  parallel C " + block.parallel + "\n";
  text += "  promote B in C at j.1 heap layout [d1 / 16, d0 / " + q + ", d1 % 16, d0 % " + q + "]\n";
  if (block.packs_a)
    text += "  promote A in C at i.1 heap layout [d0 / 16, d1 / " + kt + ", d0 % 16, d1 % " + kt + "]\n";
  text += "  accumulate C at i.1 " + block.scope + "\n  tensorize C i, j, k.2, k by " + unit.name +
          "\n  unroll C i.2\n  unroll C j.2\n";
  auto trace = parse_trace(text);
  EXPECT_TRUE(trace.ok()) << text << (trace.ok() ? "" : trace.error().message);
  return *trace;
}

Program bound(const Program& source) {
  return polyweft::normalize(polyweft::bind(source, *make_binding(source, {})));
}
Result<LoopNest> scheduled(const Program& source, const Trace& trace, NumericsClass cls) {
  auto t = schedules::replay(bound(source), cls, trace);
  if (!t) return t.error();
  return instantiate(*t, values_of(trace));
}

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
std::vector<TensorData> arguments_of(const LoopNest& nest) {
  std::vector<TensorData> out;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[id];
    TensorData cells =
        buffer.is_packed ? make_tensor(buffer.type, {allocated_elements(buffer)}) : targets_test::argument_data(buffer);
    for (int64_t k = 0; k < cells.elements(); ++k) {
      const int64_t value = small_integer(static_cast<uint64_t>(k + 1000 * id), cells.type);
      cells.set(k, is_float(cells.type) ? ir::float_literal(cells.type, static_cast<double>(value))
                                        : ir::integer_literal(cells.type, value));
    }
    out.push_back(targets_test::argument_data(buffer));  // a packed argument is bytes to its caller
    out.back().bytes = std::move(cells.bytes);
  }
  return out;
}

TileRun expect_same_bits(const LoopNest& nest, const std::string& what) {
  std::vector<TensorData> expected = arguments_of(nest);
  TileRun run = run_with_tiles(nest, with_tiles(), expected);
  EXPECT_TRUE(run.ended) << what << ": " << run.problem << " signal " << run.signal << " code " << run.code;
  EXPECT_EQ(run.code, 0) << what;
  if (!run.ended || run.code != 0) return run;
  for (size_t a = 0; a < expected.size();
       ++a) {  // a packed argument is bytes to its caller, cells of its type to the nest
    const Buffer& buffer = nest.buffers[nest.arguments[a]];
    if (!buffer.is_packed) continue;
    run.arguments[a] = make_tensor(buffer.type, {allocated_elements(buffer)});
    run.arguments[a].bytes = expected[a].bytes;
    expected[a] = run.arguments[a];
  }
  targets_test::PlainRun(nest).run(expected);
  for (size_t a = 0; a < expected.size(); ++a)
    EXPECT_EQ(targets_test::difference(run.arguments[a], expected[a]), "") << what << " argument " << a;
  EXPECT_EQ(run.counts.configurations, run.counts.releases) << what;
  return run;
}

}  // namespace polyweft::tile_test
