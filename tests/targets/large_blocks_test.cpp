// What kernels get from halide_malloc (cmake/halide_runtime/large_blocks.cpp).
#include <HalideRuntime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace polyweft::targets {
namespace {

/// Whether the mapping around `address` is marked for huge pages.
bool is_advised(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &end) == 2)
      is_here = first <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST(LargeBlocks, lie_in_huge_pages_where_the_system_has_them) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "no huge pages";
  for (size_t bytes : {size_t{4} << 20, (size_t{31} << 20) + 17, size_t{70} << 20}) {
    auto* block = static_cast<unsigned char*>(halide_malloc(nullptr, bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_advised(block + bytes / 2)) << bytes;
    halide_free(nullptr, block);
  }
}

TEST(LargeBlocks, are_aligned_and_belong_to_who_asked) {
  unsigned char* blocks[40];
  for (size_t k = 0; k < std::size(blocks); ++k) {
    const size_t bytes = k < 30 ? 1 + 977 * k : (size_t{4} << 20) + 977 * k;
    blocks[k] = static_cast<unsigned char*>(halide_malloc(nullptr, bytes));
    ASSERT_NE(blocks[k], nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[k]) % 64, 0U);
    std::memset(blocks[k], static_cast<int>(k), bytes);
  }
  for (size_t k = 0; k < std::size(blocks); ++k) {
    const size_t bytes = k < 30 ? 1 + 977 * k : (size_t{4} << 20) + 977 * k;
    for (size_t at = 0; at < bytes; at += at + 1000 < bytes ? 997 : 1) ASSERT_EQ(blocks[k][at], k) << at;
    halide_free(nullptr, blocks[k]);
  }
  halide_free(nullptr, nullptr);
}

TEST(LargeBlocks, too_large_ones_are_refused) {
  EXPECT_EQ(halide_malloc(nullptr, SIZE_MAX), nullptr);
  EXPECT_EQ(halide_malloc(nullptr, SIZE_MAX - 63), nullptr);
}

}  // namespace polyweft::targets
