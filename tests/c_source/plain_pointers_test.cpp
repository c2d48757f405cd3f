// Kernels that take addresses of elements (build --abi c): the same results, and codes for addresses and values that
// are wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "c_source/cases.h"
#include "c_source/compiled.h"
#include "ir/nests/suit_target.h"
#include "ir/oracles/bound_program.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "poly/base_nest.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"

namespace polyweft::c_source_test {
namespace {

constexpr int kNull = -12, kUnaligned = -24, kOutside = 1;

std::unique_ptr<targets::LoadedCode> loaded(const LoopNest& nest, const std::string& symbol) {
  auto target = find_target("host");
  EXPECT_TRUE(target);
  auto suited = ir::for_target(*target, nest);
  EXPECT_TRUE(suited);
  auto object = targets::compile_object(*suited, *target, symbol, targets::Caller::plain_c);
  EXPECT_TRUE(object) << (object ? "" : object.error().message);
  auto code = targets::load_code(*object);
  EXPECT_TRUE(code);
  return std::move(*code);
}

/// Addresses of the arguments; packed inputs are packed.
struct Arguments {
  std::vector<TensorData> inputs, outputs;
  std::vector<void*> pointers;
  std::vector<std::shared_ptr<void>> packed;

  Arguments(const LoopNest& nest, const targets::LoadedCode& code, const std::string& symbol,
            std::vector<TensorData> in)
      : inputs(std::move(in)) {
    size_t next = 0;
    for (const BufferId id : nest.arguments) {
      const Buffer& b = nest.buffers[id];
      if (b.is_output) {
        outputs.push_back(make_tensor(b.type, b.extents));
        continue;
      }
      pointers.push_back(inputs[next++].bytes.data());
      for (const Pack& pack : nest.packs)
        if (pack.packed == id) pack_into(nest.buffers[pack.source].name, code, symbol);
    }
    for (TensorData& out : outputs) pointers.push_back(out.bytes.data());
  }

