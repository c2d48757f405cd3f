// Code that this CPU cannot run is not loaded: proven on any machine by a CPU that is held to a lower level.
#include <gtest/gtest.h>

#include "ir/nests/instruction.h"
#include "ir/values/scalar.h"
#include "support/cpu_features.h"
#include "targets/cpu/peak_kernel.h"
#include "targets/kernels.h"
#include "targets/registry.h"
#include "targets/tile_unit.h"

namespace polyweft::targets_test {
namespace {

class Loading : public testing::Test {
 protected:
  void SetUp() override { before_ = held_cpu_level(); }
  void TearDown() override { ASSERT_TRUE(hold_cpu(before_).ok()); }

 private:
  std::string before_;
};

const char* const kNest =
    "nest 1 plain class strict\nloops i\nbuffer X: f32[8] argument align 4\nbuffer Y: f32[8] argument align 4 "
    "output\narguments X, Y\nbody {\n  for i in 0 .. 8 {\n"
    "    compute 0(i) store: Y[i] <- X[i]\n  }\n}\n";

const char* const kLevels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

TEST_F(Loading, refuses_what_is_above_the_level_that_the_cpu_is_held_to) {
  ASSERT_TRUE(hold_cpu("").ok());
  std::vector<bool> runs;
  for (const char* level : kLevels) runs.push_back(find_target(level)->is_host);
  for (size_t held = 0; held < std::size(kLevels); ++held) {
    ASSERT_TRUE(hold_host(kLevels[held]).ok());
    EXPECT_LE(find_target("host")->features.size(), find_target(kLevels[held])->features.size());
    for (size_t level = 0; level < std::size(kLevels); ++level) {
      const Target target = *find_target(kLevels[level]);
      const bool should_run = level <= held && runs[level];
      EXPECT_EQ(target.is_host, should_run) << kLevels[level] << " held to " << kLevels[held];
      auto object = targets::compile_object(parsed(kNest), target);
      ASSERT_TRUE(object.ok()) << object.error().message;
      auto code = targets::load_code(*object);
      EXPECT_EQ(code.ok(), should_run);
      if (!code.ok()) {
        EXPECT_EQ(code.error().code, "PW0517");
      }
      auto stick = targets::compile_peak_kernel({"", ElementType::f32}, target, "stick", 1, 12);
      ASSERT_TRUE(stick.ok()) << stick.error().message;
      EXPECT_EQ(targets::load_code(*stick).ok(), should_run);
    }
  }
}

TEST_F(Loading, a_kernel_comes_from_the_artifact_that_was_built_for_this_process) {
  const Target host = *find_target("host");
  const auto backend = targets::backend_for(host);
  ASSERT_TRUE(backend.ok());
  const LoopNest nest = parsed(kNest);
  const auto made = (*backend)->build(nest, host, {"kernel", targets::Caller::anyone, targets::Loader::process});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->kind, "elf-object");
  const auto kernel = (*backend)->load(*made, nest, host);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  TensorData x = make_tensor(ElementType::f32, {8}), y = x;
  x.set(5, ir::float_literal(ElementType::f32, 2.5));
  EXPECT_EQ((*kernel)->call({&x, &y}).value(), 0);
  EXPECT_EQ(y.bytes, x.bytes);
  const auto shared = (*backend)->build(nest, host, {"kernel", targets::Caller::lab});
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_EQ(shared->kind, kElfShared);
  const auto refused = (*backend)->load(*shared, nest, host);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0516");
  EXPECT_EQ((*backend)->emit(nest, host, Emit::artifact, {"kernel", targets::Caller::lab}).value(), shared->bytes);
}

TEST_F(Loading, barriers_are_refused) {
  LoopNest nest = parsed(kNest);
  const NodeId sync = nest.add(Sync{});
  nest.root = nest.add(Seq{{nest.root, sync}});
  for (const char* name : {"x86-64-v3", "aarch64"}) {
    const Target target = *find_target(name);
    const auto made = targets::compile_object(nest, target);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().code, "PW0523");
    EXPECT_EQ(made.error().message, "the backend for " + target.architecture + " has no barriers: target " + name +
                                        " has no blocks of threads that could wait for one another");
  }
}

TEST_F(Loading, names_what_is_missing) {
  ASSERT_TRUE(hold_cpu("x86-64-v3").ok());
  auto object = targets::compile_object(parsed(kNest), *find_target("x86-64-v4"));
  ASSERT_TRUE(object.ok());
  auto code = targets::load_code(*object);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().message,
            "this code needs avx512bw avx512cd avx512dq avx512f avx512vl, which this CPU, held to x86-64-v3, has not");
}

// Not even where the target says that it is the host.
TEST_F(Loading, believes_features_and_no_flag) {
  ASSERT_TRUE(hold_cpu("x86-64").ok());
  Target liar = *find_target("x86-64-v2");
  liar.is_host = true;
  auto object = targets::compile_object(parsed(kNest), liar);
  ASSERT_TRUE(object.ok());
  EXPECT_FALSE(targets::load_code(*object).ok());
}

TEST_F(Loading, the_emulated_tile_unit_needs_no_feature_of_the_chips_that_have_it) {
  for (const char* level : kLevels) {
    ASSERT_TRUE(hold_cpu(level).ok());
    std::vector<std::string> others;
    for (const auto& name : with_tiles().features)
      if (name.rfind("amx-", 0) != 0) others.push_back(name);
    EXPECT_TRUE(missing_cpu_features(others).empty()) << level;
  }
}

}  // namespace
}  // namespace polyweft::targets_test
