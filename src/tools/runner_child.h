// The process in which a candidate runs: a fork of the supervisor that loads the objects, starts the thread pool, locks
// itself in and then does what it is told. It judges nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polyweft/runner.h"
#include "runner_control.h"
#include "runner_regions.h"
#include "runner_sandbox.h"

namespace polyweft::runner {

/// An argument and the region that holds it.
struct BoundArgument {
  const ArgumentSpec* spec = nullptr;
  const Region* region = nullptr;
};
/// A kernel with its arguments in the order of its parameters.
struct Module {
  const LoadableKernel* kernel = nullptr;
  std::vector<BoundArgument> arguments;
};

struct ChildPlan {
  Control* control = nullptr;
  std::vector<Module> modules;  ///< by Slot; one or two
  std::span<const Region> regions;
  int threads = 1;
  uint64_t memory_limit_bytes = 0;   ///< of one allocation
  uint64_t address_space_bytes = 0;  ///< RLIMIT_AS to set; 0: none
  const Sandbox* sandbox = nullptr;
  int commands = -1;  ///< stream from and to the supervisor
  int null_device = -1;
  pid_t supervisor = -1;
};

/// To be called after fork(); never returns, and lets nothing unwind into the frames of the supervisor that fork()
/// copied.
[[noreturn]] void run_candidate_process(const ChildPlan& plan) noexcept;

}  // namespace polyweft::runner
