// What samples say of loops and conditions, against counts over all iterations.
#include "ir/nests/frequencies.h"

#include <gtest/gtest.h>

#include <string>

namespace polyweft::ir {
namespace {

LoopNest nest_around(const std::string& body) {
  auto nest = parse_loop_nest(
      "nest 1 t class reassoc\nloops i, j, k\nbuffer A: f32[64, 64] argument align 4\nbuffer C: f32[64, 64] argument "
      "align 4 output\narguments A, C\nbody {\n" +
      body + "\n}\n");
  if (!nest) throw std::runtime_error(nest.error().message + "\n" + body);
  return *nest;
}

/// Runs all iterations: how often each loop is met and entered, its iterations, and each condition's outcomes.
class Count {
 public:
  struct Seen {
    double met = 0, entered = 0, trips = 0;
  };
  std::map<VarId, Seen> loops;
  std::map<const void*, std::pair<double, double>> conditions;  ///< held, tested

  explicit Count(const LoopNest& nest) : nest_(nest), values_(nest.params.size() + nest.loop_names.size(), 0) {
    run(nest.root);
  }

 private:
  void run(NodeId id) {
    if (id == kNoNode) return;
    if (const auto* seq = std::get_if<Seq>(&nest_.nodes[id]))
      for (NodeId child : seq->children) run(child);
    if (const auto* test = std::get_if<If>(&nest_.nodes[id]))
      run(holds(test, test->condition) ? test->then : test->otherwise);
    if (const auto* compute = std::get_if<Compute>(&nest_.nodes[id]))
      for (const Expr& e : compute->rhs) look(e);
    if (const auto* loop = std::get_if<Loop>(&nest_.nodes[id])) {
      int64_t lo = INT64_MIN, hi = INT64_MAX;
      for (const Affine& e : loop->lo.of) lo = std::max(lo, evaluate(e, values_));
      for (const Affine& e : loop->hi.of) hi = std::min(hi, evaluate(e, values_));
      Seen& seen = loops[loop->var];
      ++seen.met;
      seen.entered += hi > lo;
      for (int64_t v = lo; v < hi; v += loop->step) {
        ++seen.trips;
        values_[loop->var] = v;
        run(loop->body);
      }
    }
  }
  void look(const Expr& e) {
    if (e->op == Op::guarded) return look(e->args[holds(e.get(), e->guard) ? 0 : 1]);
    for (const Expr& arg : e->args) look(arg);
  }
  bool holds(const void* condition, const Guard& guard) {
    const bool out = evaluate(guard, values_);
    conditions[condition].first += out;
    ++conditions[condition].second;
    return out;
  }
  const LoopNest& nest_;
  std::vector<int64_t> values_;
};

const char* const kBodies[] = {
    "for i in 0 .. 64 {\n for j in 0 .. 64 {\n compute 0(i, j) store: C[i, j] <- A[i, j]\n }\n }",
    "for i in 0 .. 64 {\n for j in 0 .. i {\n compute 0(i, j) store: C[i, j] <- A[i, j]\n }\n }",
    "for i in 0 .. 64 {\n for j in max(0, i - 5) .. min(64, i + 3) {\n if j - 20 >= 0 {\n compute 0(i, j) store: C[i, "
    "j] <- A[i, j]\n }\n }\n }",
    "for i in 0 .. 64 {\n for j in 60 .. i {\n for k in j .. i {\n compute 0(i, j) store: C[i, j] <- A[k, j]\n }\n }\n "
    "}",
    "for i in 0 .. 64 step 8 {\n for j in 0 .. 64 {\n compute 0(i, j) store: C[i, j] <- guarded(j + i - 24 >= 0; A[i, "
    "j], 0:f32)\n }\n }",
    "for i in 0 .. 64 {\n for j in 0 .. 64 {\n if j == 0 {\n compute 0(i, j) store: C[i, j] <- A[i, j]\n } else {\n "
    "for k in 0 .. j {\n compute 0(i, j) store: C[i, j] <- A[i, k]\n }\n }\n }\n }",
};

class FrequencyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FrequencyTest, samples_agree_with_counts) {
  const LoopNest nest = nest_around(GetParam());
  const Frequencies frequencies = frequencies_of(nest);
  const Count count(nest);
  ASSERT_EQ(frequencies.loops.size(), count.loops.size());
  for (const auto& [var, seen] : count.loops) {
    const LoopFrequency& told = frequencies.loops.at(var);
    EXPECT_NEAR(told.met, seen.met, 0.3 * seen.met);
    EXPECT_NEAR(told.entered, seen.entered / seen.met, 0.15);
    const double trips = seen.entered > 0 ? seen.trips / seen.entered : 1;
    EXPECT_NEAR(told.trips, trips, 0.3 * trips + 0.5);
  }
  for (const auto& [condition, held] : count.conditions)
    EXPECT_NEAR(frequencies.holds.at(condition), held.first / held.second, 0.15);
}
INSTANTIATE_TEST_SUITE_P(Nests, FrequencyTest, ::testing::ValuesIn(kBodies));

// A compiler makes the last iteration's condition the end of the loop: were it never false, the loop would never end.
TEST(FrequencyTest, conditions_that_one_iteration_decides_are_neither_always_nor_never_met) {
  for (const int last : {62, 899})
    for (const char* condition : {"LAST - i >= 0", "i - LAST - 1 >= 0", "LAST - i + j - j >= 0"}) {
      std::string test = condition;
      test.replace(test.find("LAST"), 4, std::to_string(last));
      const std::string trips = std::to_string(last + 2);
      const LoopNest nest = nest_around(("for i in 0 .. " + trips + " {\n for j in 0 .. 64 {\n if " + test +
                                         " {\n compute 0(i, j) store: C[i, j] <- A[i, j]\n }\n }\n }")
                                            .c_str());
      const Frequencies frequencies = frequencies_of(nest);
      ASSERT_EQ(frequencies.holds.size(), 1u) << test;
      const double holds = frequencies.holds.begin()->second, share = std::min(holds, 1 - holds);
      EXPECT_GT(share, 0.2 / (last + 2)) << test;
      EXPECT_LT(share, 0.03) << test;
    }
}

TEST(FrequencyTest, two_calls_give_the_same) {
  const LoopNest nest = nest_around(kBodies[2]);
  const Frequencies a = frequencies_of(nest), b = frequencies_of(nest);
  EXPECT_EQ(a.holds, b.holds);
  for (const auto& [var, loop] : a.loops) EXPECT_EQ(loop.trips, b.loops.at(var).trips);
}

}  // namespace
}  // namespace polyweft::ir
