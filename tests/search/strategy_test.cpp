#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "polyweft/search.h"

namespace polyweft {
namespace {

std::vector<int64_t> upto(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}

// True time: a bowl around `optimum`. The model sees it through `distortion`.
struct Landscape {
  std::vector<int64_t> optimum;
  double scale = 1;
  double true_ns(const std::vector<int64_t>& d) const {
    double sum = 100;
    for (size_t i = 0; i < d.size(); ++i) sum += std::pow(static_cast<double>(d[i] - optimum[i]), 2);
    return scale * sum;
  }
};

std::string text_of(const std::vector<int64_t>& d) {
  std::string out;
  for (int64_t v : d) out += std::to_string(v) + ",";
  return out;
}

SketchSpace space_of(const Landscape& landscape, int64_t values, double model_factor, uint32_t number) {
  SketchSpace space;
  for (size_t i = 0; i < landscape.optimum.size(); ++i)
    space.choices.push_back({"d" + std::to_string(i), upto(values)});
  space.score = [=](const std::vector<int64_t>& d) -> std::optional<Score> {
    if (d[0] == 3) return std::nullopt;
    return Score{model_factor * landscape.true_ns(d), std::to_string(number) + ":" + text_of(d)};
  };
  return space;
}

double search(Strategy& strategy, const std::vector<Landscape>& truth, int measurements,
              std::set<std::string>* proposed = nullptr) {
  double best = 1e300;
  for (int done = 0; done < measurements;) {
    auto batch = strategy.ask(4);
    if (batch.empty()) break;
    std::vector<Observation> seen;
    for (const auto& c : batch) {
      if (proposed) {
        EXPECT_TRUE(proposed->insert(c.nest_hash).second) << "proposed twice: " << c.nest_hash;
      }
      seen.push_back({c, RunStatus::ok, truth[c.sketch].true_ns(c.decisions)});
      best = std::min(best, seen.back().ratio);
      ++done;
    }
    strategy.tell(seen);
  }
  return best;
}

TEST(EnumerateByModel, proposes_the_best_of_the_model_first) {
  const Landscape landscape{{5, 9}};
  auto strategy = enumerate_by_model({space_of(landscape, 16, 1, 0)}, {.epsilon = 0});
  const auto first = strategy->ask(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].decisions, (std::vector<int64_t>{5, 9}));
  EXPECT_EQ(strategy->scored(), 256);
}

TEST(EnumerateByModel, never_proposes_what_breaks_a_constraint_and_ends) {
  const Landscape landscape{{3, 1}};
  auto strategy = enumerate_by_model({space_of(landscape, 6, 1, 0)}, {});
  std::set<std::string> proposed;
  search(*strategy, {landscape}, 1000, &proposed);
  EXPECT_EQ(proposed.size(), 30u);
  for (const auto& p : proposed) EXPECT_NE(p.substr(0, 4), "0:3,");
}

TEST(EnumerateByModel, finds_out_that_the_model_is_wrong_about_a_sketch) {
  const std::vector<Landscape> truth = {{{5, 5}, 10}, {{5, 5}, 1}};
  // The model believes that sketch 0 is five times faster; it is ten times slower.
  auto strategy = enumerate_by_model({space_of(truth[0], 16, 0.02, 0), space_of(truth[1], 16, 1, 1)}, {.epsilon = 0});
  EXPECT_EQ(search(*strategy, truth, 4), 100);
}

TEST(Strategies, equal_seeds_and_observations_give_equal_proposals) {
  const Landscape landscape{{5, 9, 2, 7}};
  const auto evolved = [](std::vector<SketchSpace> sketches, const SearchOptions& options) {
    return evolve(std::move(sketches), options);
  };
  using Make = std::function<std::unique_ptr<Strategy>(std::vector<SketchSpace>, const SearchOptions&)>;
  for (const Make& make : {Make(enumerate_by_model), Make(evolved)}) {
    std::set<std::string> first, second;
    search(*make({space_of(landscape, 12, 1.3, 0)}, {.seed = 11}), {landscape}, 40, &first);
    search(*make({space_of(landscape, 12, 1.3, 0)}, {.seed = 11}), {landscape}, 40, &second);
    EXPECT_EQ(first, second);
  }
}

TEST(Evolve, climbs_where_the_model_knows_nothing) {
  const Landscape truth{{9, 2, 11, 6, 4, 8}};
  SketchSpace blind = space_of(truth, 12, 1, 0);
  blind.score = [](const std::vector<int64_t>& d) -> std::optional<Score> { return Score{1000, text_of(d)}; };
  double evolved = 0, random = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    evolved +=
        search(*evolve({blind}, {.seed = seed, .enumeration_limit = 1000, .scores_per_ask = 40, .epsilon = 0.05}),
               {truth}, 160);
    random +=
        search(*enumerate_by_model({blind}, {.seed = seed, .enumeration_limit = 1000, .epsilon = 1}), {truth}, 160);
  }
  EXPECT_LT(evolved - 500, 0.5 * (random - 500)) << "evolution must beat random choice when only measurements tell";
}

TEST(Evolve, proposes_before_thousands_of_large_nests_are_scored) {
  const Landscape landscape{{5, 9, 2, 7}};
  for (const int64_t values : {8, 12}) {  // one space below the limit, one above
    SketchSpace large = space_of(landscape, values, 1, 0);
    int64_t scores = 0;
    large.score = [&, cheap = large.score](const std::vector<int64_t>& d) {
      ++scores;
      auto out = cheap(d);
      if (out) out->work = 2'000;
      return out;
    };
    const auto strategy = evolve({large}, {});
    ASSERT_EQ(strategy->ask(4).size(), 4u);
    EXPECT_LT(scores, 200) << values;
    const int64_t first = scores;
    strategy->ask(4);
    EXPECT_LT(scores - first, 100) << values;
  }
}

