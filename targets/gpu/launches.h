// What of a nest runs on a device and what on its host: kernels, each launched over a grid of blocks of threads, and
// the loops and conditions around them.
//
// A loop over blocks is a kernel with all that it holds, where its blocks need not wait for each other inside.
// Otherwise it becomes a loop of the host, as serial loops around such loops do. What has no loop over blocks is a
// kernel of one block.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ir/passes/ranges.h"
#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::targets {

/// Of one function, from the outermost on: x is innermost.
using GridSize = std::array<int64_t, 3>;

struct DeviceKernel {
  NodeId root = kNoNode;
  std::vector<VarId> outer;  ///< variables of the host's loops around, outermost first
  GridSize blocks = {1, 1, 1}, threads = {1, 1, 1};
  int64_t shared_bytes = 0;
  int64_t dynamic_shared_bytes = 0;  ///< of these, what a launch asks for: all of them or none

  /// Iterations along an axis.
  int64_t extent(const std::string& axis) const;
  int64_t block_count() const { return blocks[0] * blocks[1] * blocks[2]; }
  int64_t thread_count() const { return threads[0] * threads[1] * threads[2]; }
};

/// Where the cells of a buffer lie.
enum class DevicePlace : uint8_t {
  argument,   ///< the caller's
  constant,   ///< in the module
  workspace,  ///< memory of the device that a call takes, `instances` times
  shared,     ///< of a block, which all its threads see
  own,        ///< registers or memory of one thread
  within      ///< another buffer's
};
struct DeviceBuffer {
  DevicePlace place = DevicePlace::own;
  int64_t bytes = 0;                   ///< of an instance, rounded up to 256
  std::vector<std::string> axes = {};  ///< that tell instances apart: those of the loops around, in a block's memory
                                       ///< those over threads alone
  int64_t instances = 1;
};

struct DeviceNest {
  LoopNest nest;  ///< marks that the device has no use for are gone
  std::vector<DeviceKernel> kernels;
  std::map<NodeId, uint32_t> kernel_at;            ///< roots
  std::vector<DeviceBuffer> buffers;               ///< of the nest's
  std::map<VarId, ir::VariableFacts> outer_facts;  ///< of the variables of the host's loops
};
/// Kernels with more than `declared_shared_bytes` of shared memory get it from their launch. PW0523 for symbolic nests.
Result<DeviceNest> device_nest(LoopNest nest, int64_t declared_shared_bytes = std::numeric_limits<int64_t>::max());

/// PW0525 where a kernel has more threads a block, or takes more shared memory, than the machine has, PW0518 where it
/// names an instruction of warps that the machine has not.
Status keeps_limits(const DeviceNest& nest, const Target& target);

/// What a caller gives for an argument: of a packed one its source.
BufferId given_for(const LoopNest& nest, BufferId argument);
/// Bytes of an argument as a caller has it: a dense array of its extents.
size_t dense_bytes(const Buffer& buffer);
/// The name of a kernel's function.
std::string kernel_symbol(const std::string& symbol, size_t kernel);

}  // namespace polyweft::targets
