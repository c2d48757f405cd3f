// What marked assembly says of loops whose cost is known by hand: two 512-bit FMA ports of four cycles' latency, two
// loads and one store a cycle, six micro-operations a cycle (Skylake's server core, the model of x86-64-v4).
#include <gtest/gtest.h>

#include <algorithm>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

std::string loop_of(const std::vector<std::string>& lines) {
  std::string out = "\t.text\n\t.globl\tkernel\nkernel:\n\tmovq\t$100, %rcx\n.LBB0_1:\n";
  for (const std::string& line : lines) out += "\t" + line + "\n";
  return out + "\tdecq\t%rcx\n\tjne\t.LBB0_1\n\tretq\n";
}

Assembly analysed(const std::string& text, const char* target = "x86-64-v4") {
  auto out = targets::marked_assembly(text, *find_target(target));
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
  return out.ok() ? *out : Assembly{};
}

LoopCost cost_of(const std::vector<std::string>& lines, const char* target = "x86-64-v4") {
  const Assembly out = analysed(loop_of(lines), target);
  EXPECT_EQ(out.loops.size(), 1U);
  return out.loops.empty() ? LoopCost{} : out.loops[0];
}

std::vector<std::string> repeated(int count, const std::string& before, const std::string& after) {
  std::vector<std::string> out;
  for (int k = 0; k < count; ++k) out.push_back(before + std::to_string(k) + after);
  return out;
}

TEST(MarkedAssembly, independent_multiply_adds_fill_their_two_ports) {
  const LoopCost loop = cost_of(repeated(16, "vfmadd231ps\t%zmm30, %zmm31, %zmm", ""));
  EXPECT_EQ(loop.fmas, 16);
  EXPECT_EQ(loop.instructions, 18);
  EXPECT_EQ(loop.loads + loop.stores + loop.spills, 0);
  EXPECT_NEAR(loop.cycles, 8, 0.5);
  EXPECT_NEAR(loop.fma_ports, 8, 0.5);
  EXPECT_EQ(loop.bound, "fma ports");
  EXPECT_TRUE(loop.hot);
  EXPECT_EQ(loop.function, "kernel");
  EXPECT_EQ(loop.label, ".LBB0_1");
}

TEST(MarkedAssembly, a_chain_of_multiply_adds_waits_for_itself) {
  const LoopCost loop = cost_of({"vfmadd231ps\t%zmm30, %zmm31, %zmm0", "vfmadd231ps\t%zmm30, %zmm31, %zmm0"});
  EXPECT_NEAR(loop.cycles, 8, 0.1);
  EXPECT_EQ(loop.bound, "latency");
}

TEST(MarkedAssembly, loads_two_a_cycle) {
  const LoopCost loop = cost_of(repeated(12, "vmovups\t(%rax,%rdx), %zmm", ""));
  EXPECT_EQ(loop.loads, 12);
  EXPECT_NEAR(loop.load_ports, 6, 0.5);
  EXPECT_EQ(loop.store_ports, 0);
  EXPECT_NEAR(loop.cycles, 6, 0.5);
  EXPECT_EQ(loop.bound, "load ports");
}

TEST(MarkedAssembly, stores_one_a_cycle_and_what_goes_to_the_stack_is_a_spill) {
  const LoopCost loop = cost_of(
      {"vmovups\t%zmm0, (%rax)", "vmovups\t%zmm1, 64(%rax)", "vmovups\t%zmm2, 128(%rax)", "vmovups\t%zmm3, 64(%rsp)"});
  EXPECT_EQ(loop.stores, 4);
  EXPECT_EQ(loop.spills, 1);
  EXPECT_NEAR(loop.cycles, 4, 0.2);
  EXPECT_EQ(loop.bound, "store ports");
}

TEST(MarkedAssembly, the_front_end_takes_six_a_cycle) {
  const LoopCost loop = cost_of(std::vector<std::string>(24, "nop"));
  EXPECT_GE(loop.front_end, 4);
  EXPECT_EQ(loop.bound, "front end");
}

TEST(MarkedAssembly, memory_operands_count_as_loads_of_their_multiply_add) {
  const LoopCost loop = cost_of(repeated(8, "vfmadd231ps\t(%rax){1to16}, %zmm31, %zmm", ""));
  EXPECT_EQ(loop.fmas, 8);
  EXPECT_EQ(loop.loads, 8);
  EXPECT_NEAR(loop.load_ports, 4, 0.5);
}

TEST(MarkedAssembly, marks_are_comments_at_the_lines_that_it_names) {
  const Assembly out = analysed(loop_of({"vmovups\t(%rax), %zmm1", "vfmadd231ps\t%zmm30, %zmm31, %zmm0"}));
  ASSERT_EQ(out.loops.size(), 1U);
  std::vector<std::string> lines;
  for (size_t from = 0, to = 0; (to = out.text.find('\n', from)) != std::string::npos; from = to + 1)
    lines.push_back(out.text.substr(from, to - from));
  EXPECT_EQ(lines.at(static_cast<size_t>(out.loops[0].first_line) - 1), ".LBB0_1:");
  EXPECT_EQ(lines.at(static_cast<size_t>(out.loops[0].last_line) - 1), "\tjne\t.LBB0_1");
  EXPECT_NE(out.text.find("vmovups\t(%rax), %zmm1\t# load\n"), std::string::npos) << out.text;
  EXPECT_NE(out.text.find("vfmadd231ps\t%zmm30, %zmm31, %zmm0\t# fma\n"), std::string::npos);
  EXPECT_NE(out.text.find("# loop .LBB0_1, hot: 1 fma, 1 loads, 0 stores, 0 spills, 4 instructions\n"),
            std::string::npos);
  // An assembler takes it, and finds the same loop.
  EXPECT_EQ(analysed(out.text).loops.size(), 1U);
}

TEST(MarkedAssembly, cpus_with_half_floats_have_two_wide_ports) {
  Target target = *find_target("x86-64-v4");
  target.features.push_back("avx512fp16");
  std::sort(target.features.begin(), target.features.end());
  auto out = targets::marked_assembly(loop_of(repeated(16, "vfmadd231ps\t%zmm30, %zmm31, %zmm", "")), target);
  ASSERT_TRUE(out.ok() && out->loops.size() == 1);
  EXPECT_NEAR(out->loops[0].cycles, 8, 0.5);
}

TEST(MarkedAssembly, divisions_wait_for_their_divider) {
  const LoopCost loop = cost_of(repeated(4, "vdivps\t%zmm30, %zmm31, %zmm", ""));
  EXPECT_GT(loop.cycles, 30);
  EXPECT_EQ(loop.bound, "divider");
}

TEST(MarkedAssembly, every_level_of_x86_64_has_a_model) {
  EXPECT_NEAR(cost_of(repeated(8, "mulps\t%xmm15, %xmm", ""), "x86-64").cycles, 8, 1);
  EXPECT_NEAR(cost_of(repeated(12, "vfmadd231ps\t%ymm14, %ymm15, %ymm", ""), "x86-64-v3").cycles, 6, 1);
}

}  // namespace
}  // namespace polyweft::targets_test
