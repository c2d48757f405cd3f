#include "support/stage_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

namespace polyweft {
namespace {

using namespace std::chrono_literals;

std::map<std::string, std::chrono::nanoseconds> told_by(const StageTimes& times) {
  std::map<std::string, std::chrono::nanoseconds> out;
  for (const auto& row : times.rows()) out[row.stage] = row.processor;
  return out;
}

void work_for(std::chrono::milliseconds time) {
  const auto used = [] { return std::chrono::microseconds(int64_t{clock()} * 1'000'000 / CLOCKS_PER_SEC); };
  for (const auto end = used() + time; used() < end;) {
  }
}

TEST(StageTimes, a_part_is_taken_from_the_stage_around_it) {
  StageTimes times;
  {
    const StageTimes::Running outer(&times, "outer");
    const StageTimes::Running inner("inner");
    work_for(50ms);
  }
  const auto told = told_by(times);
  EXPECT_GT(told.at("inner"), 25ms);
  EXPECT_LT(told.at("outer"), 25ms);
}

TEST(StageTimes, what_a_helper_used_goes_to_the_call_of_this_thread) {
  StageTimes times;
  StageTimes::add_to_call("helper", 5ms);  // no call: nobody is told
  {
    const StageTimes::Running call(&times, "call");
    StageTimes::add_to_call("helper", 7ms);
    std::thread([] { StageTimes::add_to_call("helper", 11ms); }).join();  // a thread without a call
  }
  EXPECT_EQ(told_by(times).at("helper"), 7ms);
}

}  // namespace
}  // namespace polyweft
