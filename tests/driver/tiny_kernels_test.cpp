// Kernels of nanoseconds under simulated clocks: steps of 1 to 50 ns, drift, speeds that change, interruptions. Whoever
// is told "faster" or "slower" must be able to believe it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "driver/bench_timing.h"
#include "support/rng.h"
#include "support/turns.h"

namespace polyweft {
namespace {

/// How one machine behaves.
struct SimulatedMachine {
  double step_ns = 1;        ///< of the clock
  double reading_ns = 30;    ///< what it takes to read it
  double drift_per_s = 0;    ///< kernels get slower by so much
  double other_speed = 1;    ///< a second speed, to which it changes and back
  double changes_per_s = 0;  ///< of the speed
  double jitter = 0.002;     ///< of each sample, exponential
  double pauses_per_s = 0;   ///< interruptions of 5 to 100 us
};

SimulatedMachine drawn(Rng& rng) {
  SimulatedMachine out;
  out.step_ns = std::ceil(50 * rng.uniform());
  out.reading_ns = 10 + 50 * rng.uniform();
  out.drift_per_s = rng.chance(0.5) ? 2 * rng.uniform() - 1 : 0;
  if (rng.chance(0.5)) out.other_speed = 1 + 1.5 * rng.uniform(), out.changes_per_s = 4000 * rng.uniform();
  out.jitter = 0.03 * rng.uniform();
  if (rng.chance(0.5)) out.pauses_per_s = 3000 * rng.uniform();
  return out;
}

/// Two kernels on a machine whose time is simulated.
class SimulatedCalls final : public TimedCalls {
 public:
  SimulatedCalls(const SimulatedMachine& machine, std::array<double, 2> ns, Rng rng)
      : machine_(machine), ns_(ns), rng_(rng), now_(1e6 * rng_.uniform()) {
    changes_at_ = now_ + until_change();
  }
  void give_budget(double ns) { ends_ = now_ + ns; }

  ClockFacts clock() const override { return {machine_.step_ns, false}; }
  double budget_left_ns() const override { return ends_ - now_; }
  std::optional<Samples> take(const Wanted& wanted) override {
    Samples out;
    for (uint32_t k = 0; k < wanted.samples; ++k)
      for (uint32_t turn = 0; turn < (wanted.pairs ? 2u : 1u); ++turn) {
        const uint32_t slot = wanted.pairs ? (wanted.first + turn) % 2 : 0;
        if (wanted.untimed > 0) run(slot, wanted.untimed);
        out[slot].push_back(timed(slot, wanted.repeat[slot]));
      }
    return out;
  }

 private:
  double until_change() {
    return machine_.changes_per_s > 0 ? 1e9 / machine_.changes_per_s * -std::log(1 - rng_.uniform()) : 1e18;
  }
  double read() {
    now_ += machine_.reading_ns;
    return std::floor(now_ / machine_.step_ns) * machine_.step_ns;
  }
  double timed(uint32_t slot, uint32_t repeat) {
    const double begin = read();
    run(slot, repeat);
    return (read() - begin) / repeat;
  }
  void run(uint32_t slot, uint32_t calls) {
    if (!is_warm_[slot]) now_ += 100e3 * rng_.uniform(), is_warm_[slot] = true;
    double left = ns_[slot] * calls * (1 + machine_.jitter * -std::log(1 - rng_.uniform())) *
                  std::max(0.3, 1 + machine_.drift_per_s * now_ / 1e9);
    if (rng_.chance(std::min(1.0, left * machine_.pauses_per_s / 1e9))) now_ += 5e3 + 95e3 * rng_.uniform();
    while (left > 0) {
      const double speed = is_slow_ ? machine_.other_speed : 1;
      const double done = std::min(left, (changes_at_ - now_) / speed);
      left -= done;
      now_ += done * speed;
      if (left <= 0) break;
      is_slow_ = !is_slow_;
      changes_at_ = now_ + until_change();
    }
  }

