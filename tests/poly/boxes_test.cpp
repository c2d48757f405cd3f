#include "poly/boxes.h"

#include "corpus.h"
#include "ir/values/domain.h"

namespace polyweft::poly_test {

TEST(Boxes, agree_with_enumeration_on_the_programs_of_the_language) {
  for (const Program& program : corpus())
    for (int64_t size : {3, 5}) {
      Program bound = small(program, size);
      auto found = poly::boxes(bound);
      ASSERT_TRUE(found.ok()) << program.name << ": " << found.error().message;
      EXPECT_EQ(*found, ir::boxes(bound)) << program.name;
    }
}

TEST(Boxes, take_milliseconds_at_large_sizes) {
  auto found = poly::boxes(
      parsed("program p(N = 1_000_000)\nin X: f32[N, N]\nlet Y[i: N, j: -2..i+1] = X[i, 0]\nout Z[i: N] = Y[i, 0]"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[1].lo, (std::vector<int64_t>{0, -2}));
  EXPECT_EQ((*found)[1].hi, (std::vector<int64_t>{1'000'000, 1'000'000}));
}

}  // namespace polyweft::poly_test
