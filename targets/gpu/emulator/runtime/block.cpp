#include "targets/gpu/emulator/runtime/block.h"

#include <cstring>

#include "ir/values/kernel_codes.h"

namespace polyweft::emulator {
namespace {

constexpr size_t kGuard = 256;  ///< bytes behind shared memory and below a stack, which nobody may write
constexpr unsigned char kGuardByte = 0xa5;

size_t align(size_t bytes) {
  return (bytes + 255) & ~size_t{255};
}
size_t shared_part(const Launch& launch) {
  return align(static_cast<size_t>(launch.shared_bytes) + kGuard);
}
size_t stack_part(const Launch& launch) {
  return align(static_cast<size_t>(launch.stack_bytes)) + kGuard;
}
uint64_t warps(const Launch& launch) {
  return (count(launch.threads) + warp_lanes(launch) - 1) / warp_lanes(launch);
}
bool is_untouched(const unsigned char* guard) {
  for (size_t k = 0; k < kGuard; ++k)
    if (guard[k] != kGuardByte) return false;
  return true;
}

}  // namespace

Block::Block(const Launch& launch, unsigned char* memory)
    : launch_(launch), threads_(count(launch.threads)), warp_(warp_lanes(launch)), shared_(memory) {
  memory += shared_part(launch);
  all_ = reinterpret_cast<RunningThread*>(memory);
  memory += align(threads_ * sizeof(RunningThread));
  warps_ = reinterpret_cast<Warp*>(memory);
  memory += align(warps(launch_) * sizeof(Warp));
  for (uint64_t t = 0; t < threads_; ++t, memory += stack_part(launch)) {
    all_[t].stack = memory;
    std::memset(memory, kGuardByte, kGuard);
  }
  std::memset(shared_ + launch.shared_bytes, kGuardByte, kGuard);
}

size_t Block::bytes(const Launch& launch) {
  const uint64_t threads = count(launch.threads);
  return shared_part(launch) + align(threads * sizeof(RunningThread)) + align(warps(launch) * sizeof(Warp)) +
         threads * stack_part(launch);
}

void Block::begin(uint64_t number) {
  std::memset(shared_, kUnwritten, static_cast<size_t>(launch_.shared_bytes));
  for (uint64_t w = 0; w < warps(launch_); ++w) warps_[w].arrived = 0, warps_[w].is_released = false;
  for (uint64_t t = 0; t < threads_; ++t) {
    RunningThread& thread = all_[t];
    set_index(thread.index, launch_.blocks, number);
    set_index(thread.index + 3, launch_.threads, t);
    set_extents(thread, launch_);
    thread.lane = static_cast<int64_t>(t % warp_);
    thread.shared = shared_;
    thread.block = this;
    thread.number = t;
    thread.state = State::ready;
    thread.copies = nullptr;
    thread.copy_count = thread.copy_room = thread.groups = 0;
    thread.fibre.begin(thread.stack, stack_part(launch_), thread_main, &thread);
  }
}

bool Block::all_are(State state) const {
  for (uint64_t t = 0; t < threads_; ++t)
    if (all_[t].state != state) return false;
  return true;
}

void Block::go_on(RunningThread& thread) {
  scheduler_.switch_to(thread.fibre);
}

/// Lanes that have met go on until they wait for other warps or have ended.
void Block::drain(uint64_t warp, uint64_t seed) {
  const uint64_t first = warp * warp_, lanes = threads_ - first < warp_ ? threads_ - first : warp_;
  for (; warps_[warp].is_released; ++seed) {
    warps_[warp].is_released = false;
    const Numbers order(launch_.order, lanes, seed);
    for (uint64_t k = 0; k < lanes; ++k)
      if (RunningThread& thread = all_[first + order.at(k)]; thread.state == State::ready) go_on(thread);
  }
}

int Block::run(uint64_t number) {
  begin(number);
  for (uint64_t round = 0;; ++round) {
    const Numbers order(launch_.order, threads_, number * 0x10001 + round);
    bool has_run = false;
    for (uint64_t k = 0; k < threads_; ++k) {
      RunningThread& thread = all_[order.at(k)];
      if (thread.state != State::ready) continue;
      has_run = true;
      go_on(thread);
      drain(thread.number / warp_, number * 0x10001 + round);
    }
    if (has_run) continue;
    if (!all_are(State::at_barrier)) break;
    for (uint64_t t = 0; t < threads_; ++t) all_[t].state = State::ready;
  }
  bool is_kept = is_untouched(shared_ + launch_.shared_bytes);
  for (uint64_t t = 0; t < threads_; ++t) {
    is_kept = is_kept && is_untouched(all_[t].stack);
    halide_free(nullptr, all_[t].copies);
  }
  if (!is_kept) __builtin_trap();
  return all_are(State::ended) ? 0 : ir::kThreadsParted;
}

void Block::wait(RunningThread& thread) {
  thread.state = State::at_barrier;
  thread.fibre.switch_to(scheduler_);
}

// A lane that comes with another instruction is not counted, so that none of them goes on.
void Block::meet(RunningThread& thread, WarpOperation operation, int64_t about, void* operands) {
  Warp& warp = warps_[thread.number / warp_];
  const uint64_t first = thread.number / warp_ * warp_, lanes = threads_ - first < warp_ ? threads_ - first : warp_;
  if (warp.arrived == 0) warp.operation = operation, warp.about = about;
  warp.lanes[thread.number - first] = operands;
  if (warp.operation == operation && warp.about == about) ++warp.arrived;
  if (warp.arrived < lanes) {
    thread.state = State::in_warp;
    return thread.fibre.switch_to(scheduler_);
  }
  for (uint64_t lane = lanes; lane < kMostWarpLanes; ++lane) warp.lanes[lane] = nullptr;
  operation(about, warp.lanes);
  warp.arrived = 0;
  warp.is_released = true;
  for (uint64_t lane = 0; lane < lanes; ++lane) all_[first + lane].state = State::ready;
}

bool Block::copies_at_once(const RunningThread& thread) const {
  return launch_.order == Order::reverse ||
         (launch_.order == Order::random &&
          mixed(thread.number * 0x10001 + static_cast<uint64_t>(thread.copy_count + thread.groups)) % 2 == 0);
}

void Block::thread_main(void* of) {
  auto& thread = *static_cast<RunningThread*>(of);
  thread.block->launch_.kernel(thread.block->launch_.arguments, &thread);
  thread.state = State::ended;
  thread.fibre.switch_to(thread.block->scheduler_);
}

uint64_t warp_lanes(const Launch& launch) {
  return launch.lanes > 0 ? static_cast<uint64_t>(launch.lanes) : 32;
}

// ---- numbers ----

uint64_t mixed(uint64_t x) {  // splitmix64 (Steele, Lea and Flood 2014)
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

namespace {

uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

}  // namespace

// In random order k is first + k * step modulo n, where step and n have no divisor in common.
Numbers::Numbers(Order order, uint64_t n, uint64_t seed) : order_(order), n_(n) {
  if (n >> 32 != 0 && order == Order::random) order_ = Order::reverse;
  if (order_ != Order::random || n < 2) return;
  const uint64_t drawn = mixed(seed);
  step_ = 1 + drawn % (n - 1);
  while (common_divisor(step_, n) != 1) ++step_;  // n + 1 at the latest
  step_ %= n;
  first_ = (drawn >> 32) % n;
}

uint64_t Numbers::at(uint64_t k) const {
  if (order_ == Order::forward) return k;
  if (order_ == Order::reverse) return n_ - 1 - k;
  return n_ < 2 ? 0 : (first_ + k * step_) % n_;
}

void set_index(int64_t* index, const int64_t* extents, uint64_t number) {
  for (int d = 0; d < 2; ++d) {
    index[d] = static_cast<int64_t>(number % static_cast<uint64_t>(extents[d]));
    number /= static_cast<uint64_t>(extents[d]);
  }
  index[2] = static_cast<int64_t>(number);
}

void set_extents(Thread& thread, const Launch& launch) {
  for (int d = 0; d < 3; ++d) thread.extent[d] = launch.blocks[d], thread.extent[3 + d] = launch.threads[d];
}

uint64_t count(const int64_t* extents) {
  return static_cast<uint64_t>(extents[0] * extents[1] * extents[2]);
}

}  // namespace polyweft::emulator
