// What samples of a nest meet: a walk that knows the samples before finds the same as a new one; and Touched as set of
// buffers says.
#include "cost_models/walk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "cost_models/traffic.h"
#include "polyweft/cost_model.h"

namespace polyweft::cost {
namespace {

// Rows of a triangle in strips of 7, columns in tiles of 16 with tails, a branch that few samples take, halves
// converted once for several rows.
const char* kTriangle = R"(nest 1 triangle class reassoc
param N = 100
loops i0, i1, j0, j1, u
buffer x: bf16[100, 100] argument align 2 tensor 0 element [$0, $1]
buffer z: f32[50, 100] argument align 4 tensor 1 element [$0, $1]
buffer y: f32[100, 100, 4] argument align 4 output tensor 2 element [$0, $1, $2]
arguments x, z, y
body {
  for i0 in 0 .. 100 step 7 {
    for i1 in 0 .. min(7, -i0 + 100) {
      for j0 in 0 .. i0 + i1 + 1 step 16 {
        if i0 + j0 - 60 >= 0 {
          for j1 in 0 .. min(16, i0 + i1 - j0 + 1) {
            for u in 0 .. 4 unroll {
              compute 0(i0 + i1, j0 + j1, u) store: y[i0 + i1, j0 + j1, u] <- (convert:f32(x[i0 + i1, j0 + j1]) * z[floor(i0 / 2), j0 + j1])
            }
          }
        }
      }
    }
  }
}
)";

LoopNest triangle() {
  auto nest = parse_loop_nest(kTriangle);
  if (!nest) throw std::runtime_error(nest.error().message);
  return *nest;
}

void expect_same(const Leaf& a, const Leaf& b) {
  EXPECT_EQ(a.node, b.node);
  ASSERT_EQ(a.loops.size(), b.loops.size());
  for (size_t l = 0; l < a.loops.size(); ++l) {
    EXPECT_EQ(a.loops[l].var, b.loops[l].var);
    EXPECT_EQ(a.loops[l].trips, b.loops[l].trips);
  }
  ASSERT_EQ(a.accesses.size(), b.accesses.size());
  for (size_t k = 0; k < a.accesses.size(); ++k) {
    EXPECT_EQ(a.accesses[k].buffer, b.accesses[k].buffer);
    EXPECT_EQ(a.accesses[k].coeff, b.accesses[k].coeff);
    EXPECT_EQ(a.accesses[k].at, b.accesses[k].at);
  }
  EXPECT_EQ(a.operations, b.operations);
  EXPECT_EQ(a.slow_operations, b.slow_operations);
  EXPECT_EQ(a.divisions, b.divisions);
}

/// Those that touch memory; the others are tests of conditions.
std::vector<const Leaf*> statements(const std::vector<const Leaf*>& leaves) {
  std::vector<const Leaf*> out;
  for (const Leaf* leaf : leaves)
    if (!leaf->accesses.empty()) out.push_back(leaf);
  return out;
}

TEST(Walk, samples_one_after_the_other_are_those_of_new_walks) {
  const LoopNest nest = triangle();
  Walk walk(nest);
  std::set<double> trips;
  size_t met = 0;
  for (int sample = 0; sample < 96; ++sample) {
    const auto& leaves = walk.at(sample);
    Walk fresh(nest);
    const auto& expected = fresh.at(sample);
    ASSERT_EQ(leaves.size(), expected.size()) << sample;
    for (size_t k = 0; k < leaves.size(); ++k) expect_same(*leaves[k], *expected[k]);
    for (const Leaf* leaf : statements(leaves)) trips.insert(leaf->loops[3].trips), ++met;
  }
  EXPECT_GT(met, 10u);
  EXPECT_LT(met, 90u);          // the branch is not always taken
  EXPECT_GT(trips.size(), 2u);  // tails are met
}

// x is converted once for the four values that are made of it.
TEST(Walk, what_is_read_once_is_converted_once) {
  const LoopNest nest = triangle();
  Walk walk(nest);
  for (int sample = 0; sample < 96; ++sample)
    for (const Leaf* leaf : statements(walk.at(sample))) EXPECT_EQ(leaf->operations, 1 + 0.25);
}

TEST(Walk, means_over_samples_are_those_over_all_iterations) {
  const LoopNest nest = triangle();
  Walk walk(nest);
  double points = 0, counted = 0;
  constexpr int kSamples = 400;
  for (int sample = 0; sample < kSamples; ++sample)
    for (const Leaf* leaf : statements(walk.at(sample))) {
      double product = 1;
      for (const LoopContext& loop : leaf->loops) product *= loop.trips;
      points += product / kSamples;
    }
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j <= i; ++j) counted += i / 7 * 7 + j / 16 * 16 >= 60 ? 4 : 0;
  EXPECT_NEAR(points, counted, 0.1 * counted);
}

