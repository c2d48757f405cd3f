// What instantiate knows of loop variables, against enumeration of their values.
#include "ir/instantiate/loop_variables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "ir/instantiate/conditions.h"
#include "support/integer_division.h"
#include "support/rng.h"

namespace polyweft::ir {
namespace {

const Affine kX = Affine::variable(0), kY = Affine::variable(1), kZ = Affine::variable(2);

LoopVariables variables_of(const std::vector<std::pair<int64_t, int64_t>>& steps_and_most) {
  LoopVariables out(0);
  for (auto [step, most] : steps_and_most) out.add({step, most, false});
  return out;
}

void for_all_values(const LoopVariables& variables, const std::function<void(const std::vector<int64_t>&)>& run) {
  std::vector<int64_t> at(variables.all().size(), 0);
  while (true) {
    run(at);
    VarId k = 0;
    while (k < at.size() && (at[k] += variables.step(k)) > variables.most(k)) at[k++] = 0;
    if (k == at.size()) return;
  }
}

/// The values that a range has there.
std::vector<int64_t> values_at(const Range& range, const std::vector<int64_t>& at) {
  std::vector<int64_t> out;
  for (int64_t v = 0; v < range.extent; ++v) {
    const bool is_below = std::all_of(range.upper.begin(), range.upper.end(),
                                      [&](const Limit& limit) { return v < evaluate(limit.e, at); });
    const bool is_above =
        std::all_of(range.lower.begin(), range.lower.end(), [&](const Affine& e) { return v >= evaluate(e, at); });
    if (is_below && is_above) out.push_back(evaluate(range.origin, at) + v);
  }
  return out;
}

std::vector<int64_t> interval(int64_t begin, int64_t end) {
  std::vector<int64_t> out;
  for (; begin < end; ++begin) out.push_back(begin);
  return out;
}

int64_t between(Rng& rng, int64_t lo, int64_t hi) {
  return lo + static_cast<int64_t>(rng.below(static_cast<uint64_t>(hi - lo + 1)));
}

Affine random_sum(Rng& rng) {
  Affine out = Affine::of(between(rng, -20, 20));
  for (const Affine& e : {kX, kY, kZ}) out = out + between(rng, -3, 3) * e;
  return out;
}

Affine random_expression(Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return random_sum(rng);
    case 1:
      return clamp(random_sum(rng), Affine::of(between(rng, -9, 0)), Affine::of(between(rng, 0, 9)));
    default:
      return 2 * floor_div(random_sum(rng), between(rng, 2, 8)) + between(rng, 0, 1) * kY;
  }
}

TEST(LoopVariables, bounds_residues_and_quotients_hold_for_all_values) {
  Rng rng(1);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::pair<int64_t, int64_t>> drawn;
    for (int k = 0; k < 3; ++k) {
      const int64_t step = int64_t{1} << rng.below(4);
      drawn.push_back({step, step * between(rng, 0, 3)});
    }
    const LoopVariables variables = variables_of(drawn);
    const Affine e = random_expression(rng), without = variables.without_lanes(e);
    const auto [least, most] = variables.numeric_bounds(e);
    const int64_t modulus = between(rng, 2, 9);
    const auto residue = variables.residue(e, modulus);
    for_all_values(variables, [&](const std::vector<int64_t>& at) {
      const int64_t value = evaluate(e, at);
      EXPECT_LE(least, value);
      EXPECT_GE(most, value);
      EXPECT_EQ(evaluate(without, at), value) << print(e, {"x", "y", "z"}) << " is " << print(without, {"x", "y", "z"});
      EXPECT_EQ(residue.value_or(floor_remainder(value, modulus)), floor_remainder(value, modulus));
    });
  }
}

TEST(LoopVariables, quotients_lose_what_stays_below_their_unit) {
  const LoopVariables variables = variables_of({{16, 64}, {1, 15}, {1, 16}});
  EXPECT_EQ(variables.without_lanes(floor_div(kX + kY, 32)), floor_div(kX, 32));
  EXPECT_EQ(variables.without_lanes(floor_div(kX + kZ, 32)), floor_div(kX + kZ, 32));
  EXPECT_EQ(variables.without_lanes(clamp(kY, Affine::of(0), Affine::of(15))), kY);
  EXPECT_EQ(variables.residue(kX + Affine::of(3), 8), 3);
  EXPECT_EQ(variables.residue(kX + kY, 8), std::nullopt);
}

