// Products of AMD's matrix units in nests: bits of the interpreter for every instruction, with whole tiles and edges,
// operands in shared memory and where they lie; barriers left out; registers exchanged; and where cells lie, as AMD's
// own calculator says it, in the instruction files and in the emulator.
#include "targets/gpu/emulator/runtime/wave_products.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "backend/bits.h"
#include "emulator/harness.h"
#include "emulator/product_nests.h"
#include "ir/oracles/interpreter.h"
#include "polyweft/tuner.h"
#include "schedules/sketches/grid.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::program_of_text;

/// Each instruction on one of its machines.
std::vector<ProductCase> wave_instructions() {
  std::vector<ProductCase> out;
  for (const ProductCase& c : product_cases({"gfx942", "gfx90a", "gfx1100", "gfx1201"})) {
    const bool is_there = std::any_of(out.begin(), out.end(),
                                      [&](const ProductCase& other) { return other.instruction == c.instruction; });
    if (!is_there) out.push_back(c);
  }
  return out;
}

bool is_as_others(const ProductCase& c) {
  const auto& operands = c.instruction->operands;
  return operands[1].type == ElementType::u8 || operands[2].type == ElementType::u8 ||
         operands[1].type == ElementType::bf16;
}

TEST_F(Emulator, products_of_waves_give_the_bits_of_the_interpreter) {
  int calls = 0;
  bool is_staged = false;
  for (const ProductCase& c : wave_instructions()) {
    SCOPED_TRACE(c.instruction->name);
    is_staged = !is_staged;
    const ProductSizes whole{4 * c.m, 4 * c.n, 4 * c.k}, edges{3 * c.m + 3, 2 * c.n + 5, 3 * c.k + 2, true};
    for (const ProductSizes& sizes : {whole, edges}) {
      // Bytes of all signs lie in the same places, bf16 as halves do. Operands in shared memory in one case, where they
      // lie in the other: each with either size over all instructions.
      is_staged = !is_staged;
      if (is_as_others(c) && !sizes.is_transposed) continue;
      SCOPED_TRACE(is_staged ? "in shared memory" : "where they lie");
      const auto nest = product_nest(c, sizes, is_staged);
      ASSERT_TRUE(nest);
      EXPECT_NE(text(*nest, emulated(c.machine, "")).find("polyweft_emulator_wave_product"), std::string::npos);
      expect_bits(*nest, c.machine, {integer_inputs_of(*nest)});
      ++calls;
    }
  }
  std::printf("%d nests\n", calls);
  EXPECT_EQ(calls, 2 * 10 + 10);
}

constexpr const char* kWavePrograms[] = {
    "program batch(P = 3, M = 40, N = 24, K = 32)\nin A: bf16[P, M, K]\nin B: bf16[P, K, N]\nout C[p: P, i: M, j: N] "
    "= sum[k: K] f32(A[p, i, k]) * f32(B[p, k, j])\n",
    "program layer(M = 50, N = 40, K = 48)\nin A: f16[M, K]\nin B: f16[K, N]\nin b: f32[N]\nlet C[i: M, j: N] = "
    "sum[k: K] f32(A[i, k]) * f32(B[k, j])\nout Y[i: M, j: N] = max(C[i, j] + b[j], 0)\n",
    "program bytes(M = 40, N = 70, K = 64)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) "
    "* i32(B[k, j])\n",
};

TEST_F(Emulator, sketches_with_products_of_waves_give_the_bits_of_the_interpreter) {
  for (const char* machine : {"gfx942", "gfx1201"}) {
    const Target target = find_target(machine).value();
    for (const char* text : kWavePrograms) {
      const Program program = program_of_text(text);
      SCOPED_TRACE(program.name);
      const auto sketches = schedules::grid_product_sketches(program, NumericsClass::reassoc, target.machine, {});
      ASSERT_EQ(sketches.size(), 2);
      for (const NestTemplate& sketch : sketches) {
        const auto nest = instantiate(sketch, values_of(sketch.trace));
        ASSERT_TRUE(nest) << nest.error().message << sketch.trace.text();
        EXPECT_TRUE(std::regex_search(print(*nest), std::regex("tensor \"(mfma|wmma)_")));
        expect_bits(*nest, machine, {integer_inputs_of(*nest)});
      }
    }
  }
}

