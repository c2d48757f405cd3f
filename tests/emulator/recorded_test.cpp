// The emulator's instructions beside what a GPU did: every recorded bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <regex>
#include <sstream>

#include "emulator/recording.h"
#include "targets/gpu/emulator/runtime/products.h"

namespace polyweft::emulator_test {
namespace {

using emulator::Fragment;
using emulator::Kind;
using emulator::ProductShape;

std::optional<Kind> kind_named(const std::string& name) {
  const std::map<std::string, Kind> kKinds = {{"s4", Kind::s4},     {"u4", Kind::u4},   {"s8", Kind::s8},
                                              {"u8", Kind::u8},     {"s32", Kind::s32}, {"e4m3", Kind::e4m3},
                                              {"e5m2", Kind::e5m2}, {"f16", Kind::f16}, {"bf16", Kind::bf16},
                                              {"tf32", Kind::tf32}, {"f32", Kind::f32}};
  const auto at = kKinds.find(name);
  return at == kKinds.end() ? std::nullopt : std::optional(at->second);
}

/// Of "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"; none for what the emulator has not.
std::optional<ProductShape> shape_of(const std::string& name) {
  std::smatch found;
  if (!std::regex_search(name, found, std::regex("m(\\d+)n(\\d+)k(\\d+)\\.row\\.col\\.(.*)"))) return std::nullopt;
  ProductShape shape{};
  shape.m = static_cast<uint8_t>(std::stoi(found[1])), shape.n = static_cast<uint8_t>(std::stoi(found[2]));
  if (std::stoi(found[3]) > 64) return std::nullopt;
  shape.k = static_cast<uint8_t>(std::stoi(found[3]));
  std::vector<Kind> kinds;
  std::istringstream words(found[4]);
  for (std::string word; std::getline(words, word, '.');) {
    if (word == "satfinite")
      shape.saturates = 1;
    else if (const auto kind = kind_named(word))
      kinds.push_back(*kind);
    else
      return std::nullopt;
  }
  shape.d = kinds[0], shape.a = kinds[1], shape.b = kinds[2], shape.c = kinds[3];
  return shape;
}

void fill(const RecordedArray& from, int64_t which, Fragment& to) {
  std::memset(to, 0, sizeof to);
  const int64_t registers = from.extents[2];
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t r = 0; r < registers; ++r)
      to[lane][r] = static_cast<uint32_t>(from.words[static_cast<size_t>((which * 32 + lane) * registers + r)]);
}

/// Words that differ.
int differences(const Record& record, const ProductShape& shape) {
  int out = 0;
  for (int64_t which = 0; which < record.arrays.at("d").extents[0]; ++which) {
    Fragment a, b, c, d, wanted;
    fill(record.arrays.at("a"), which, a), fill(record.arrays.at("b"), which, b);
    fill(record.arrays.at("c"), which, c), fill(record.arrays.at("d"), which, wanted);
    emulator::multiply(shape, a, b, c, d);
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r) out += d[lane][r] != wanted[lane][r];
  }
  return out;
}

TEST(Recorded, products_of_the_tensor_unit_give_every_recorded_bit) {
  int instructions = 0;
  for (const char* file : {"mma_integer.rec", "mma_float.rec", "mma_fp8.rec"})
    for (const Record& record : recorded(file)) {
      const auto shape = shape_of(record.name);
      if (!shape) {
        EXPECT_NE(record.name.find(".b1."), std::string::npos) << record.name << " is not emulated";
        continue;
      }
      EXPECT_EQ(differences(record, *shape), 0) << record.name;
      ++instructions;
    }
  std::printf("%d instructions\n", instructions);
  EXPECT_EQ(instructions, 29);
}

TEST(Recorded, another_kind_or_operand_is_seen) {
  for (const Record& record : recorded("mma_float.rec")) {
    auto shape = *shape_of(record.name);
    if (shape.a == Kind::tf32) continue;
    shape.a = shape.a == Kind::f16 ? Kind::bf16 : Kind::f16;
    EXPECT_GT(differences(record, shape), 0) << record.name;
  }
  for (const Record& record : recorded("mma_integer.rec")) {
    const auto shape = shape_of(record.name);
    if (!shape) continue;
    Record exchanged = record;
    auto& words = exchanged.arrays.at("b").words;
    std::rotate(words.begin(), words.begin() + 4, words.end());
    EXPECT_GT(differences(exchanged, *shape), 0) << record.name;
  }
}

}  // namespace
}  // namespace polyweft::emulator_test