  const SimulatedMachine& machine_;
  std::array<double, 2> ns_;
  Rng rng_;
  double now_ = 0, ends_ = 1e18, changes_at_ = 0;
  bool is_slow_ = false;
  std::array<bool, 2> is_warm_ = {false, false};
};

/// As `bench` comes to its word: the kernel alone, then the rival in turns with it.
std::string word_of(const SimulatedMachine& machine, double rival_ns, double kernel_ns, Rng rng) {
  constexpr double kBudgetNs = 50e6;
  SimulatedCalls alone(machine, {kernel_ns, 0}, rng.fork("alone"));
  alone.give_budget(kBudgetNs);
  const auto first = first_calls(alone, false);
  const auto timed = time_alone(alone, *first, {});
  Timing kernel;
  kernel.samples = static_cast<int>(timed->samples.size());
  kernel.median_ns = median(timed->samples);
  SimulatedCalls both(machine, {rival_ns, kernel_ns}, rng.fork("both"));
  both.give_budget(4 * kBudgetNs);
  TurnsOptions options;
  options.to_the_end = true;
  options.most_samples = static_cast<size_t>(pairs_of_rival(kernel));
  const auto first_of_both = first_calls(both, true);
  const Interval ratio = time_pairs(both, *first_of_both, options)->race.ratio();
  Timing rival;
  rival.ratio = ratio.estimate, rival.ratio_lo = ratio.lo, rival.ratio_hi = std::min(ratio.hi, 1e9);
  return comparison_word(rival);
}

/// Of a kernel so long that the time is over after a few pairs.
std::string word_of_few(const SimulatedMachine& machine, double rival_ns, double kernel_ns, size_t pairs, Rng rng) {
  SimulatedCalls both(machine, {rival_ns, kernel_ns}, rng);
  both.take({.pairs = true});  // the first calls are not timed
  Timing rival;
  for (size_t k = 0; k < pairs; ++k) {
    const auto samples = both.take({.pairs = true, .first = static_cast<uint32_t>(k % 2)});
    rival.samples_ns.push_back(static_cast<float>((*samples)[0][0]));
    rival.beside_ns.push_back(static_cast<float>((*samples)[1][0]));
  }
  PairRace race;
  for (size_t k = 0; k < pairs; ++k) race.add(rival.samples_ns[k], rival.beside_ns[k]);
  const Interval ratio = race.ratio();
  rival.ratio = ratio.estimate, rival.ratio_lo = ratio.lo, rival.ratio_hi = std::min(ratio.hi, 1e9);
  return comparison_word(rival);
}

double drawn_ns(Rng& rng) {
  return std::exp(std::log(1.0) + rng.uniform() * std::log(5000.0));
}

TEST(TinyKernels, the_same_kernel_is_hardly_ever_called_faster_or_slower) {
  constexpr int kDraws = 3000;
  Rng rng(45);
  int faster = 0, slower = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const SimulatedMachine machine = drawn(rng);
    const double ns = drawn_ns(rng);
    const std::string word = word_of(machine, ns, ns, rng.fork(static_cast<uint64_t>(draw)));
    faster += word == "faster";
    slower += word == "slower";
  }
  EXPECT_LE(faster + slower, kDraws / 100) << faster << " faster, " << slower << " slower";
}

TEST(TinyKernels, what_differs_by_a_twentieth_gets_the_right_word) {
  constexpr int kDraws = 300;
  for (const double ratio : {0.5, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 2.0, 20.0}) {
    Rng rng = Rng(46).fork(static_cast<uint64_t>(1000 * ratio));
    int right = 0, wrong = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const SimulatedMachine machine = drawn(rng);
      const double ns = drawn_ns(rng);
      const std::string word = word_of(machine, ratio * ns, ns, rng.fork(static_cast<uint64_t>(draw)));
      right += word == (ratio < 1 ? "faster" : "slower");
      wrong += word == (ratio < 1 ? "slower" : "faster");
    }
    EXPECT_GE(right, kDraws * 95 / 100) << ratio;
    EXPECT_EQ(wrong, 0) << ratio;
  }
}

TEST(FewPairs, the_same_kernel_is_hardly_ever_called_faster_or_slower) {
  constexpr int kDraws = 3000;
  Rng rng(47);
  int faster = 0, slower = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const SimulatedMachine machine = drawn(rng);
    const double ns = 1e4 * drawn_ns(rng);
    const auto pairs = static_cast<size_t>(1 + rng.below(7));
    const std::string word = word_of_few(machine, ns, ns, pairs, rng.fork(static_cast<uint64_t>(draw)));
    EXPECT_NE(word, "too noisy") << "there is no interval";
    faster += word == "faster";
    slower += word == "slower";
  }
  EXPECT_LE(faster + slower, kDraws / 100) << faster << " faster, " << slower << " slower";
}

