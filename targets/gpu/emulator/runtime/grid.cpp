// Runs the blocks of a launch one after another. Threads that wait for each other are fibres: one runs until it waits
// or ends, then the next one, so that memory is as far apart between two barriers as it can be.
#include "targets/gpu/emulator/runtime/grid.h"

#include <cstring>

#include "ir/values/kernel_codes.h"
#include "targets/gpu/emulator/runtime/fibres.h"

#define PW_WEAK [[gnu::weak, gnu::visibility("hidden")]]

extern "C" void* halide_malloc(void*, size_t);
extern "C" void halide_free(void*, void*);

namespace polyweft::emulator {
namespace {

constexpr int kNoMemory = -11;              // halide_error_code_t
constexpr unsigned char kUnwritten = 0xff;  ///< of shared memory: a float is then a NaN
constexpr size_t kGuard = 256;              ///< bytes behind shared memory and below a stack, which nobody may write
constexpr unsigned char kGuardByte = 0xa5;

/// Numbers 0 .. n - 1 in an order.
class Numbers {
 public:
  Numbers(Order order, uint64_t n, uint64_t seed) : order_(order), n_(n) {
    if (n >> 32 != 0 && order == Order::random) order_ = Order::reverse;
    if (order_ != Order::random || n < 2) return;
    const uint64_t drawn = mixed(seed);
    step_ = 1 + drawn % (n - 1);
    while (common_divisor(step_, n) != 1) ++step_;  // n + 1 at the latest
    step_ %= n;
    first_ = (drawn >> 32) % n;
  }
  uint64_t at(uint64_t k) const {
    return order_ == Order::forward   ? k
           : order_ == Order::reverse ? n_ - 1 - k
           : n_ < 2                   ? 0
                                      : (first_ + k * step_) % n_;
  }

 private:
  static uint64_t mixed(uint64_t x) {  // splitmix64 (Steele, Lea and Flood 2014)
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
      const uint64_t rest = a % b;
      a = b, b = rest;
    }
    return a;
  }

  Order order_;
  uint64_t n_, step_ = 1, first_ = 0;
};

enum class State : uint8_t { ready, at_barrier, ended };

class Block;
struct RunningThread : Thread {
  Block* block;
  Fibre fibre;
  unsigned char* stack;
  State state;
};

void set_index(int64_t* index, const int64_t* extents, uint64_t number) {
  index[0] = static_cast<int64_t>(number % static_cast<uint64_t>(extents[0]));
  number /= static_cast<uint64_t>(extents[0]);
  index[1] = static_cast<int64_t>(number % static_cast<uint64_t>(extents[1]));
  index[2] = static_cast<int64_t>(number / static_cast<uint64_t>(extents[1]));
}

bool is_untouched(const unsigned char* guard) {
  for (size_t k = 0; k < kGuard; ++k)
    if (guard[k] != kGuardByte) return false;
  return true;
}

uint64_t count(const int64_t* extents) {
  return static_cast<uint64_t>(extents[0] * extents[1] * extents[2]);
}

/// Threads of one block after another, each on a stack of its own.
class Block {
 public:
  Block(const Launch& launch, unsigned char* memory)
      : launch_(launch), threads_(count(launch.threads)), shared_(memory) {
    all_ = reinterpret_cast<RunningThread*>(memory + shared_bytes(launch));
    unsigned char* stack = memory + shared_bytes(launch) + align(threads_ * sizeof(RunningThread));
    for (uint64_t t = 0; t < threads_; ++t, stack += stack_bytes(launch)) {
      all_[t].stack = stack;
      std::memset(stack, kGuardByte, kGuard);
    }
    std::memset(shared_ + launch.shared_bytes, kGuardByte, kGuard);
  }
  static size_t bytes(const Launch& launch) {
    const uint64_t threads = count(launch.threads);
    return shared_bytes(launch) + align(threads * sizeof(RunningThread)) + threads * stack_bytes(launch);
  }

