// The host's part of a nest for a device, in LLVM IR: loops and conditions around launches, workspaces.
#pragma once

#include <string>
#include <vector>

#include "targets/common/llvm.h"
#include "targets/gpu/emulator/runtime/grid.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

struct HostCode {
  const DeviceNest& nest;
  std::string symbol;
  emulator::Order order = emulator::Order::forward;
  int lanes = 32;                    ///< of a warp
  std::vector<int64_t> stack_bytes;  ///< by kernel, of a thread
  std::vector<bool> waits;           ///< by kernel: do its threads wait for each other?

  /// Fills the function: arguments are addresses of these buffers; returns 0 or what a launch returned.
  int64_t write(llvm::Function& body, const std::vector<BufferId>& arguments, NodeId root) const;
};

/// A kernel's function that takes its arguments as words at an address, then the thread.
std::string launched_symbol(const std::string& symbol, size_t kernel);
void add_launched_function(llvm::Function& kernel, const std::string& name);

}  // namespace polyweft::targets
