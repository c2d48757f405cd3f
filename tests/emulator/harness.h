// Kernels on the emulator beside the interpreter, in all orders of threads, and kernels from which a call by which
// threads wait was left out.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "targets/backend.h"

namespace polyweft::emulator_test {

/// Of threads: forward, random, reverse.
inline constexpr const char* kOrders[] = {"", "random", "reverse"};
/// "sm_80" or "gfx942", its threads in an order.
Target emulated(const std::string& machine, const std::string& order);
/// Whose kernels the emulator runs: "nvptx64", "amdgcn".
std::string architecture_of(const std::string& machine);

class Emulator : public testing::Test {
 protected:
  void SetUp() override;
  std::unique_ptr<targets::LoadedKernel> loaded(const LoopNest& nest, const Target& target) const;
  std::string text(const LoopNest& nest, const Target& target) const;
  void expect_bits(const LoopNest& nest, const std::string& machine,
                   const std::vector<std::vector<TensorData>>& inputs);

  const targets::Backend* backend_ = nullptr;  ///< of NVIDIA's machines
};

/// Inputs of the nest: small integers, all sums of which are exact, so that no NaN hides what was read too early.
std::vector<TensorData> integer_inputs_of(const LoopNest& nest);

struct Mutants {
  int made = 0, found = 0;
  std::map<std::string, int> by_order;
  std::vector<std::string> equivalent;
};
/// Runs the nest without each of the calls by which threads wait.
void drop_each_call(const std::string& name, const LoopNest& nest, Mutants& mutants,
                    const std::string& machine = "sm_80");

}  // namespace polyweft::emulator_test
