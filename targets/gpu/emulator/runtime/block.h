// Threads of a block that wait for each other.
#pragma once

#include <cstddef>

#include "targets/gpu/emulator/runtime/fibres.h"
#include "targets/gpu/emulator/runtime/grid.h"
#include "targets/gpu/emulator/runtime/group_products.h"

extern "C" void* halide_malloc(void*, size_t);
extern "C" void halide_free(void*, void*);

namespace polyweft::emulator {

constexpr unsigned char kUnwritten = 0xff;  ///< of shared memory: a float is then a NaN

/// Numbers 0 .. n - 1 in an order.
class Numbers {
 public:
  Numbers(Order order, uint64_t n, uint64_t seed);
  uint64_t at(uint64_t k) const;

 private:
  Order order_;
  uint64_t n_, step_ = 1, first_ = 0;
};
uint64_t mixed(uint64_t x);

/// An asynchronous copy on its way.
struct Copy {
  void* to;
  const void* from;
  int32_t bytes, source_bytes;
  int64_t group;
};

enum class State : uint8_t { ready, at_barrier, in_warp, ended };

class Block;
struct RunningThread : Thread {
  Block* block;
  uint64_t number;
  Fibre fibre;
  unsigned char* stack;
  State state;
  Copy* copies;  ///< from the oldest on
  int64_t copy_count, copy_room, groups;
  int64_t product_groups;   ///< committed
  uint32_t published;       ///< times that it has published its copies
  bool may_start_products;  ///< its registers are not being written otherwise
};

/// What lanes give: the instruction's operands, by lane.
using WarpOperation = void (*)(int64_t about, void* const* lanes);
constexpr uint64_t kMostWarpLanes = 64;
uint64_t warp_lanes(const Launch& launch);
struct Warp {
  WarpOperation operation;
  int64_t about;
  uint64_t arrived;
  bool is_released;  ///< its lanes have met and may go on
  void* lanes[kMostWarpLanes];
};

/// A product on its way: made at the latest when a lane has waited for it. What stands for a sum in the lanes'
/// registers until then is the number of its slot, as a NaN.
struct StartedProduct {
  GroupShape shape;
  uint64_t a, b;
  int64_t group;
  uint16_t slots[kMostGroupColumns / 2];
};
/// 128 threads that multiply together.
struct Group {
  static constexpr int kSlots = 512, kMostStarted = 256;
  uint64_t arrived;
  int64_t about;
  uint64_t a, b;
  const uint32_t* in[kGroupLanes];
  uint32_t* out[kGroupLanes];
  int started_count;
  StartedProduct started[kMostStarted];
  int users[kSlots];  ///< lanes that have not settled it; 0: it is free
  uint32_t sums[kSlots][kGroupLanes];
  GroupFactors factors;
};

/// Runs blocks one after another, each thread on a stack of its own: until it waits or ends, then the next one. A warp
/// whose lanes have met goes on alone. So threads are as far apart between two barriers as they can be.
class Block {
 public:
  Block(const Launch& launch, unsigned char* memory);
  static size_t bytes(const Launch& launch);
  int run(uint64_t number);

  void wait(RunningThread& thread);
  /// The last lane of the warp does the operation for all.
  void meet(RunningThread& thread, WarpOperation operation, int64_t about, void* operands);
  bool copies_at_once(const RunningThread& thread) const;
  /// Of the thread.
  void make(const RunningThread& thread, const Copy& copy);

  void start(RunningThread& thread, int64_t about, uint64_t a, uint64_t b, const uint32_t* in, uint32_t* out);
  void wait_products(RunningThread& thread, int64_t groups);
  void settle(RunningThread& thread, int64_t count, const uint32_t* in, uint32_t* out);

 private:
  void begin(uint64_t number);
  bool all_are(State state) const;
  void go_on(RunningThread& thread);
  void drain(uint64_t warp, uint64_t seed);
  static void thread_main(void* of);
  Group& group_of(const RunningThread& thread);
  void start_for_all(Group& group, int64_t number);
  void make_until(Group& group, int64_t end);
  unsigned char published_byte(uint32_t address) const;

  const Launch& launch_;
  const uint64_t threads_, warp_;  ///< of the block; of a warp
  unsigned char* const shared_;
  RunningThread* all_;
  Warp* warps_;
  Group** groups_;  ///< made when they are needed
  struct Writer {
    uint32_t thread, published;  ///< thread + 1; 0: nobody
  };
  Writer* writers_;  ///< of each 16 bytes of shared memory that a copy filled
  Fibre scheduler_;
};

void set_index(int64_t* index, const int64_t* extents, uint64_t number);
void set_extents(Thread& thread, const Launch& launch);
uint64_t count(const int64_t* extents);

}  // namespace polyweft::emulator
