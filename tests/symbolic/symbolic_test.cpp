#include <gtest/gtest.h>

#include "symbolic/sweep.h"

namespace polyweft::symbolic_test {
namespace {

/// One of `step` programs of a folder, each made once and called at all its small sizes.
int expect_right(const std::string& folder, size_t first, size_t step) {
  const auto programs = programs_in(folder);
  EXPECT_FALSE(programs.empty());
  int made = 0, sizes = 0;
  for (size_t k = first; k < programs.size(); k += step) {
    const Swept swept = sweep(programs[k], NumericsClass::reassoc);
    if (!swept.refusal.empty()) std::printf("%s: %s\n", programs[k].name.c_str(), swept.refusal.c_str());
    EXPECT_EQ(swept.trouble, "") << programs[k].name;
    made += swept.refusal.empty();
    sizes += swept.sizes;
  }
  std::printf("%s: %d kernels, %d calls\n", folder.c_str(), made, sizes);
  return made;
}

}  // namespace

TEST(Symbolic, kernels_of_the_language_page_are_right_at_all_small_sizes) {
  expect_right("tests/lang/programs", 0, 1);
}
TEST(Symbolic, kernels_of_the_examples_are_right_at_all_small_sizes) {
  expect_right("examples", 0, 1);
}

}  // namespace polyweft::symbolic_test
