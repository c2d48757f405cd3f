// Peak kernels: which instruction bounds a nest, what one of them counts, and that the kernels of them run.
#include "targets/cpu/peak_kernel.h"

#include <HalideRuntime.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ir/nests/instruction.h"
#include "kernels.h"
#include "tile_unit.h"

namespace polyweft::targets_test {
namespace {

std::string product(const std::string& type) {
  return "nest 1 product class reassoc\nloops i\nbuffer A: " + type +
         "[8] argument align 8 tensor 0 element [$0]\nbuffer C: " + type +
         "[8] argument align 8 output tensor 1 element [$0]\narguments A, C\nbody {\n  for i in 0 .. 8 {\n    compute "
         "0(i) store: C[i] <- (A[i] * A[i])\n  }\n}\n";
}

TEST(PeakKernel, the_widest_float_type_bounds_plain_nests_and_integers_have_no_peak_kernel) {
  const Target v3 = find_target("x86-64-v3").value();
  EXPECT_EQ(name_of(targets::unit_of(parsed(product("f32")), v3).value()), "f32 multiply-adds");
  EXPECT_EQ(name_of(targets::unit_of(parsed(product("f64")), v3).value()), "f64 multiply-adds");
  EXPECT_EQ(name_of(targets::unit_of(parsed(product("f16")), v3).value()), "f32 multiply-adds")
      << "computed in f32 there";
  EXPECT_FALSE(targets::unit_of(parsed(product("i32")), v3).has_value());
}

TEST(PeakKernel, tensor_instructions_bound_the_nests_that_use_them) {
  for (const auto& instruction : ir::known_instructions()) {
    LoopNest nest = instruction.nest;
    for (Node& node : nest.nodes)
      if (auto* loop = std::get_if<Loop>(&node)) {
        loop->mark.kind = MarkKind::tensor;
        loop->mark.detail = instruction.name;
      }
    EXPECT_EQ(name_of(targets::unit_of(nest, find_target("x86-64").value()).value()), instruction.name);
  }
}

TEST(PeakKernel, operations_are_two_for_each_multiply_add) {
  const Target v3 = find_target("x86-64-v3").value(), v4 = find_target("x86-64-v4").value();
  EXPECT_EQ(targets::operations_of({"", ElementType::f32}, v3), 16);
  EXPECT_EQ(targets::operations_of({"", ElementType::f64}, v4), 16);
  EXPECT_EQ(targets::operations_of({"vpdpbusd_512", {}}, v4), 128);
  EXPECT_EQ(targets::operations_of({"tdpbusd", {}}, with_tiles()), 32768);
  EXPECT_EQ(targets::operations_of({"tdpbf16ps", {}}, with_tiles()), 16384);
  EXPECT_EQ(targets::peak_kernel_instructions({"", ElementType::f32}, 1), 12);
  EXPECT_EQ(targets::peak_kernel_instructions({"tdpbusd", {}}, 9), 12);
}

void expect_it_runs(const targets::Unit& unit, const Target& target, int threads) {
  auto object = targets::compile_peak_kernel(unit, target, "stick", threads, 100);
  ASSERT_TRUE(object.ok()) << object.error().message;
  auto code = targets::load_code(*object);
  ASSERT_TRUE(code.ok()) << code.error().message;
  auto* entry = reinterpret_cast<int (*)()>((*code)->address("stick"));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry(), 0) << name_of(unit);
}

TEST(PeakKernel, runs_on_every_target_of_this_machine_alone_and_on_two_threads) {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  const bool has_tiles = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  halide_set_num_threads(2);
  for (const Target& target : runnable_targets())
    for (int threads : {1, 2}) {
      expect_it_runs({"", ElementType::f32}, target, threads);
      expect_it_runs({"", ElementType::f64}, target, threads);
      if (target.can.half_arithmetic) expect_it_runs({"", ElementType::f16}, target, threads);
      for (const auto& instruction : ir::known_instructions())
        if (instruction.runs_on(target) && (has_tiles || !instruction.is_tile()))
          expect_it_runs({instruction.name, {}}, target, threads);
    }
}

TEST(PeakKernel, instructions_that_the_target_has_not_are_refused) {
  const auto refused = targets::compile_peak_kernel({"tdpbusd", {}}, find_target("x86-64-v3").value(), "stick", 1, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0518");
}

}  // namespace
}  // namespace polyweft::targets_test