TEST(LoopVariables, narrow_is_taken_back) {
  LoopVariables variables = variables_of({{4, 40}});
  const auto before = variables.all();
  variables.narrow(Affine::of(19) - kX);
  EXPECT_EQ(variables.most(0), 16);
  variables.add({1, 7, true});
  variables.restore(before);
  EXPECT_EQ(variables.most(0), 40);
  EXPECT_EQ(variables.most(1), 7);
}

TEST(LoopVariables, tiles_of_tiles_cover_a_range_once) {
  for (int64_t extent = 1; extent <= 24; ++extent)
    for (int64_t outer : {1, 4, 6, 8, 24})
      for (int64_t inner : {1, 2, 3, 4}) {
        if (outer > extent || outer % inner != 0) continue;
        const LoopVariables variables =
            variables_of({{outer, (extent - 1) / outer * outer}, {inner, (outer - 1) / inner * inner}});
        const Range tile = variables.advanced(Range{Affine::of(5), extent, {}, {}}, kX, outer);
        const Range point = variables.advanced(tile, kY, inner);
        for_all_values(variables, [&](const std::vector<int64_t>& at) {
          EXPECT_EQ(values_at(tile, at), interval(5 + at[0], 5 + std::min(at[0] + outer, extent)));
          if (at[0] + at[1] >= extent) return;  // no such iteration
          EXPECT_EQ(values_at(point, at), interval(5 + at[0] + at[1], 5 + std::min(at[0] + at[1] + inner, extent)));
        });
      }
}

TEST(LoopVariables, the_rest_of_a_cut_tile_has_one_size) {
  for (int64_t extent = 1; extent <= 30; ++extent) {
    const int64_t step = 8;
    const LoopVariables variables = variables_of({{step, (extent - 1) / step * step}});
    const Range tile = variables.advanced(Range{Affine::of(0), extent, {}, {}}, kX, step);
    const auto rest = variables.constant_rest(tile);
    ASSERT_EQ(rest.has_value(), tile.is_cut()) << extent;
    for_all_values(variables, [&](const std::vector<int64_t>& at) {
      const auto values = values_at(tile, at);
      const bool is_whole = static_cast<int64_t>(values.size()) == tile.extent;
      EXPECT_EQ(values_at(is_whole ? tile : *rest, at), values);
    });
  }
}

/// A statement over i, a tile of which is reached, and j.
struct TwoIndices {
  Stage stage;
  Body body;
  explicit TwoIndices(const Affine& condition, const Range& i) {
    stage.data_indices = 2;
    stage.lo = {0, 0};
    stage.hi = {40, 12};
    stage.inside = {condition};
    body.stage = &stage;
    body.initialized = true;
    body.ranges = {i, Range{Affine::of(0), 12, {}, {}}};
    body.done = {0};
  }
};

TEST(Conditions, an_index_is_cut_to_what_holds_for_some_value_of_the_other) {
  Rng rng(2);
  for (int round = 0; round < 300; ++round) {
    const int64_t width = between(rng, 1, 4);
    const LoopVariables variables = variables_of({{width, 3 * width}});
    const Affine condition = between(rng, -3, 3) * kX + between(rng, -3, 3) * kY + Affine::of(between(rng, -15, 15));
    TwoIndices two(condition, Range{kX, width, {}, {}});
    const Range cut_range = cut(two.body, 1, Cut::outset, variables);
    for_all_values(variables, [&](const std::vector<int64_t>& at) {
      std::vector<int64_t> wanted;
      for (int64_t j = 0; j < 12; ++j) {
        bool holds = condition.coefficient(1) == 0;  // says nothing of j
        for (int64_t i = at[0]; i < at[0] + width; ++i) holds |= evaluate(condition, {i, j}) >= 0;
        if (holds) wanted.push_back(j);
      }
      EXPECT_EQ(values_at(cut_range, at), wanted) << print(condition, {"i", "j"});
    });
  }
}

TEST(Conditions, an_exact_cut_waits_for_the_other_index_and_leaves_nothing_to_test) {
  const LoopVariables variables = variables_of({{1, 9}});
  const Affine condition = kX - 2 * kY;
  TwoIndices open(condition, Range{kX, 2, {}, {}}), fixed(condition, Range{kX, 1, {}, {}});
  EXPECT_FALSE(cut(open.body, 1, Cut::exact, variables).is_cut());
  EXPECT_FALSE(open.body.done[0]);
  const Range cut_range = cut(fixed.body, 1, Cut::exact, variables);
  EXPECT_TRUE(fixed.body.done[0]);
  for_all_values(variables, [&](const std::vector<int64_t>& at) {
    EXPECT_EQ(values_at(cut_range, at), interval(0, at[0] / 2 + 1));
  });
}

}  // namespace
}  // namespace polyweft::ir
