#include "search/residuals.h"

#include <gtest/gtest.h>

namespace polyweft::search {
namespace {

Residuals of(const std::vector<double>& exact, const std::vector<double>& bounds, int failures = 0) {
  Residuals out;
  for (const double r : exact) out.add(r);
  for (const double r : bounds) out.add_bound(r);
  for (int k = 0; k < failures; ++k) out.add_failure();
  return out;
}

TEST(Residuals, a_bound_says_that_a_value_lies_above_it) {
  struct Case {
    std::vector<double> exact, bounds;
    double median;
  };
  for (const Case& c : std::vector<Case>{{{}, {}, 7},  // nothing known
                                         {{3}, {}, 3},
                                         {{1, 2, 3}, {}, 2},
                                         {{1, 3}, {2}, 3},          // the second lies above 2: it may be above 3
                                         {{1, 2, 3, 4}, {0.5}, 2},  // says nothing about these
                                         {{1}, {5, 6}, 6},          // more than half lie above
                                         {{}, {2, 4}, 4}})
    EXPECT_EQ(of(c.exact, c.bounds).median(7), c.median);
}

TEST(Residuals, failures_are_no_times_and_make_the_others_less_likely) {
  EXPECT_EQ(of({1, 2, 3}, {}, 5).median(7), 2);
  EXPECT_EQ(of({}, {}, 5).median(7), 7);
  EXPECT_EQ(of({1}, {}).success(), 1);
  EXPECT_DOUBLE_EQ(of({}, {}, 3).success(), 0.25);
  EXPECT_DOUBLE_EQ(of({1}, {2}, 1).success(), 0.75);
  EXPECT_EQ(of({1}, {2}, 1).tries(), 3u);
}

}  // namespace
}  // namespace polyweft::search