TEST_F(Emulator, a_barrier_around_products_of_waves_that_is_missing_shows_in_some_order) {
  Mutants mutants;
  for (const ProductCase& c : wave_instructions()) {
    if (c.instruction->name != "mfma_16x16x32_s8" && c.instruction->name != "wmma_gfx11_bf16") continue;
    const auto nest = product_nest(c, {4 * c.m, 4 * c.n, 6 * c.k}, true);
    ASSERT_TRUE(nest);
    drop_each_call(c.instruction->name, *nest, mutants, c.machine);
  }
  std::printf("%d barriers dropped, %d found\n", mutants.made, mutants.found);
  EXPECT_EQ(mutants.made, 4);
  EXPECT_EQ(mutants.equivalent, std::vector<std::string>());
}

// ---- registers exchanged ----

struct Operand {
  std::string type, value;
};

/// Of "call T @NAME(<4 x half> %a, i1 true, ..)".
std::vector<Operand> operands_in(const std::string& line) {
  std::vector<Operand> out;
  const size_t open = line.find('(', line.find('@')), close = line.rfind(')');
  std::istringstream list(line.substr(open + 1, close - open - 1));
  for (std::string part; std::getline(list, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    const size_t end = part[0] == '<' ? part.find('>') + 1 : part.find(' ');
    out.push_back({part.substr(0, end), part.substr(end + 1)});
  }
  return out;
}

/// Cells of a word of 32 bits; 0: the type has no two words.
int cells_of_word(const std::string& type) {
  if (type == "i64") return 1;
  if (type[0] != '<') return 0;
  return type.find("half") != std::string::npos || type.find("i16") != std::string::npos ? 2 : 1;
}
int words_of_type(const std::string& type) {
  if (type == "i64") return 2;
  return cells_of_word(type) == 0 ? 1 : std::atoi(type.c_str() + 1) / cells_of_word(type);
}

/// The text with two words of an operand of each call of the instruction exchanged.
std::string with_exchanged_words(const std::string& text, const std::string& call, size_t operand, int one, int other) {
  std::istringstream lines(text);
  std::string out;
  int made = 0;
  for (std::string line; std::getline(lines, line); out += line + "\n") {
    if (line.find("@" + call) == std::string::npos || line.rfind("declare", 0) == 0) continue;
    const Operand of = operands_in(line).at(operand);
    const std::string name = "%exchanged" + std::to_string(made++);
    if (of.type == "i64") {
      out += "  " + name + " = call i64 @llvm.fshl.i64(i64 " + of.value + ", i64 " + of.value + ", i64 32)\n";
    } else {
      const int cells = cells_of_word(of.type), count = std::atoi(of.type.c_str() + 1);
      std::string mask;
      for (int k = 0; k < count; ++k) {
        const int word = k / cells, from = word == one ? other : word == other ? one : word;
        mask += (k ? ", i32 " : "i32 ") + std::to_string(from * cells + k % cells);
      }
      out += "  " + name + " = shufflevector " + of.type + " " + of.value + ", " + of.type + " poison, <" +
             std::to_string(count) + " x i32> <" + mask + ">\n";
    }
    size_t at = line.find('(', line.find('@'));
    for (size_t k = 0; k < operand; ++k) at = line.find(',', at + 1);
    at = line.find(of.value, at + 1 + of.type.size());
    line.replace(at, of.value.size(), name);
  }
  return made == 0 ? "" : out + "declare i64 @llvm.fshl.i64(i64, i64, i64)\n";
}

TEST_F(Emulator, exchanged_words_of_fragments_of_waves_show) {
  int made = 0, found = 0;
  for (const ProductCase& c : wave_instructions()) {
    SCOPED_TRACE(c.instruction->name);
    const auto nest = product_nest(c, {c.m, c.n, 2 * c.k}, false);
    ASSERT_TRUE(nest);
    const auto llvm =
        targets::backend_of("amdgcn")->emit(*nest, find_target(c.machine).value(), Emit::llvm, {"kernel"});
    ASSERT_TRUE(llvm) << llvm.error().message;
    const std::string text(llvm->begin(), llvm->end());
    const auto right = ir::interpret(*nest, integer_inputs_of(*nest));
    ASSERT_TRUE(right) << right.error().message;
    const auto plain = product_by(text, *nest, c);
    ASSERT_TRUE(plain);
    ASSERT_EQ(backend_test::first_difference(*plain, right->tensors.back()), "");
    const size_t call_at = text.find("@" + c.instruction->call), line_at = text.rfind('\n', call_at) + 1;
    const auto operands = operands_in(text.substr(line_at, text.find('\n', call_at) - line_at));
    // Of each operand the first word with the others: two exchanges that are not seen would have to be one.
    for (size_t operand = 0; operand < operands.size(); ++operand)
      for (int other = 1; cells_of_word(operands[operand].type) > 0 && other < words_of_type(operands[operand].type);
           other += other < 2 ? 1 : 3) {
        const std::string mutant = with_exchanged_words(text, c.instruction->call, operand, 0, other);
        ASSERT_NE(mutant, "");
        const auto got = product_by(mutant, *nest, c);
        const bool shows = !got || !backend_test::first_difference(*got, right->tensors.back()).empty();
        ++made, found += shows;
        EXPECT_TRUE(shows) << "operand " << operand << ", words 0 and " << other;
      }
  }
  std::printf("%d pairs of words exchanged, %d found\n", made, found);
  EXPECT_GE(made, 80);
}

// ---- where cells lie ----

/// A line of places.txt.
struct PlaceOfCells {
  std::string file;
  int row = 0, column = 0, depth = 0;
  int a_lane = 0, a_cell = 0, b_lane = 0, b_cell = 0, sum_lane = 0, sum_cell = 0;
};
std::vector<PlaceOfCells> calculated_places() {
  std::vector<PlaceOfCells> out;
  std::ifstream lines(PW_SOURCE_DIR "/tests/amdgpu_emulated/places.txt");
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    PlaceOfCells one;
    in >> one.file >> one.row >> one.column >> one.depth >> one.a_lane >> one.a_cell >> one.b_lane >> one.b_cell >>
        one.sum_lane >> one.sum_cell;
    EXPECT_TRUE(in) << line;
    out.push_back(one);
  }
  return out;
}