TEST(FewPairs, what_differs_by_far_gets_the_right_word) {
  constexpr int kDraws = 300;
  for (const double ratio : {0.02, 0.2, 5.0, 37.0}) {
    Rng rng = Rng(48).fork(static_cast<uint64_t>(1000 * ratio));
    int right = 0, wrong = 0, one = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const SimulatedMachine machine = drawn(rng);
      const double ns = 1e4 * drawn_ns(rng) / std::min(ratio, 1.0);  // the shorter one is long, too
      const auto pairs = static_cast<size_t>(2 + rng.below(6));
      const Rng own = rng.fork(static_cast<uint64_t>(draw));
      const std::string word = word_of_few(machine, ratio * ns, ns, pairs, own);
      right += word == (ratio < 1 ? "faster" : "slower");
      wrong += word == (ratio < 1 ? "slower" : "faster");
      one += word_of_few(machine, ratio * ns, ns, 1, own) == "too few pairs";
    }
    EXPECT_GE(right, kDraws * 95 / 100) << ratio;
    EXPECT_EQ(wrong, 0) << ratio;
    EXPECT_EQ(one, kDraws) << "one pair may be an accident";
  }
}

TEST(TinyKernels, no_interval_is_narrower_than_the_clock_allows) {
  const SimulatedMachine still{.step_ns = 50, .reading_ns = 20, .jitter = 0};
  SimulatedCalls calls(still, {3, 3}, Rng(1));
  calls.give_budget(50e6);
  const auto first = first_calls(calls, true);
  EXPECT_GE(first->sample_ns(0), 0.9 * shortest_sample_ns(calls.clock()));
  TurnsOptions options;
  options.to_the_end = true;
  const Interval ratio = time_pairs(calls, *first, options)->race.ratio();
  EXPECT_LE(ratio.lo, 1 - 50 / shortest_sample_ns(calls.clock()) / 2);
  EXPECT_GE(ratio.hi, 1 + 50 / shortest_sample_ns(calls.clock()) / 2);
}

/// Counts: nobody asks for a second sample.
class CountedCalls final : public TimedCalls {
 public:
  explicit CountedCalls(std::array<double, 2> ns) : ns_(ns) {}
  ClockFacts clock() const override { return {0, true}; }
  double budget_left_ns() const override { return 0; }
  std::optional<Samples> take(const Wanted& wanted) override {
    taken += static_cast<int>(wanted.samples * wanted.repeat[0]);
    return Samples{std::vector<double>(wanted.samples, ns_[0]), std::vector<double>(wanted.samples, ns_[1])};
  }
  int taken = 0;

 private:
  std::array<double, 2> ns_;
};

TEST(ExactTimes, one_pair_says_all) {
  for (const auto& [ns, word] : {std::pair(723.0, "faster"), {999.0, "faster"}, {1000.0, "tie"}, {1001.0, "slower"}}) {
    CountedCalls calls({ns, 1000});
    const auto first = first_calls(calls, true);
    const Interval ratio = time_pairs(calls, *first, {})->race.ratio();
    EXPECT_EQ(ratio, (Interval{ns / 1000, ns / 1000, ns / 1000}));
    EXPECT_EQ(calls.taken, 1);
    Timing timing;
    timing.is_exact = true;
    timing.ratio = timing.ratio_lo = timing.ratio_hi = ratio.estimate;
    EXPECT_STREQ(comparison_word(timing), word) << ns;
    EXPECT_EQ(time_alone(calls, *first, {})->samples, std::vector<double>{ns});
  }
}

TEST(Timings, one_sample_has_no_interval) {
  EXPECT_EQ(relative_half_width({5}, 0.1), 0);
  EXPECT_EQ(relative_half_width({5, 5, 5}, 0.1), 0.1) << "never less than the clock's step";
}

}  // namespace
}  // namespace polyweft
