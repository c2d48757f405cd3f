// Launches through NVIDIA's driver, which a library of our own plays that has no device: what is loaded, given memory,
// launched in which order, and what refusals say.
#include "targets/gpu/cuda/cuda.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/bits.h"
#include "opencl/axis_nests.h"
#include "targets/gpu/cuda/cuda_kernel.h"
#include "targets/registry.h"

namespace polyweft::nvptx_test {
namespace {

/// A variable of the environment, while it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    const auto& device = targets::cuda_device();
    if (!device || device->name != "a fake") GTEST_SKIP() << "the driver is not the test's";
  }
  static Result<std::unique_ptr<targets::DeviceProgram>> program(const char* name) {
    const LoopNest text = backend_test::nest_of_text(
        std::string_view(name) == "large tiles" ? opencl_test::kLargeTiles : opencl_test::axis_nest(name));
    auto nest = targets::device_nest(text, targets::kDeclaredSharedBytes);
    if (!nest) return nest.error();
    const auto ptx =
        targets::backend_of("nvptx64")->emit(text, find_target("sm_90a").value(), Emit::artifact, {"kernel"});
    if (!ptx) return ptx.error();
    return targets::cuda_kernel(std::move(nest).value(), {reinterpret_cast<const char*>(ptx->data()), ptx->size()},
                                "kernel");
  }
};

TEST_F(Cuda, the_device_says_what_it_is) {
  const auto& device = targets::cuda_device();
  EXPECT_EQ(device->machine, "sm_90a");
  EXPECT_TRUE(device->driver.ends_with("CUDA 13.0")) << device->driver;
  EXPECT_EQ(device->compute_units, 132);
  EXPECT_EQ(device->local_bytes, 227 << 10);
  EXPECT_EQ(device->clock_mhz, 1980);
  EXPECT_EQ(device->second_cache_bytes, 50 << 20);
  EXPECT_EQ(device->memory_mb_s, 3'352'320);
}

TEST_F(Cuda, launches_come_in_the_order_of_the_hosts_loops) {
  const std::filesystem::path log =
      std::filesystem::temp_directory_path() / ("polyweft-cuda-" + std::to_string(getpid()));
  std::filesystem::remove(log);
  const Setting setting("PW_CUDA_LOG", log.string());
  const auto made = program("a triangle of launches");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ((*made)->arguments(), 2u);
  const std::string input(324, '\1');
  ASSERT_TRUE((*made)->put(0, 0, input));
  std::string back(324, '\0');
  ASSERT_TRUE((*made)->get(0, 0, back));
  EXPECT_EQ(back, input);
  const auto called = (*made)->call();
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_EQ(called->code, 0);
  EXPECT_EQ(called->ns, 1.5e6);
  EXPECT_EQ(called->outside, "");
  std::ostringstream expected, got;
  expected << "kernel_k0 <3 1 1> <4 1 1> 0 of 2\n";
  for (int k = 0; k < 9; ++k) expected << "kernel_k1 <3 1 1> <4 1 1> 0 " << k << " of 3\n";
  got << std::ifstream(log).rdbuf();
  EXPECT_EQ(got.str(), expected.str());
  std::filesystem::remove(log);
}

TEST_F(Cuda, launches_ask_for_shared_memory_that_was_allowed) {
  const std::filesystem::path log =
      std::filesystem::temp_directory_path() / ("polyweft-cuda-" + std::to_string(getpid()));
  std::filesystem::remove(log);
  const Setting setting("PW_CUDA_LOG", log.string());
  const auto made = program("large tiles");
  ASSERT_TRUE(made) << made.error().message;
  const auto called = (*made)->call();
  ASSERT_TRUE(called) << called.error().message;
  std::ostringstream got;
  got << std::ifstream(log).rdbuf();
  EXPECT_EQ(got.str(), "kernel_k0 <3 1 1> <128 1 1> 49408 of 2\n");
  std::filesystem::remove(log);
}

TEST_F(Cuda, caches_are_emptied_before_cold_calls) {
  const auto made = program("rows of threads");
  ASSERT_TRUE(made) << made.error().message;
  const auto are_empty = (*made)->empty_caches();
  ASSERT_TRUE(are_empty) << are_empty.error().message;
  EXPECT_TRUE(*are_empty);
  const Setting setting("PW_CUDA_REFUSES", "cuMemAlloc_v2");
  EXPECT_TRUE((*made)->empty_caches()) << "the memory is taken once";
}

TEST_F(Cuda, writes_outside_of_memory_are_told) {
  const Setting setting("PW_CUDA_WRITES", "1");
  const auto made = program("rows of threads");
  ASSERT_TRUE(made) << made.error().message;
  const auto called = (*made)->call();
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_EQ(called->outside, "before X");
}

TEST_F(Cuda, refusals_say_what_was_refused) {
  {
    const Setting setting("PW_CUDA_REFUSES", "cuModuleLoadDataEx");
    const auto made = program("rows of threads");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, "PW0516");
    EXPECT_EQ(made.error().message, "the kernel cannot be loaded: the driver refuses it: line 1: nonsense");
  }
  {
    const Setting setting("PW_CUDA_REFUSES", "cuFuncSetAttribute");
    const auto made = program("large tiles");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message,
              "the CUDA device refused 49408 bytes of shared memory for a block: CUDA_ERROR_INVALID_VALUE");
  }
  const Setting setting("PW_CUDA_REFUSES", "cuMemAlloc_v2");
  const auto made = program("rows of threads");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0658");
  EXPECT_EQ(made.error().message, "the CUDA device refused 256 bytes for X: CUDA_ERROR_OUT_OF_MEMORY");
}

}  // namespace
}  // namespace polyweft::nvptx_test
