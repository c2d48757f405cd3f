// Threads of a block that wait for each other.
#pragma once

#include <cstddef>

#include "targets/gpu/emulator/runtime/fibres.h"
#include "targets/gpu/emulator/runtime/grid.h"

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
void make(const Copy& copy);

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

 private:
  void begin(uint64_t number);
  bool all_are(State state) const;
  void go_on(RunningThread& thread);
  void drain(uint64_t warp, uint64_t seed);
  static void thread_main(void* of);

  const Launch& launch_;
  const uint64_t threads_, warp_;  ///< of the block; of a warp
  unsigned char* const shared_;
  RunningThread* all_;
  Warp* warps_;
  Fibre scheduler_;
};

void set_index(int64_t* index, const int64_t* extents, uint64_t number);
void set_extents(Thread& thread, const Launch& launch);
uint64_t count(const int64_t* extents);

}  // namespace polyweft::emulator
