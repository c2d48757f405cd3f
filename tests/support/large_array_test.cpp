#include "support/large_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace polyweft {
namespace {

TEST(LargeArray, GivesZerosOnPagesOfTheSizeThatIsWorthIt) {
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{4096}, (size_t{4} << 20) - 1, size_t{4} << 20, (size_t{5} << 20) + 3}) {
    const LargeArray array(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % (bytes >= size_t{4} << 20 ? size_t{2} << 20 : 4096), 0)
        << bytes;
    EXPECT_TRUE(std::all_of(array.data(), array.data() + bytes, [](unsigned char byte) { return byte == 0; })) << bytes;
    std::fill(array.data(), array.data() + bytes, 1);
  }
}

TEST(LargeArray, MovesWithItsMemory) {
  LargeArray from(8 << 20);
  from.data()[5] = 7;
  LargeArray to;
  to = std::move(from);
  EXPECT_EQ(to.data()[5], 7);
  to = LargeArray(3);
  EXPECT_EQ(to.data()[2], 0);
}

}  // namespace
}  // namespace polyweft
