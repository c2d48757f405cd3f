// What a candidate's process and its supervisor share: a page of plain numbers. The supervisor never believes it
// further than to explain a failure and to take times that it checks against its own clock.
#pragma once

#include <atomic>
#include <cstdint>

namespace polyweft::runner {

inline constexpr uint32_t kMaxSamples = 256;
inline constexpr int kCommandDescriptor = 3;  ///< the only open stream of a candidate's process
inline constexpr int kExitFault = 75;         ///< a signal handler wrote down what happened

/// The kernels that one process may hold.
enum class Slot : uint32_t { candidate = 0, incumbent = 1 };
inline constexpr uint32_t kSlots = 2;

struct Fault {
  std::atomic<int32_t> signal{0};  ///< 0: none
  int32_t code = 0;                ///< si_code
  int32_t system_call = -1;        ///< of SIGSYS
  int32_t is_write = -1;           ///< -1: unknown
  uint64_t address = 0;
  uint64_t stack_pointer = 0;
};

struct Control {
  std::atomic<uint64_t> launch_started_ns{0};  ///< CLOCK_MONOTONIC; 0: no kernel is running
  std::atomic<uint32_t> running{0};            ///< Slot
  std::atomic<uint32_t> allocation_failed{0};
  Fault fault;
  char message[512] = {};            ///< of the kernel's runtime, or of the loader
  uint64_t packed_address[64] = {};  ///< where packed arguments lie, for naming an overrun
  uint64_t packed_bytes[64] = {};
  double samples_ns[kSlots][kMaxSamples] = {};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

enum class Order : uint32_t {
  call,        ///< run slot once
  pack,        ///< make the packed arguments of slot
  time,        ///< `count` samples of slot, each of `repeat` calls
  time_pairs,  ///< `count` pairs of both kernels, slot first
};
/// inside: for the clock. Lanes that a mask leaves out may lie in the guard otherwise, and the CPU takes hundreds of
/// cycles to find that they are not wanted.
enum class Placement : uint32_t { at_start = 0, at_end = 1, inside = 2 };
inline constexpr uint32_t kPlacements = 3;

/// Supervisor -> candidate's process.
struct Command {
  Order order = Order::call;
  Slot slot = Slot::candidate;
  Placement placement = Placement::at_start;
  uint32_t count = 0;
  uint32_t repeat = 1;  ///< of slot
  uint32_t untimed =
      0;  ///< time_pairs: calls before each sample, so that it finds the caches as its own kernel leaves them
  uint32_t other_repeat = 1;  ///< time_pairs: calls in a row of the other kernel
};
/// Candidate's process -> supervisor.
struct Reply {
  enum class Kind : uint32_t { ready, not_loadable, done } kind = Kind::done;
  int32_t code = 0;  ///< what the kernel returned
  double elapsed_ns = 0;
};

}  // namespace polyweft::runner
