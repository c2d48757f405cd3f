// Loads whose lanes are all masked off: their addresses may lie pages outside of the buffer, where such a load costs
// some hundred cycles, so they read at its start instead.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

std::string llvm_of(const std::string& read) {
  auto nest = parse_loop_nest(
      "nest 1 t class reassoc\nloops i, j, v\nbuffer A: f32[64, 64] argument align 4\nbuffer C: f32[64, 64] argument "
      "align 4 output\narguments A, C\nbody {\n"
      "  for i in 0 .. 64 {\n    for j in 0 .. 64 step 8 {\n      for v in 0 .. 8 vector 8 {\n        compute 0(i, j + "
      "v) store: C[i, j + v] <- " +
      read + "\n      }\n    }\n  }\n}\n");
  if (!nest) throw std::runtime_error(nest.error().message);
  auto text = targets::llvm_text(*nest, *find_target("x86-64-v3"));
  if (!text) throw std::runtime_error(text.error().message);
  return *text;
}

/// Selections between two addresses.
size_t selections(const std::string& read) {
  std::istringstream lines(llvm_of(read));
  size_t out = 0;
  for (std::string line; std::getline(lines, line);)
    out += line.find("select i1") != std::string::npos && line.find(", ptr %A") != std::string::npos;
  return out;
}

TEST(FarReads, begin_at_the_buffer_where_no_lane_reads) {
  EXPECT_EQ(selections("guarded(all(i - 20 >= 0, j + v - 3 >= 0); A[i - 20, j + v - 3], 0:f32)"), 1u);
}
TEST(FarReads, are_left_alone_where_each_lane_decides_for_itself) {
  EXPECT_EQ(selections("guarded(j + v - 3 >= 0; A[i, j + v - 3], 0:f32)"), 0u);
}
TEST(FarReads, do_not_arise_where_the_condition_is_the_same_for_all_lanes) {
  EXPECT_EQ(selections("guarded(i - 20 >= 0; A[i - 20, j + v], 0:f32)"), 0u);
}

}  // namespace
}  // namespace polyweft::targets_test