  void pack_into(const std::string& source, const targets::LoadedCode& code, const std::string& symbol) {
    auto bytes = reinterpret_cast<int64_t (*)()>(code.address(symbol + "_pack_" + source + "_bytes"));
    packed.emplace_back(std::aligned_alloc(64, static_cast<size_t>((bytes() + 63) / 64 * 64)), std::free);
    EXPECT_EQ(call(code.address(symbol + "_pack_" + source), {pointers.back(), packed.back().get()}), 0);
    pointers.back() = packed.back().get();
  }
};

TEST(PlainPointers, kernels_of_the_language_page_give_the_same_results) {
  const Cases cases = cases_of("tests/lang/programs", {NumericsClass::strict, NumericsClass::reassoc});
  ASSERT_GE(cases.size(), 60u);
  for (const Case& one : cases.all()) {
    const auto inputs = ir::seeded_inputs(one.program, 7, ir::DataKind::random);
    ir::EvaluateOptions options;
    options.with_bounds = true;
    const auto wanted = ir::evaluate(one.program, inputs, options);
    ASSERT_TRUE(wanted) << one.what;
    const auto code = loaded(one.nest, one.symbol);
    Arguments arguments(one.nest, *code, one.symbol, inputs);
    EXPECT_EQ(call(code->address(one.symbol), arguments.pointers), 0) << one.what;
    Case inexact = one;  // of functions the kernel has its own
    inexact.is_exact = false;
    EXPECT_EQ(difference(inexact, arguments.outputs, *wanted), "") << one.what;
  }
}

Case case_of(const std::string& text) {
  auto parsed = lang::parse(text, "");
  EXPECT_TRUE(parsed);
  Cases cases;
  const Program& program = parsed->programs[0];
  cases.add(program, *make_binding(program, {}), NumericsClass::reassoc, program.name);
  return cases.all()[0];
}

TEST(PlainPointers, null_and_misaligned_addresses_are_refused) {
  const Case one = case_of(
      "program p(N = 8)\nin A: f32[N]\nconst in W: f64[N]\nin e: i8[0*N]\nout C[i: N] = f64(A[i]) + W[i] + f64(sum[k: "
      "0..0] e[k])\n");
  const auto code = loaded(one.nest, "k");
  Arguments arguments(one.nest, *code, "k", ir::seeded_inputs(one.program, 1, ir::DataKind::integers));
  void* kernel = code->address("k");
  ASSERT_EQ(arguments.pointers.size(), 4u);
  const auto with = [&](size_t at, void* address) {
    std::vector<void*> pointers = arguments.pointers;
    pointers[at] = address;
    return call(kernel, pointers);
  };
  EXPECT_EQ(call(kernel, arguments.pointers), 0);
  for (const size_t at : {0, 1, 3}) {
    EXPECT_EQ(with(at, nullptr), kNull) << at;
    EXPECT_EQ(with(at, static_cast<char*>(arguments.pointers[at]) + 2), kUnaligned) << at;
  }
  EXPECT_EQ(with(1, static_cast<char*>(arguments.pointers[1]) + 8), kUnaligned);  // packed inputs begin on a cache line
  EXPECT_EQ(with(2, nullptr), 0);                                                 // it has no elements
}

TEST(PlainPointers, promised_values_are_scanned_unless_nobody_asks_for_it) {
  const Case one = case_of("program p(N = 40)\nin X: i32[N] values 0..9\nin T: f32[9]\nout C[i: N] = T[X[i]]\n");
  const auto code = loaded(one.nest, "k");
  Arguments arguments(one.nest, *code, "k", ir::seeded_inputs(one.program, 1, ir::DataKind::integers));
  EXPECT_EQ(call(code->address("k"), arguments.pointers), 0);
  arguments.inputs[0].set(39, {ElementType::i32, 0, 9});
  EXPECT_EQ(call(code->address("k"), arguments.pointers), kOutside);
  arguments.inputs[0].set(39, {ElementType::i32, 0, 8});
  EXPECT_EQ(call(code->address("k_unchecked"), arguments.pointers), 0);
}

TEST(PlainPointers, symbolic_kernels_take_their_sizes_behind_the_addresses) {
  auto parsed = lang::parse(
      "program p(M = 3, N = 4) assume M <= N\nin A: f32[M, N]\nin x: f32[N]\nout y[i: M] = sum[k: N] A[i, k] * x[k]\n",
      "");
  ASSERT_TRUE(parsed);
  auto nest = poly::symbolic_nest(normalize(parsed->programs[0]), NumericsClass::reassoc);
  ASSERT_TRUE(nest) << nest.error().message;
  const auto code = loaded(*nest, "k");
  const auto kernel =
      reinterpret_cast<int (*)(const float*, const float*, float*, int64_t, int64_t)>(code->address("k"));
  const float a[] = {1, 2, 3, 4, 5, 6}, x[] = {1, 10, 100};
  float y[2] = {};
  EXPECT_EQ(kernel(a, x, y, 2, 3), 0);
  EXPECT_EQ(y[0], 321);
  EXPECT_EQ(y[1], 654);
  EXPECT_EQ(kernel(a, nullptr, y, 2, 3), kNull);
  EXPECT_EQ(kernel(reinterpret_cast<const float*>(reinterpret_cast<const char*>(a) + 1), x, y, 2, 3), kUnaligned);
  EXPECT_GE(kernel(a, x, y, 3, 2), 16);
  EXPECT_EQ(kernel(a, x, y, int64_t{1} << 40, int64_t{1} << 40), 3);
  EXPECT_NE(reinterpret_cast<const char* (*)(int)>(code->address("k_message"))(16), nullptr);
}

TEST(PlainPointers, the_header_declares_what_the_object_has) {
  auto parsed = lang::parse(
      "program p(M = 3, N = 4)\nin int: bf16[M, N]\nconst in W: i8[N] values 0..5\nin c: bool[N]\nout partial y[i: M]: "
      "f64 where i > 0 = f64(f32(int[i, 0])) + f64(W[i])\n",
      "");
  ASSERT_TRUE(parsed) << parsed.error().message;
  Cases cases;
  cases.add(parsed->programs[0], {3, 4}, NumericsClass::reassoc, "p");
  EXPECT_EQ(targets::plain_c_header(cases.all()[0].nest, "q"),
            R"(/* q(M = 3, N = 4), made by Polyweft; numerics class reassoc.
 *
 *   int_2: input bf16[3][4] (its 16 bits)
 *   W: input i8[4], as q_pack_W packs it, on a border of 64 bytes
 *   c: input bool[4]
 *   y: output f64[3]
 *
 * Arrays are row-major, aligned to their elements, and do not overlap. Returns 0; -12 for a null pointer, -24 for one that is not
 * aligned, -11 where memory is not given, 1 for a value outside its promise, 2 where the system refuses the tile unit. */
#ifndef POLYWEFT_KERNEL_Q_H
#define POLYWEFT_KERNEL_Q_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int q(const uint16_t *int_2, const void *W, const bool *c, double *y);
/* Once, before the first call: W as the kernel wants it. */
int64_t q_pack_W_bytes(void);
int q_pack_W(const int8_t *from, void *packed);
int q_pack_W_unchecked(const int8_t *from, void *packed);

#ifdef __cplusplus
}
#endif

#endif
)");
}

}  // namespace
}  // namespace polyweft::c_source_test