TEST(Evolve, tries_every_point_of_a_small_space) {
  const Landscape landscape{{1, 2, 2}};
  SketchSpace large = space_of(landscape, 4, 1, 0);
  large.score = [cheap = large.score](const std::vector<int64_t>& d) {
    auto out = cheap(d);
    if (out) out->work = 60'000;
    return out;
  };
  std::set<std::string> proposed;
  search(*evolve({large}, {}), {landscape}, 1000, &proposed);
  EXPECT_EQ(proposed.size(), 48u) << "64 less those that break the constraint";
}

/// However many structures are derived meanwhile, and whatever their sizes.
TEST(Evolve, looks_at_all_of_a_small_space_beside_derived_structures) {
  const Landscape landscape{{1, 2, 2}};
  const auto costly = [](SketchSpace space) {
    space.score = [cheap = space.score](const std::vector<int64_t>& d) {
      auto out = cheap(d);
      if (out) out->work = 60'000;
      return out;
    };
    return space;
  };
  class Huge final : public Derivation {
   public:
    explicit Huge(SketchSpace space) : space_(std::move(space)) {}
    std::optional<Derived> mutated(const Candidate&, uint64_t) override {
      return Derived{space_, std::vector<int64_t>(space_.choices.size(), ++made_ % 40)};
    }
    std::optional<Derived> crossed(const Candidate& parent, const Candidate&, uint64_t seed) override {
      return mutated(parent, seed);
    }
    void forget(uint32_t) override {}

   private:
    SketchSpace space_;
    int64_t made_ = 3;
  };
  const Landscape far{{1, 2, 2, 3}};
  Huge derivation(costly(space_of(far, 40, 1, 1)));
  const auto strategy = evolve({costly(space_of(landscape, 4, 1, 0))}, {}, &derivation);
  std::set<std::string> of_first;
  for (int asked = 0; asked < 400; ++asked) {
    std::vector<Observation> seen;
    for (const Candidate& c : strategy->ask(4)) {
      if (c.sketch == 0) of_first.insert(c.nest_hash);
      seen.push_back({c, RunStatus::ok, c.sketch == 0 ? landscape.true_ns(c.decisions) : 1e6});
    }
    if (seen.empty()) break;
    strategy->tell(seen);
  }
  EXPECT_EQ(of_first.size(), 48u);
}

TEST(Evolve, never_proposes_twice) {
  const Landscape landscape{{5, 9, 2}};
  std::set<std::string> proposed;
  search(*evolve({space_of(landscape, 8, 1, 0)}, {}), {landscape}, 300, &proposed);
  EXPECT_GE(proposed.size(), 300u);
}

/// Structures are numbers: a child's is one more or one less than its parent's, or what the other parent has. The model
/// knows nothing of them.
class Numbers final : public Derivation {
 public:
  explicit Numbers(int64_t most) : most_(most) {}
  std::optional<Derived> mutated(const Candidate& parent, uint64_t seed) override {
    return made(numbers[parent.sketch] + (seed % 2 == 0 ? 1 : -1));
  }
  std::optional<Derived> crossed(const Candidate&, const Candidate& other, uint64_t) override {
    return made(numbers[other.sketch]);
  }
  void forget(uint32_t sketch) override { forgotten.insert(sketch); }

  std::vector<int64_t> numbers{0};  ///< a sketch
  std::set<uint32_t> forgotten;

 private:
  std::optional<Derived> made(int64_t number) {
    if (number < 0 || number > most_ || !known_.insert(number).second) return std::nullopt;
    numbers.push_back(number);
    return Derived{space_of_number(number), {}};
  }
  static SketchSpace space_of_number(int64_t number) {
    return {{}, [=](const std::vector<int64_t>&) { return Score{1000, "number " + std::to_string(number)}; }};
  }
  int64_t most_;
  std::set<int64_t> known_{0};
};

SketchSpace number_zero() {
  return {{}, [](const std::vector<int64_t>&) { return Score{1000, "number 0"}; }};
}

/// The numbers in the order in which they were measured; a greater one is faster.
std::vector<int64_t> measured_numbers(Numbers& numbers, const SearchOptions& options, int measurements) {
  std::vector<int64_t> out;
  const auto strategy = evolve({number_zero()}, options, &numbers);
  while (std::ssize(out) < measurements) {
    const auto batch = strategy->ask(4);
    if (batch.empty()) break;
    std::vector<Observation> seen;
    for (const Candidate& c : batch) {
      out.push_back(numbers.numbers[c.sketch]);
      seen.push_back({c, RunStatus::ok, 1.0 / static_cast<double>(1 + out.back())});
    }
    strategy->tell(seen);
  }
  return out;
}

TEST(Evolve, goes_from_structure_to_structure) {
  Numbers numbers(40);
  const auto order = measured_numbers(numbers, {.seed = 3}, 1000);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 41u);
  EXPECT_EQ(order.size(), 41u) << "each once, and then there is nothing left to try";
  Numbers again(40);
  EXPECT_EQ(measured_numbers(again, {.seed = 3}, 1000), order);
}

TEST(Evolve, derives_from_what_was_too_slow_where_nothing_else_is_known) {
  Numbers numbers(5);
  const auto strategy = evolve({number_zero()}, {.seed = 1}, &numbers);
  const auto first = strategy->ask(4);
  ASSERT_EQ(first.size(), 1u);
  strategy->tell({{first[0], RunStatus::slower, 3}});
  const auto next = strategy->ask(4);
  ASSERT_FALSE(next.empty());
  EXPECT_EQ(numbers.numbers[next[0].sketch], 1);
}

}  // namespace
}  // namespace polyweft
