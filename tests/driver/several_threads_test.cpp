// One tuner, eight threads: calls are answered one after the other, kernels run side by side.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "driver/turn.h"
#include "polyweft/tuner.h"

namespace polyweft {
namespace {

constexpr int kThreads = 8;

template <class F>
void on_threads_at_once(const F& body) {
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) threads.emplace_back([&body, k] { body(k); });
  for (std::thread& each : threads) each.join();
}

class SeveralThreads : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-threads-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Tuner tuner() {
    TunerOptions options;
    options.database = folder_ / "a.db";
    options.may_miss_database = true;
    options.secret = folder_ / "secret";
    options.helper_directory = PW_BINARY_DIR "/src/tools";
    return Tuner(find_target("host").value(), options);
  }
  /// y[i] = factor * x[i] + sum of x
  static Program program(int factor) {
    return parse_program("program p" + std::to_string(factor) + "(N = " + std::to_string(40 + factor) +
                         ")\nin x: f32[N]\nlet s = sum[k: N] x[k]\nout y[i: N] = " + std::to_string(factor) +
                         " * x[i] + s\n")
        .value();
  }
  static bool is_right(Kernel& kernel, int factor) {
    const auto n = static_cast<size_t>(kernel.arguments()[0].extents[0]);
    std::vector<float> x(n), y(n);
    float sum = 0;
    for (size_t i = 0; i < n; ++i) sum += x[i] = static_cast<float>(i % 5);
    if (!kernel.call({x.data(), y.data()})) return false;
    for (size_t i = 0; i < n; ++i)
      if (y[i] != static_cast<float>(factor) * x[i] + sum) return false;
    return true;
  }
  std::filesystem::path folder_;
};

TEST_F(SeveralThreads, compile_tune_look_up_and_run_with_one_tuner) {
  Tuner one = tuner();
  std::atomic<int> right = 0;
  on_threads_at_once([&](int k) {
    const Program own = program(k);
    auto kernel = one.compile(own, {});
    bool ok = kernel && is_right(*kernel, k);
    TuneOptions options;
    options.trials = 1;
    options.budget = TuneOptions::kNoLimit;
    const auto report = one.tune(own, options);
    ok = ok && report;
    const auto best = one.best(own, {});
    ok = ok && best && *best && (*best)->program_name == own.name;
    auto again = ok ? one.compile(**best) : Result<Kernel>(fail("PW0710", "none"));
    ok = ok && again && is_right(*again, k);
    ok = ok && one.show(own, {}, ShowStage::loops) && one.check(own).errors.empty() && !one.timings().empty();
    const auto database = one.database();
    ok = ok && database && (*database)->list({}) && (*database)->stats();
    right += ok;
  });
  EXPECT_EQ(right, kThreads);
  EXPECT_EQ((*one.database())->stats()->records, kThreads);
}

TEST_F(SeveralThreads, kernels_run_side_by_side_and_calls_of_one_take_turns) {
  Tuner one = tuner();
  TaskOptions open;
  open.symbolic = true;
  const auto for_all = one.compile(program(3), open);
  ASSERT_TRUE(for_all) << for_all.error().message;
  auto shared = one.compile(program(3), {});
  ASSERT_TRUE(shared) << shared.error().message;
  std::atomic<int> right = 0;
  on_threads_at_once([&](int k) {
    auto own = for_all->at({k + 1});
    Kernel same = *shared;
    for (int round = 0; round < 200; ++round) right += own && is_right(*own, 3) && is_right(same, 3);
  });
  EXPECT_EQ(right, kThreads * 200);
}

TEST_F(SeveralThreads, what_a_call_tells_may_call_again_and_others_wait_no_longer_than_they_may) {
  std::atomic<bool> is_inside = false, may_go_on = false;
  TunerOptions options;
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  Tuner* tuner = nullptr;
  std::atomic<int> calls = 0;
  options.doing = [&](const std::string&) {
    if (calls++ == 0) {
      is_inside = true;
      while (!may_go_on) std::this_thread::yield();
      EXPECT_TRUE(tuner->check(program(1)).errors.empty()) << "of the thread that is inside";
    }
  };
  Tuner one(find_target("host").value(), options);
  tuner = &one;
  std::thread inside([&] { EXPECT_TRUE(one.compile(program(1), {})); });
  while (!is_inside) std::this_thread::yield();
  TaskOptions impatient;
  impatient.deadline = std::chrono::milliseconds(1);
  EXPECT_EQ(one.compile(program(2), impatient).error().code, "PW0839");
  TaskOptions asked_to_stop;
  asked_to_stop.cancelled = [] { return true; };
  EXPECT_EQ(one.best(program(2), asked_to_stop).error().code, "PW0839");
  may_go_on = true;
  inside.join();
  EXPECT_TRUE(one.compile(program(2), {}));
}

TEST_F(SeveralThreads, whose_turn_it_is) {
  OneAtATime calls;
  int inside = 0, most = 0, entered = 0;
  on_threads_at_once([&](int) {
    for (int round = 0; round < 500; ++round) {
      const Turn turn(calls);
      const Turn again(calls);
      most = std::max(most, ++inside);
      ++entered;
      --inside;
    }
  });
  EXPECT_EQ(most, 1);
  EXPECT_EQ(entered, kThreads * 500);
}

TEST_F(SeveralThreads, a_database_that_is_not_there_is_an_error_for_whoever_looks) {
  TunerOptions options;
  options.database = folder_ / "none.db";
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  Tuner by(find_target("host").value(), options);
  const std::string wanted = "database " + options.database + ": there is no such file";
  const auto refused = [&](const auto& result) {
    return !result && result.error().code == "PW0724" && result.error().message == wanted;
  };
  EXPECT_TRUE(refused(by.compile(program(1), {})));
  EXPECT_TRUE(refused(by.best(program(1), {})));
  EXPECT_TRUE(refused(by.nearest(program(1), {})));
  EXPECT_TRUE(refused(by.build(program(1), {}, Emit::object, "")));
  EXPECT_TRUE(refused(by.show(program(1), {}, ShowStage::loops)));
  EXPECT_TRUE(refused(by.database()));
  EXPECT_FALSE(std::filesystem::exists(options.database));
  options.may_miss_database = true;
  Tuner lenient(find_target("host").value(), options);
  EXPECT_TRUE(lenient.compile(program(1), {}));
  EXPECT_FALSE(*lenient.best(program(1), {}));
  TuneOptions few;
  few.trials = 1;
  few.budget = TuneOptions::kNoLimit;
  EXPECT_TRUE(by.tune(program(1), few));
  EXPECT_TRUE(by.compile(program(1), {})) << "it is there now";
}

}  // namespace
}  // namespace polyweft