TEST(Walk, a_copy_to_where_values_lie_is_no_work) {
  const auto leaves_of = [](const char* where) {
    const auto nest =
        parse_loop_nest(std::string("nest 1 p class strict\nloops a, b, c, d\nbuffer X: f64[12, 40] argument align "
                                    "8\nbuffer Y: f64[12, 40] argument align 8 output\n") +
                        "buffer A: f64[12, 40] heap align 64" + where +
                        "\narguments X, Y\nbody { alloc A {\nfor a in 0 .. 12 { for b in 0 .. 40 { compute 0(a, b) "
                        "store: A[a, b] <- X[a, b] } }\n"
                        "for c in 0 .. 12 { for d in 0 .. 40 { compute 1(c, d) store: Y[c, d] <- A[c, d] } }\n} }\n");
    EXPECT_TRUE(nest.ok());
    return nest ? Walk(*nest).at(0).size() : 0;
  };
  EXPECT_EQ(leaves_of(""), 2u);
  EXPECT_EQ(leaves_of(" within Y at 0"), 1u);
}

TEST(Walk, conditions_in_plain_loops_are_tested_whatever_they_decide) {
  const LoopNest nest = triangle();
  Walk walk(nest);
  int tests = 0, decided = 0;
  for (int sample = 0; sample < 96; ++sample) {
    const auto& leaves = walk.at(sample);
    const auto computes = statements(leaves);
    decided += !computes.empty();
    for (const Leaf* leaf : leaves)
      if (leaf->accesses.empty()) {
        ++tests;
        EXPECT_GT(leaf->slow_operations, 0);
        EXPECT_EQ(leaf->loops.back().mark, MarkKind::serial);
      }
  }
  EXPECT_EQ(tests, 96);
  EXPECT_LT(decided, 90);
}

TEST(Touched, others_touch_what_they_and_no_own_access_touch) {
  LoopNest nest;
  Buffer buffer;
  for (int64_t k = 0; k < 6; ++k) {
    buffer.extents = {int64_t{1} << k};
    buffer.layout = row_major(buffer.extents);
    buffer.scope = k == 5 ? Scope::reg : Scope::argument;
    nest.buffers.push_back(buffer);
  }
  const auto leaf_of = [](std::vector<BufferId> buffers) {
    Leaf leaf;
    for (BufferId b : buffers) leaf.accesses.emplace_back().buffer = b;
    return leaf;
  };
  std::vector<Leaf> leaves = {leaf_of({0, 1, 1, 5}), leaf_of({1, 2}), leaf_of({3, 5}), leaf_of({4})};
  leaves[3].accesses[0].is_streamed = true;
  std::vector<const Leaf*> met;
  for (const Leaf& leaf : leaves) met.push_back(&leaf);
  Touched touched(nest);
  touched.set(met);
  for (const Leaf& leaf : leaves) {
    std::set<BufferId> own, others;
    for (const AccessUse& use : leaf.accesses) own.insert(use.buffer);
    for (const Leaf& other : leaves)
      for (const AccessUse& use : other.accesses)
        if (!use.is_streamed && !own.count(use.buffer) && nest.buffers[use.buffer].scope != Scope::reg)
          others.insert(use.buffer);
    double bytes = 0;
    for (BufferId b : others) bytes += 4 * std::exp2(b);
    EXPECT_EQ(touched.elsewhere(leaf), bytes);
  }
}

}  // namespace
}  // namespace polyweft::cost
