// Products of four warps whose factors lie in shared memory: in nests, against the interpreter, and beside what a GPU
// did.
#include "targets/gpu/emulator/runtime/group_products.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <regex>
#include <set>

#include "backend/bits.h"
#include "cost_models/grid.h"
#include "emulator/harness.h"
#include "emulator/recording.h"
#include "ir/nests/instruction.h"
#include "polyweft/tuner.h"
#include "schedules/sketches/grid.h"
#include "schedules/steps.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::program_of_text;

// ---- in nests ----

struct GroupSizes {
  int64_t m = 0, n = 0, k = 0;
  bool is_transposed = false;  ///< B[j, k]
};
/// Tiles of a block, of four warps, and of a step.
struct GroupTiles {
  int64_t rows = 128, columns = 0, group_rows = 64, depth = 64;
  int slots = 1;
};

std::string instruction_name(const std::string& type, int64_t n) {
  return "wgmma_m64n" + std::to_string(n) + "k16_" + type;
}

Result<LoopNest> group_nest(const std::string& type, int64_t n, const GroupSizes& sizes, const GroupTiles& tiles) {
  const auto text = [](int64_t number) { return std::to_string(number); };
  const std::string program =
      "program product(M = " + text(sizes.m) + ", N = " + text(sizes.n) + ", K = " + text(sizes.k) +
      ")\nin A: " + type + "[M, K]\nin B: " + type + (sizes.is_transposed ? "[N, K]" : "[K, N]") +
      "\nout C[i: M, j: N] = sum[k: K] f32(A[i, k]) * f32(" + (sizes.is_transposed ? "B[j, k]" : "B[k, j]") + ")\n";
  const std::string pipeline = tiles.slots > 1 ? "  pipeline C k.1 by " + std::to_string(tiles.slots) + "\n" : "";
  const auto trace = parse_trace(
      "trace 1\n  tile C [i: " + text(tiles.rows) + ", j: " + text(tiles.columns) + ", k: " + text(tiles.depth) +
      ", i: " + text(tiles.group_rows) + ", j: " + text(std::max(n, tiles.columns / 2)) + ", i: 64, j: " + text(n) +
      ", k: 16]\n  permute C [i.1, j.1, i.2, j.2, k.1, k.2, i.3, j.3, i, j, k]\n  bind C i.1 to block_y\n"
      "  bind C j.1 to block_x\n  bind C i.2 to thread_z\n  bind C j.2 to thread_y\n  accumulate C at j.2 tile\n"
      "  promote A in C at k.1 shared vectors 8\n  promote B in C at k.1 shared vectors 8\n" +
      pipeline + "  tensorize C i, j, k by " + instruction_name(type, n) + "\n  unroll C k.2, i.3, j.3\n");
  if (!trace) return trace.error();
  auto made = schedules::replay(program_of_text(program), NumericsClass::reassoc, *trace);
  if (!made) return made.error();
  return instantiate(*made, {});
}

TEST_F(Emulator, products_of_four_warps_give_the_bits_of_the_interpreter) {
  int nests = 0;
  for (const std::string type : {"bf16", "f16"})
    for (const int64_t n : {64, 128, 256})
      for (const bool is_transposed : {false, true}) {
        if ((type == "f16") != (is_transposed == (n == 128)) && !std::getenv("PW_LONG_PRODUCTS")) continue;
        const int slots = 1 + nests % 4;
        SCOPED_TRACE(instruction_name(type, n) + (is_transposed ? " of B[j, k], " : " of B[k, j], ") +
                     std::to_string(slots) + " slots");
        const auto nest =
            group_nest(type, n, {64, n, n == 64 ? 272 : 80, is_transposed}, {64, n, 64, n == 64 ? 64 : 16, slots});
        ASSERT_TRUE(nest) << nest.error().message;
        EXPECT_NE(text(*nest, emulated("sm_90a", "")).find("polyweft_emulator_start_product"), std::string::npos);
        expect_bits(*nest, "sm_90a", {integer_inputs_of(*nest)});
        ++nests;
      }
  std::printf("%d nests\n", nests);
  EXPECT_GE(nests, 6);
}