int64_t number_by(const std::vector<ir::Fragment::Digit>& digits, std::array<int64_t, 2> coordinates) {
  int64_t out = 0;
  for (const auto& digit : digits)
    out = out * digit.extent +
          (digit.dim == ir::Fragment::kCopies ? 0 : coordinates[digit.dim] / digit.divisor % digit.extent);
  return out;
}

TEST(WaveProducts, instruction_files_place_cells_as_amds_calculator_does) {
  int places = 0;
  for (const PlaceOfCells& of : calculated_places()) {
    SCOPED_TRACE(of.file + " " + std::to_string(of.row) + " " + std::to_string(of.column) + " " +
                 std::to_string(of.depth));
    const auto found = ir::instruction_named(of.file);
    ASSERT_TRUE(found) << found.error().message;
    const auto& operands = (*found)->operands;
    EXPECT_EQ(number_by(operands[0].fragment.lane, {of.row, of.column}), of.sum_lane);
    EXPECT_EQ(number_by(operands[0].fragment.cell, {of.row, of.column}), of.sum_cell);
    EXPECT_EQ(number_by(operands[1].fragment.lane, {of.row, of.depth}), of.a_lane);
    EXPECT_EQ(number_by(operands[1].fragment.cell, {of.row, of.depth}), of.a_cell);
    EXPECT_EQ(number_by(operands[2].fragment.lane, {of.depth, of.column}), of.b_lane);
    EXPECT_EQ(number_by(operands[2].fragment.cell, {of.depth, of.column}), of.b_cell);
    ++places;
  }
  EXPECT_EQ(places, 14 * 12);
}

