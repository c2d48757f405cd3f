// What emulated kernels and the runtime that runs their grids know of each other. The runtime is linked into each
// product: it has no state of its own, and calls memcpy, memset, halide_malloc and halide_free alone.
#pragma once

#include <cstdint>

namespace polyweft::emulator {

/// In which threads run, and blocks. No result may depend on it. Copies that are asynchronous are made at the latest
/// time (forward), at once (reverse), at either (random).
enum class Order : int32_t { forward = 0, reverse = 1, random = 2 };

/// One thread of the grid: the last argument of a kernel. Words of 8 bytes, as code generation counts them.
struct Thread {
  int64_t index[6];       ///< of the block along x, y, z; of the thread
  int64_t extent[6];      ///< blocks of the grid, threads of a block
  int64_t lane;           ///< in its warp
  unsigned char* shared;  ///< the block's shared memory
};
inline constexpr unsigned kThreadIndex = 0, kThreadExtent = 6, kThreadLane = 12, kThreadShared = 13;

/// One launch.
struct Launch {
  void (*kernel)(const void* arguments, Thread* thread);
  const void* arguments;  ///< handed on
  int64_t blocks[3], threads[3];
  int64_t shared_bytes;
  int64_t stack_bytes;  ///< of a thread
  Order order;
  int32_t waits;  ///< does a thread call any of the functions below? Otherwise threads run one after another on the
                  ///< caller's stack
  int32_t lanes;  ///< of a warp, at most 64; 0: 32
};

extern "C" {
/// 0; halide's code where there is no memory; kThreadsParted where threads wait for some that do not come.
int polyweft_emulator_run(const Launch* launch);

/// All threads of the block get here before one goes on.
void polyweft_emulator_barrier(Thread* thread);

// Of a warp: all its lanes get here with the same `about`.

/// bar.warp.sync of all lanes.
void polyweft_emulator_warp_barrier(Thread* thread);
/// mma.sync: registers of A, B and C, four words each, and those of D. `about`: the bytes of a ProductShape.
void polyweft_emulator_product(Thread* thread, int64_t about, const uint32_t* in, uint32_t* out);
/// ldmatrix and stmatrix of 16-bit elements: the address of a row, registers. `about`: matrices, + 8: transposed.
void polyweft_emulator_load_matrix(Thread* thread, int64_t about, const void* row, uint32_t* out);
void polyweft_emulator_store_matrix(Thread* thread, int64_t about, void* row, const uint32_t* in);
/// shfl.sync of all lanes. `about`: 0 idx, 1 up, 2 down, 3 bfly. in: the value, b and c; out: the value, the predicate.
void polyweft_emulator_shuffle(Thread* thread, int64_t about, const uint32_t* in, uint32_t* out);

/// Products of AMD's matrix units: words of A, of B and of C one after another. `about`: the bytes of a WaveProduct.
void polyweft_emulator_wave_product(Thread* thread, int64_t about, const uint32_t* in, uint32_t* out);

// Of 128 threads one after another: wgmma.

/// wgmma.fence: what else the thread does with registers is done before its next products.
void polyweft_emulator_begin_products(Thread* thread);
/// wgmma.mma_async: the lane's sums, and what stands for them until they are settled. `about`: the bytes of a
/// GroupShape. All lanes of the group get here.
void polyweft_emulator_start_product(Thread* thread, int64_t about, uint64_t a, uint64_t b, const uint32_t* in,
                                     uint32_t* out);
void polyweft_emulator_commit_products(Thread* thread);
/// At most `groups` of the committed groups are on their way then.
void polyweft_emulator_wait_products(Thread* thread, int64_t groups);
/// The sums of products that were waited for.
void polyweft_emulator_settle(Thread* thread, int64_t count, const uint32_t* in, uint32_t* out);
/// fence.proxy.async: products may read what the thread has copied.
void polyweft_emulator_publish(Thread* thread);

// cp.async: of `bytes`, those behind `source_bytes` become zeros.
void polyweft_emulator_copy(Thread* thread, void* to, const void* from, int32_t bytes, int32_t source_bytes);
void polyweft_emulator_commit_copies(Thread* thread);
/// At most `groups` of the thread's committed groups are on their way then; negative: nothing is.
void polyweft_emulator_wait_copies(Thread* thread, int32_t groups);
}

}  // namespace polyweft::emulator