TEST_F(Emulator, edges_tiles_of_several_products_and_other_depths_give_the_bits_of_the_interpreter) {
  const std::pair<GroupSizes, GroupTiles> cases[] = {
      {{256, 64, 192}, {256, 64, 128, 64, 3}},       // two products of rows for four warps
      {{64, 128, 320, true}, {64, 128, 64, 64, 4}},  // two groups of warps along the columns
      {{64, 64, 160}, {64, 64, 64, 32, 3}},          // lines that two steps share
      {{64, 64, 160, true}, {64, 64, 64, 32, 2}},    //
      {{64, 64, 256}, {64, 64, 64, 128, 2}},         // steps of two lines
      {{64, 64, 256, true}, {64, 64, 64, 128, 2}},   //
      {{72, 40, 136}, {64, 64, 64, 64, 3}},          // edges, whole vectors
      {{77, 51, 91, true}, {64, 64, 64, 64, 2}}};    // edges, single elements
  for (const auto& [sizes, tiles] : cases) {
    SCOPED_TRACE(std::to_string(sizes.m) + " " + std::to_string(tiles.depth) + " " + std::to_string(tiles.slots));
    const auto nest = group_nest("bf16", 64, sizes, tiles);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_bits(*nest, "sm_90a", {integer_inputs_of(*nest)});
  }
}

TEST_F(Emulator, waits_fences_and_barriers_of_products_under_way_that_are_missing_show_in_some_order) {
  Mutants mutants;
  const bool is_long = std::getenv("PW_LONG_PRODUCTS") != nullptr;
  for (const int slots : {1, 2, 3, 4})
    for (const bool is_transposed : {false, true}) {
      if (!is_long && (slots == 2 || slots == 3 || is_transposed != (slots == 4))) continue;
      // Two groups of warps: lanes of one meet in each product.
      const auto nest = group_nest("bf16", 64, {128, 64, 96, is_transposed}, {128, 64, 64, 16, slots});
      ASSERT_TRUE(nest) << nest.error().message;
      drop_each_call(std::to_string(slots) + " slots", *nest, mutants, "sm_90a");
    }
  std::printf("%d calls dropped, %d found\n", mutants.made, mutants.found);
  EXPECT_GE(mutants.made, is_long ? 48 : 14);
  // What was written before products is published again behind them, where there is one slot.
  std::erase(mutants.equivalent, "1 slots: call 6");
  EXPECT_EQ(mutants.equivalent, std::vector<std::string>());
}

TEST_F(Emulator, the_last_products_run_on_where_copies_leave_their_slot_alone) {
  for (const auto& [slots, is_left] : {std::pair{2, false}, {3, false}, {4, true}}) {
    const auto nest = group_nest("bf16", 64, {64, 64, 448}, {64, 64, 64, 64, slots});
    ASSERT_TRUE(nest) << nest.error().message;
    const auto made =
        targets::backend_of("nvptx64")->emit(*nest, find_target("sm_90a").value(), Emit::llvm, {"kernel"});
    ASSERT_TRUE(made) << made.error().message;
    const std::string code(made->begin(), made->end());
    EXPECT_EQ(code.find("wgmma.wait.group.sync.aligned(i64 1)") != std::string::npos ||
                  code.find("wgmma.wait_group.sync.aligned(i64 1)") != std::string::npos,
              is_left)
        << slots << code;
  }
}

