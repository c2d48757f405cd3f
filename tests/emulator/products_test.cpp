// Products that the lanes of a warp make together, in nests: bits of the interpreter for every instruction, with whole
// tiles and edges, operands in shared memory and where they lie, either layout; barriers left out; registers exchanged.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "backend/bits.h"
#include "emulator/harness.h"
#include "emulator/product_nests.h"
#include "ir/nests/instruction.h"
#include "ir/oracles/interpreter.h"
#include "polyweft/tuner.h"
#include "schedules/sketches/grid.h"
#include "schedules/steps.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::program_of_text;

std::vector<ProductCase> all_instructions() {
  return product_cases({"sm_75", "sm_80"});
}

TEST_F(Emulator, products_of_warps_give_the_bits_of_the_interpreter) {
  int calls = 0;
  for (const ProductCase& c : all_instructions()) {
    SCOPED_TRACE(c.instruction->name);
    const ProductSizes whole{4 * c.m, 4 * c.n, 4 * c.k}, edges{5 * c.m + 3, 4 * c.n + 5, 3 * c.k + 2, true};
    for (const ProductSizes& sizes : {whole, edges})
      for (const bool is_staged : {true, false}) {
        SCOPED_TRACE(is_staged ? "in shared memory" : "where they lie");
        const auto nest = product_nest(c, sizes, is_staged);
        ASSERT_TRUE(nest);
        EXPECT_NE(text(*nest, emulated(c.machine, "")).find("polyweft_emulator_product"), std::string::npos);
        expect_bits(*nest, c.machine, {integer_inputs_of(*nest)});
        ++calls;
      }
  }
  std::printf("%d nests\n", calls);
  EXPECT_EQ(calls, 4 * 11);
}

