// What emulated kernels and the runtime that runs their grids know of each other. The runtime is linked into each
// product: it has no state of its own, and calls memcpy, memset, halide_malloc and halide_free alone.
#pragma once

#include <cstdint>

namespace polyweft::emulator {

/// In which threads run, and blocks. No result may depend on it.
enum class Order : int32_t { forward = 0, reverse = 1, random = 2 };

/// One thread of the grid: the last argument of a kernel.
struct Thread {
  int64_t index[6];       ///< of the block along x, y, z; of the thread
  unsigned char* shared;  ///< the block's shared memory
};

/// One launch.
struct Launch {
  void (*kernel)(const void* arguments, Thread* thread);
  const void* arguments;  ///< handed on
  int64_t blocks[3], threads[3];
  int64_t shared_bytes;
  int64_t stack_bytes;  ///< of a thread
  Order order;
  int32_t waits;  ///< do threads wait for each other? Otherwise they run one after another on the caller's stack
};

/// Fields as code generation counts them.
inline constexpr unsigned kThreadShared = 6;  ///< words of 8 bytes into Thread

extern "C" {
/// 0; halide's code where there is no memory; kThreadsParted where some threads of a block wait and others have ended.
int polyweft_emulator_run(const Launch* launch);
/// All threads of the block get here before one goes on.
void polyweft_emulator_barrier(Thread* thread);
}

}  // namespace polyweft::emulator