TEST_F(Emulator, a_wrong_descriptor_or_layout_shows) {
  const auto nest = group_nest("bf16", 64, {64, 64, 128}, {64, 64, 64, 64, 1});
  ASSERT_TRUE(nest) << nest.error().message;
  LoopNest plain = *nest;  // rows without the xor: code generation refuses
  for (Buffer& buffer : plain.buffers) buffer.layout.by_xor = false;
  const auto refused = targets::backend_of("nvptx64")->build(plain, find_target("sm_90a").value(), {"kernel"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code + " " + refused.error().message,
            "PW0523 sums that a warp holds: wgmma_m64n64k16_bf16 reads shared memory, where A.p does not lie by xor");
}

/// What programs have around their products.
constexpr const char* kGroupPrograms[] = {
    "program batch(P = 2, M = 72, N = 128, K = 80)\nin A: bf16[P, M, K]\nin B: bf16[P, K, N]\nout C[p: P, i: M, j: N] "
    "= sum[k: K] f32(A[p, i, k]) * f32(B[p, k, j])\n",
    "program convolution(N = 1, H = 2, W = 64, C = 64, F = 64)\nin X: f16[N, H+2, W+2, C]\nin K: f16[3, 3, C, F]\nout "
    "Y[n: N, y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] f32(X[n, y+r, x+s, c]) * f32(K[r, s, c, f])\n",
    "program layer(M = 64, N = 64, K = 64)\nin A: f16[M, K]\nin B: f16[N, K]\nin b: f32[N]\nlet C[i: M, j: N] = "
    "sum[k: K] f32(A[i, k]) * f32(B[j, k])\nout Y[i: M, j: N] = max(C[i, j] + b[j], 0)\n",
};

TEST_F(Emulator, sketches_with_products_of_four_warps_give_the_bits_of_the_interpreter) {
  const Target target = find_target("sm_90a").value();
  for (const char* text : kGroupPrograms) {
    const Program program = program_of_text(text);
    SCOPED_TRACE(program.name);
    int seen = 0;
    for (const NestTemplate& sketch :
         schedules::grid_product_sketches(program, NumericsClass::reassoc, target.machine, {})) {
      if (sketch.trace.text().find("wgmma") == std::string::npos) continue;
      const auto nest = instantiate(sketch, values_of(sketch.trace));
      ASSERT_TRUE(nest) << nest.error().message << sketch.trace.text();
      EXPECT_NE(print(*nest).find("tensor \"wgmma_"), std::string::npos);
      if (seen++ == 0) expect_bits(*nest, "sm_90a", {integer_inputs_of(*nest)});
    }
    EXPECT_GE(seen, 1);
  }
}

TEST(GroupModel, rates_products_that_the_unit_reads_before_those_of_warps) {
  const Target target = find_target("sm_90a").value();
  const Program program = program_of_text(
      "program large(M = 4096, N = 4096, K = 4096)\nin A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "f32(A[i, k]) * f32(B[k, j])\n");
  const auto model = cost::grid_model(target.machine);
  double by_unit = 0, by_warps = 0;
  for (const NestTemplate& sketch :
       schedules::grid_product_sketches(program, NumericsClass::reassoc, target.machine, {})) {
    const auto nest = instantiate(sketch, values_of(sketch.trace));
    ASSERT_TRUE(nest) << nest.error().message << sketch.trace.text();
    const double ns = model->predict_ns(*nest);
    std::printf("%.0f us\n", ns / 1e3);
    double& best = sketch.trace.text().find("wgmma") != std::string::npos ? by_unit : by_warps;
    if (best == 0 || ns < best) best = ns;
  }
  EXPECT_GT(by_unit, 0);
  EXPECT_LT(by_unit, by_warps);
}

// ---- layouts by xor ----

TEST(LayoutByXor, is_a_bijection_that_keeps_units_of_16_bytes_whole) {
  for (const auto& [type, unit] : {std::pair{ElementType::bf16, 8}, {ElementType::i8, 16}, {ElementType::f32, 4}}) {
    Buffer buffer;
    buffer.type = type, buffer.scope = Scope::shared, buffer.align_bytes = kXorBytes;
    buffer.extents = {16, 8 * unit};
    buffer.layout = row_major(buffer.extents);
    std::vector<int64_t> plain, mixed;
    std::set<int64_t> seen;
    for (const bool by_xor : {false, true}) {
      buffer.layout.by_xor = by_xor;
      for (int64_t i = 0; i < 16; ++i)
        for (int64_t j = 0; j < 8 * unit; ++j) (by_xor ? mixed : plain).push_back(physical_offset(buffer, {i, j}));
    }
    int moved = 0;
    for (size_t c = 0; c < plain.size(); ++c) {
      EXPECT_TRUE(seen.insert(mixed[c]).second);
      EXPECT_EQ(mixed[c] % unit, plain[c] % unit);
      EXPECT_EQ(mixed[c] / (8 * unit), plain[c] / (8 * unit));  // its line
      const int64_t line = plain[c] / (8 * unit), number = plain[c] / unit % 8;
      EXPECT_EQ(mixed[c] / unit % 8, number ^ line % 8);
      moved += mixed[c] != plain[c];
    }
    EXPECT_EQ(*seen.rbegin() + 1, allocated_elements(buffer));
    EXPECT_EQ(moved * 8, static_cast<int>(plain.size()) * 7);
  }
}

// ---- what a GPU did ----

uint32_t mixed_word(uint32_t seed, uint32_t index) {  // tests/gpu/record/record.h
  uint32_t h = seed * 0x9E3779B1U + index;
  h = (h ^ (h >> 16)) * 0x85EBCA6BU;
  h = (h ^ (h >> 13)) * 0xC2B2AE35U;
  return h ^ (h >> 16);
}

struct RecordedFormat {
  emulator::Kind kind;
  int bytes, mantissa, bias;
};
const std::map<std::string, RecordedFormat> kRecordedFormats = {
    {"bf16", {emulator::Kind::bf16, 2, 7, 127}},  {"f16", {emulator::Kind::f16, 2, 10, 15}},
    {"tf32", {emulator::Kind::tf32, 4, 23, 127}}, {"s8", {emulator::Kind::s8, 1, 0, 0}},
    {"u8", {emulator::Kind::u8, 1, 0, 0}},        {"f32", {emulator::Kind::f32, 4, 23, 127}},
    {"s32", {emulator::Kind::s32, 4, 0, 0}}};

/// As tests/gpu/record/wgmma.cu makes it.
uint32_t recorded_element(const RecordedFormat& f, const std::string& data, uint32_t seed, uint32_t index) {
  const uint32_t h = mixed_word(seed, index);
  if (f.mantissa == 0) return f.bytes == 1 ? h & 255 : static_cast<uint32_t>(static_cast<int>(h % 2001) - 1000);
  const auto bits = [&](bool negative, int exponent, uint32_t mantissa) {
    return static_cast<uint32_t>(negative) << (8 * f.bytes - 1) |
           static_cast<uint32_t>(exponent + f.bias) << f.mantissa | (mantissa & ((1U << f.mantissa) - 1));
  };
  if (data == "integers") {
    const int value = static_cast<int>(h % 7) - 3, magnitude = std::abs(value);
    if (value == 0) return 0;
    const int exponent = magnitude > 1 ? 1 : 0;
    return bits(value < 0, exponent, static_cast<uint32_t>(magnitude - (1 << exponent)) << (f.mantissa - exponent));
  }
  const int spread = data == "near" ? 1 : 6;
  return bits(h >> 31, static_cast<int>((h >> 24 & 127) % static_cast<uint32_t>(2 * spread + 1)) - spread, h);
}

/// "a_at" and so on of one factor, as a descriptor.
uint64_t descriptor_of(const Record& record, const std::string& side, uint64_t begin) {
  const auto number = [&](const char* name) { return std::stoull(record.values.at(side + name)); };
  const uint64_t span = number("_swizzle"), mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
  return (begin + number("_at")) >> 4 | number("_leading") >> 4 << 16 | number("_stride") >> 4 << 32 |
         number("_base") << 49 | mode << 62;
}

TEST(RecordedGroups, products_of_four_warps_give_every_recorded_bit) {
  int seen = 0, turned = 0, differ_without_swizzle = 0;
  for (const Record& record : recorded("wgmma.rec")) {
    std::smatch found;
    if (!std::regex_search(record.name, found, std::regex("m64n(\\d+)k(\\d+)\\.(\\w+)\\.(\\w+)\\.(\\w+)$"))) continue;
    const auto value = [&](const char* key) { return record.values.at(key); };
    const bool is_known = kRecordedFormats.count(found[4]) && kRecordedFormats.count(found[5]) &&
                          (found[3] == "f32" || found[3] == "s32");
    if (!is_known || value("a") != "shared" || value("scale_d") != "1" || value("scale_a") != "1" ||
        value("scale_b") != "1")
      continue;
    SCOPED_TRACE(record.name);
    const RecordedFormat d = kRecordedFormats.at(found[3]), a = kRecordedFormats.at(found[4]),
                         b = kRecordedFormats.at(found[5]);
    const auto seed = static_cast<uint32_t>(std::stoul(value("seed")));
    constexpr uint32_t kB = 16384, kImage = 49152;
    std::vector<unsigned char> image(kImage);
    const auto fill = [&](const RecordedFormat& f, uint32_t own_seed, uint32_t begin, uint32_t end) {
      for (uint32_t i = 0; begin + i * static_cast<uint32_t>(f.bytes) < end; ++i) {
        const uint32_t bits = recorded_element(f, value("data"), own_seed, i);
        std::memcpy(image.data() + begin + i * static_cast<uint32_t>(f.bytes), &bits, static_cast<size_t>(f.bytes));
      }
    };
    fill(a, seed, 0, kB), fill(b, seed + 1, kB, kImage);
    const emulator::GroupShape shape{static_cast<uint16_t>(std::stoi(found[1])),
                                     static_cast<uint8_t>(std::stoi(found[2])),
                                     d.kind,
                                     a.kind,
                                     b.kind,
                                     static_cast<uint8_t>(value("transpose_a") == "1"),
                                     static_cast<uint8_t>(value("transpose_b") == "1")};
    const auto words = static_cast<size_t>(sums_of_lane(shape));
    const auto differences = [&](uint64_t of_a, uint64_t of_b) {
      std::vector<uint32_t> sums(words * emulator::kGroupLanes);
      std::vector<uint32_t*> registers;
      for (size_t r = 0; r < words; ++r) {
        registers.push_back(sums.data() + r * emulator::kGroupLanes);
        for (size_t lane = 0; lane < emulator::kGroupLanes; ++lane)
          registers[r][lane] = recorded_element(d, value("data"), seed + 3, static_cast<uint32_t>(lane * words + r));
      }
      auto factors = std::make_unique<emulator::GroupFactors>();
      multiply(shape, of_a, of_b,
               {[](const void* of, uint32_t at) {
                  const auto& bytes = *static_cast<const std::vector<unsigned char>*>(of);
                  return at < bytes.size() ? bytes[at] : static_cast<unsigned char>(0);
                },
                &image},
               *factors, registers.data());
      int out = 0;
      if (const auto all = record.arrays.find("d"); all != record.arrays.end()) {
        for (size_t lane = 0; lane < emulator::kGroupLanes; ++lane)
          for (size_t r = 0; r < words; ++r) out += registers[r][lane] != all->second.words[lane * words + r];
        return out;
      }
      uint64_t sum = 0;
      for (uint32_t word : sums) sum += word;
      out += sum != record.arrays.at("sum").words[0];
      size_t at = 0;
      for (size_t lane : {0, 37, 127})
        for (size_t r = 0; r < words; ++r)
          out += registers[r][lane] != record.arrays.at("d_of_threads_0_37_127").words[at++];
      return out;
    };
    const uint64_t of_a = descriptor_of(record, "a", 0), of_b = descriptor_of(record, "b", kB);
    EXPECT_EQ(differences(of_a, of_b), 0);
    ++seen;
    turned += shape.turned_a || shape.turned_b;
    if (of_b >> 62 != 0) differ_without_swizzle += differences(of_a, of_b & ~(uint64_t{3} << 62)) > 0;
  }
  std::printf("%d products, %d of turned factors, %d show a wrong swizzle\n", seen, turned, differ_without_swizzle);
  EXPECT_GE(seen, 40);
  EXPECT_GE(turned, 8);
  EXPECT_GE(differ_without_swizzle, 20);
}

}  // namespace
}  // namespace polyweft::emulator_test