int times(const std::string& text, const std::string& what) {
  int out = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

TEST_F(Emulator, operands_that_are_copied_by_vectors_and_ahead_give_the_bits_of_the_interpreter) {
  const ProductOperands kWays[] = {{true, 4}, {true, 8, 2}, {true, 16, 2}, {true, 16, 3}};
  const bool is_long = std::getenv("PW_LONG_PRODUCTS") != nullptr;  // else a third of them runs
  int nests = 0, turned = 0;
  for (const ProductCase& c : all_instructions()) {
    SCOPED_TRACE(c.instruction->name);
    const ProductSizes whole{4 * c.m, 4 * c.n, 10 * c.k}, row{5 * c.m, 4 * c.n + 16, 6 * c.k, true};
    for (const ProductSizes& sizes : {whole, row})
      for (const ProductOperands& operands : kWays) {
        SCOPED_TRACE(std::to_string(operands.bytes) + " bytes, " + std::to_string(operands.slots) + " slots");
        const auto nest = product_nest(c, sizes, operands);
        ASSERT_TRUE(nest);
        const std::string code = text(*nest, emulated(c.machine, ""));
        if (c.machine == "sm_80" && operands.bytes == 16) {
          EXPECT_NE(code.find("polyweft_emulator_copy("), std::string::npos);
        }
        EXPECT_EQ(code.find("polyweft_emulator_wait_copies") != std::string::npos, c.machine == "sm_80");
        turned += times(code, "call void @polyweft_emulator_load_matrix") > 0;
        if (is_long || nests % 3 == 0) expect_bits(*nest, c.machine, {integer_inputs_of(*nest)});
        ++nests;
      }
  }
  std::printf("%d nests, %d load matrices\n", nests, turned);
  EXPECT_EQ(nests, 8 * 11);
  EXPECT_EQ(turned, 88);
}

TEST_F(Emulator, a_wait_for_copies_ahead_that_is_missing_shows_in_some_order) {
  Mutants mutants;
  for (const ProductCase& c : all_instructions()) {
    if (c.machine != "sm_80") continue;
    for (const int slots : {2, 3}) {
      const auto nest = product_nest(c, {4 * c.m, 4 * c.n, 10 * c.k}, {true, 16, slots});
      ASSERT_TRUE(nest);
      drop_each_call(c.instruction->name, *nest, mutants);
    }
  }
  std::printf("%d waits dropped, %d found\n", mutants.made, mutants.found);
  EXPECT_GE(mutants.made, 24);
  EXPECT_EQ(mutants.equivalent, std::vector<std::string>());
}

/// What programs have around their products.
constexpr const char* kPrograms[] = {
    "program batch(P = 3, M = 40, N = 24, K = 32)\nin A: bf16[P, M, K]\nin B: bf16[P, K, N]\nout C[p: P, i: M, j: N] "
    "= sum[k: K] f32(A[p, i, k]) * f32(B[p, k, j])\n",
    "program convolution(N = 2, H = 3, W = 20, C = 32, F = 24)\nin X: i8[N, H+2, W+2, C]\nin K: i8[3, 3, C, F]\nout "
    "Y[n: N, y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] i32(X[n, y+r, x+s, c]) * i32(K[r, s, c, f])\n",
    "program layer(M = 50, N = 40, K = 48)\nin A: f16[M, K]\nin B: f16[K, N]\nin b: f32[N]\nlet C[i: M, j: N] = "
    "sum[k: K] f32(A[i, k]) * f32(B[k, j])\nout Y[i: M, j: N] = max(C[i, j] + b[j], 0)\n",
};

TEST_F(Emulator, sketches_with_products_give_the_bits_of_the_interpreter) {
  const Target target = find_target("sm_80").value();
  for (const char* text : kPrograms) {
    const Program program = program_of_text(text);
    SCOPED_TRACE(program.name);
    const auto sketches = schedules::grid_product_sketches(program, NumericsClass::reassoc, target.machine, {});
    ASSERT_EQ(sketches.size(), 2);
    for (const NestTemplate& sketch : sketches) {
      const auto nest = instantiate(sketch, values_of(sketch.trace));
      ASSERT_TRUE(nest) << nest.error().message << sketch.trace.text();
      EXPECT_NE(print(*nest).find("tensor \"mma_"), std::string::npos);
      expect_bits(*nest, "sm_80", {integer_inputs_of(*nest)});
    }
  }
}

TEST_F(Emulator, an_instruction_that_the_machine_lacks_is_refused) {
  for (const ProductCase& c : all_instructions()) {
    if (c.machine != "sm_80") continue;
    const auto nest = product_nest(c, {c.m, c.n, 2 * c.k}, false);
    ASSERT_TRUE(nest);
    for (const char* machine : {"sm_75", "gfx942"}) {
      const Target target = find_target(machine).value();
      const auto made = targets::backend_of(target.architecture)->build(*nest, target, {"kernel"});
      ASSERT_FALSE(made) << c.instruction->name;
      const std::string said = made.error().code + " " + made.error().message;
      EXPECT_TRUE(said.starts_with("PW0518 instruction " + c.instruction->name + " needs ")) << said;
      EXPECT_TRUE(said.ends_with(std::string(", which target ") + machine + " has not")) << said;
    }
  }
}

TEST_F(Emulator, a_barrier_around_products_that_is_missing_shows_in_some_order) {
  Mutants mutants;
  for (const ProductCase& c : all_instructions()) {
    if (c.machine != "sm_80") continue;
    const auto nest = product_nest(c, {4 * c.m, 4 * c.n, 6 * c.k}, true);
    ASSERT_TRUE(nest);
    drop_each_call(c.instruction->name, *nest, mutants);
  }
  std::printf("%d barriers dropped, %d found\n", mutants.made, mutants.found);
  EXPECT_EQ(mutants.made, 12);
  EXPECT_EQ(mutants.equivalent, std::vector<std::string>());
}

/// The product of one fragment, as LLVM's text for one warp.
std::string text_of_fragment(const ProductCase& c) {
  const auto nest = product_nest(c, {c.m, c.n, 2 * c.k}, false);
  const auto made = targets::backend_of("nvptx64")->emit(*nest, find_target(c.machine).value(), Emit::llvm, {"kernel"});
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::string(made->begin(), made->end()) : "";
}

/// Exchanges two arguments of each call of the instruction; "" where there is none.
std::string with_exchanged(const std::string& text, const std::string& call, size_t one, size_t other) {
  std::string out;
  size_t at = 0, calls = 0;
  for (size_t found; (found = text.find("@" + call + "(", at)) != std::string::npos;) {
    const size_t open = text.find('(', found), close = text.find(')', open);
    std::vector<std::string> arguments;
    for (size_t from = open + 1, comma = 0; comma < close; from = comma + 1) {
      comma = std::min(text.find(',', from), close);
      arguments.push_back(text.substr(from, comma - from));
    }
    if (text.compare(text.rfind('\n', found) + 1, 7, "declare") != 0)
      std::swap(arguments.at(one), arguments.at(other)), ++calls;
    out += text.substr(at, open + 1 - at);
    for (size_t a = 0; a < arguments.size(); ++a) out += (a ? "," : "") + arguments[a];
    at = close;
  }
  return calls == 0 ? "" : out + text.substr(at);
}

TEST_F(Emulator, exchanged_registers_of_fragments_show) {
  int made = 0, found = 0;
  for (const ProductCase& c : all_instructions()) {
    SCOPED_TRACE(c.instruction->name);
    const auto nest = product_nest(c, {c.m, c.n, 2 * c.k}, false);
    ASSERT_TRUE(nest);
    const std::string text = text_of_fragment(c);
    const auto right = ir::interpret(*nest, integer_inputs_of(*nest));
    ASSERT_TRUE(right) << right.error().message;
    const auto plain = product_by(text, *nest, c);
    ASSERT_TRUE(plain);
    ASSERT_EQ(backend_test::first_difference(*plain, right->tensors.back()), "");
    std::vector<std::pair<size_t, size_t>> operands;  // first register, how many
    size_t next = 0;
    for (const size_t operand : {1, 2, 0}) {
      const auto& own = c.instruction->operands[operand];
      const auto registers = static_cast<size_t>(own.register_lanes * size_bytes(own.type) / 4);
      operands.emplace_back(next, registers);
      next += registers;
    }
    for (const auto& [first, count] : operands)
      for (size_t one = first; one < first + count; ++one)
        for (size_t other = one + 1; other < first + count; ++other) {
          const std::string mutant = with_exchanged(text, c.instruction->call, one, other);
          ASSERT_NE(mutant, "");
          const auto got = product_by(mutant, *nest, c);
          ++made;
          const bool shows = !got || !backend_test::first_difference(*got, right->tensors.back()).empty();
          found += shows;
          EXPECT_TRUE(shows) << one << " and " << other;
        }
  }
  std::printf("%d pairs of registers exchanged, %d found\n", made, found);
  EXPECT_GE(made, 60);
}

}  // namespace
}  // namespace polyweft::emulator_test