  int run(uint64_t number) {
    std::memset(shared_, kUnwritten, static_cast<size_t>(launch_.shared_bytes));
    for (uint64_t t = 0; t < threads_; ++t) {
      RunningThread& thread = all_[t];
      set_index(thread.index, launch_.blocks, number);
      set_index(thread.index + 3, launch_.threads, t);
      thread.shared = shared_;
      thread.block = this;
      thread.state = State::ready;
      thread.fibre.begin(thread.stack, stack_bytes(launch_), thread_main, &thread);
    }
    for (uint64_t phase = 0;; ++phase) {
      const Numbers order(launch_.order, threads_, number * 0x10001 + phase);
      for (uint64_t k = 0; k < threads_; ++k) resume(all_[order.at(k)]);
      uint64_t ended = 0;
      for (uint64_t t = 0; t < threads_; ++t) ended += all_[t].state == State::ended;
      if (ended == threads_) break;
      if (ended > 0) return ir::kThreadsParted;
      for (uint64_t t = 0; t < threads_; ++t) all_[t].state = State::ready;
    }
    bool is_kept = is_untouched(shared_ + launch_.shared_bytes);
    for (uint64_t t = 0; t < threads_; ++t) is_kept = is_kept && is_untouched(all_[t].stack);
    if (!is_kept) __builtin_trap();
    return 0;
  }

  void wait(RunningThread& thread) {
    thread.state = State::at_barrier;
    thread.fibre.switch_to(scheduler_);
  }

 private:
  static size_t align(size_t bytes) { return (bytes + 255) & ~size_t{255}; }
  static size_t shared_bytes(const Launch& launch) { return align(static_cast<size_t>(launch.shared_bytes)) + kGuard; }
  static size_t stack_bytes(const Launch& launch) { return align(static_cast<size_t>(launch.stack_bytes)) + kGuard; }

  void resume(RunningThread& thread) {
    if (thread.state == State::ready) scheduler_.switch_to(thread.fibre);
  }
  static void thread_main(void* of) {
    auto& thread = *static_cast<RunningThread*>(of);
    thread.block->launch_.kernel(thread.block->launch_.arguments, &thread);
    thread.state = State::ended;
    thread.fibre.switch_to(thread.block->scheduler_);
  }

  const Launch& launch_;
  const uint64_t threads_;
  unsigned char* const shared_;
  RunningThread* all_;
  Fibre scheduler_;
};

/// No thread waits: a plain loop.
void run_straight(const Launch& launch, uint64_t number, unsigned char* shared) {
  Thread thread;
  set_index(thread.index, launch.blocks, number);
  thread.shared = shared;
  std::memset(shared, kUnwritten, static_cast<size_t>(launch.shared_bytes));
  const uint64_t threads = count(launch.threads);
  const Numbers order(launch.order, threads, number);
  for (uint64_t k = 0; k < threads; ++k) {
    set_index(thread.index + 3, launch.threads, order.at(k));
    launch.kernel(launch.arguments, &thread);
  }
}

}  // namespace

extern "C" {

PW_WEAK int polyweft_emulator_run(const Launch* launch) {
  const uint64_t blocks = count(launch->blocks), threads = count(launch->threads);
  if (blocks == 0 || threads == 0) return 0;
  const Numbers order(launch->order, blocks, blocks);
  const size_t bytes = launch->waits ? Block::bytes(*launch) : static_cast<size_t>(launch->shared_bytes) + kGuard;
  auto* const memory = static_cast<unsigned char*>(halide_malloc(nullptr, bytes));
  if (!memory) return kNoMemory;
  int code = 0;
  if (launch->waits) {
    Block block(*launch, memory);
    for (uint64_t k = 0; k < blocks && code == 0; ++k) code = block.run(order.at(k));
  } else {
    for (uint64_t k = 0; k < blocks; ++k) run_straight(*launch, order.at(k), memory);
  }
  halide_free(nullptr, memory);
  return code;
}

PW_WEAK void polyweft_emulator_barrier(Thread* thread) {
  auto& running = *static_cast<RunningThread*>(thread);
  running.block->wait(running);
}

}  // extern "C"

}  // namespace polyweft::emulator
