// Code generation that is left behind: whoever waits is free at once, the work ends by itself, and what comes next is
// done all the same.
#include "driver/code_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace polyweft {
namespace {

Stop never_asked() {
  return Stop(Stop::Clock::time_point::max(), [] { return false; });
}

TEST(CodeThread, without_an_end_the_work_is_done_here) {
  CodeThread threads;
  const auto here = std::this_thread::get_id();
  const auto done = threads.run<bool>(Stop(), [here] { return Result<bool>(std::this_thread::get_id() == here); });
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(*done);
}

TEST(CodeThread, work_in_time_gives_its_result_or_its_error) {
  CodeThread threads;
  EXPECT_EQ(*threads.run<int>(never_asked(), [] { return Result<int>(7); }), 7);
  const auto failed = threads.run<int>(never_asked(), [] { return Result<int>(fail("PW0502", "too long")); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, "PW0502");
}

TEST(CodeThread, who_stops_does_not_wait_and_the_next_work_is_done) {
  CodeThread threads;
  std::promise<void> may_end;
  auto released = std::make_shared<std::shared_future<void>>(may_end.get_future());
  auto ended = std::make_shared<std::promise<void>>();
  int asked = 0;
  const Stop soon(Stop::Clock::time_point::max(), [&] { return ++asked > 2; });
  const auto left = threads.run<int>(soon, [released, ended] {
    released->wait();
    ended->set_value();
    return Result<int>(1);
  });
  ASSERT_FALSE(left.ok());
  EXPECT_TRUE(is_stopped(left.error()));
  EXPECT_EQ(*threads.run<int>(never_asked(), [] { return Result<int>(2); }), 2);
  may_end.set_value();
  ended->get_future().wait();
}

TEST(CodeThread, what_is_stopped_before_does_not_begin) {
  CodeThread threads;
  const Stop over(Stop::Clock::now());
  bool began = false;
  EXPECT_FALSE(threads.run<int>(over, [&] { return began = true, Result<int>(1); }).ok());
  EXPECT_FALSE(began);
}

TEST(Stop, once_it_is_due_it_stays_so) {
  bool asks = false;
  const Stop stop(Stop::Clock::time_point::max(), [&] { return asks; });
  EXPECT_FALSE(stop.is_due());
  asks = true;
  EXPECT_TRUE(stop.is_due());
  asks = false;
  EXPECT_TRUE(stop.is_due());
  EXPECT_TRUE(stop.was_asked());
  const Stop late(Stop::Clock::now());
  EXPECT_TRUE(late.is_due());
  EXPECT_FALSE(late.was_asked());
  EXPECT_FALSE(Stop().is_due());
  EXPECT_FALSE(Stop().may_come());
}

}  // namespace
}  // namespace polyweft