emulator::WaveProduct shape_of(const std::string& file) {
  const auto& axes = (*ir::instruction_named(file))->axes;
  const bool is_mfma = file.rfind("mfma", 0) == 0;
  const auto kind = file.find("bf16") != std::string::npos   ? emulator::WaveKind::bf16
                    : file.find("_f16") != std::string::npos ? emulator::WaveKind::f16
                                                             : emulator::WaveKind::s8;
  const auto layout = is_mfma                                   ? emulator::WaveLayout::mfma
                      : file.find("gfx11") != std::string::npos ? emulator::WaveLayout::wmma_gfx11
                                                                : emulator::WaveLayout::wmma_gfx12;
  return {static_cast<uint8_t>(axes[0].extent),
          static_cast<uint8_t>(axes[1].extent),
          static_cast<uint8_t>(axes[2].extent),
          layout,
          kind,
          kind,
          0,
          0};
}

/// One cell of A and one of B are 1 (in each copy), all others 0.
TEST(WaveProducts, the_emulator_places_cells_as_amds_calculator_does) {
  constexpr int kWords = 2 * emulator::kFactorWords + emulator::kSumWords;
  for (const PlaceOfCells& of : calculated_places()) {
    SCOPED_TRACE(of.file + " " + std::to_string(of.row) + " " + std::to_string(of.column) + " " +
                 std::to_string(of.depth));
    const emulator::WaveProduct shape = shape_of(of.file);
    const int lanes = lanes_of(shape.layout), bytes = bytes_of(shape.a), a_words = factor_words(shape, shape.a);
    std::vector<uint32_t> in(static_cast<size_t>(lanes * kWords)), out(static_cast<size_t>(lanes * kWords), 7);
    std::vector<emulator::WaveOperands> operands;
    std::vector<void*> pointers(emulator::kWaveLanes, nullptr);
    for (int lane = 0; lane < lanes; ++lane) operands.push_back({&in[lane * kWords], &out[lane * kWords]});
    for (int lane = 0; lane < lanes; ++lane) pointers[lane] = &operands[lane];
    const uint32_t one = shape.a == emulator::WaveKind::f16 ? 0x3c00 : shape.a == emulator::WaveKind::bf16 ? 0x3f80 : 1;
    const auto put = [&](int lane, int first, int cell) {
      in[lane * kWords + first + cell * bytes / 4] |= one << (cell * bytes % 4 * 8);
    };
    const int copies = shape.layout == emulator::WaveLayout::wmma_gfx11 ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy)
      put(of.a_lane + 16 * copy, 0, of.a_cell), put(of.b_lane + 16 * copy, a_words, of.b_cell);
    multiply(shape, pointers.data());
    const uint32_t expected = bytes == 2 ? 0x3f800000 : 1;
    for (int lane = 0; lane < lanes; ++lane)
      for (int word = 0; word < sum_words(shape); ++word)
        EXPECT_EQ(out[lane * kWords + word], lane == of.sum_lane && word == of.sum_cell ? expected : 0u)
            << lane << " " << word;
    if (copies == 1) continue;
    in[(of.a_lane + 16) * kWords] ^= 1;
    multiply(shape, pointers.data());
    EXPECT_EQ(out[of.sum_lane * kWords + of.sum_cell], 0xffffffffu) << "copies differ";
  }
}

}  // namespace
}  // namespace polyweft::emulator_test
