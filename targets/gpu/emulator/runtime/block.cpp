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
uint64_t groups(const Launch& launch) {
  return (count(launch.threads) + kGroupLanes - 1) / kGroupLanes;
}
constexpr size_t kWrittenUnit = 16;
size_t written_units(const Launch& launch) {
  return static_cast<size_t>(launch.shared_bytes) / kWrittenUnit + 1;
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
  groups_ = reinterpret_cast<Group**>(memory);
  memory += align(groups(launch_) * sizeof(Group*));
  writers_ = reinterpret_cast<Writer*>(memory);
  memory += align(written_units(launch_) * sizeof(Writer));
  for (uint64_t g = 0; g < groups(launch_); ++g) groups_[g] = nullptr;
  for (uint64_t t = 0; t < threads_; ++t, memory += stack_part(launch)) {
    all_[t].stack = memory;
    std::memset(memory, kGuardByte, kGuard);
  }
  std::memset(shared_ + launch.shared_bytes, kGuardByte, kGuard);
}

size_t Block::bytes(const Launch& launch) {
  const uint64_t threads = count(launch.threads);
  return shared_part(launch) + align(threads * sizeof(RunningThread)) + align(warps(launch) * sizeof(Warp)) +
         align(groups(launch) * sizeof(Group*)) + align(written_units(launch) * sizeof(Writer)) +
         threads * stack_part(launch);
}

void Block::begin(uint64_t number) {
  std::memset(shared_, kUnwritten, static_cast<size_t>(launch_.shared_bytes));
  for (uint64_t w = 0; w < warps(launch_); ++w) warps_[w].arrived = 0, warps_[w].is_released = false;
  std::memset(static_cast<void*>(writers_), 0, written_units(launch_) * sizeof(Writer));
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
    thread.copy_count = thread.copy_room = thread.groups = thread.product_groups = 0;
    thread.published = 0;
    thread.may_start_products = false;
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
  for (uint64_t g = 0; g < groups(launch_); ++g) {
    if (groups_[g]) halide_free(nullptr, groups_[g]);
    groups_[g] = nullptr;
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

void Block::make(const RunningThread& thread, const Copy& copy) {
  std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.source_bytes));
  std::memset(static_cast<unsigned char*>(copy.to) + copy.source_bytes, 0,
              static_cast<size_t>(copy.bytes - copy.source_bytes));
  const auto at = static_cast<size_t>(static_cast<unsigned char*>(copy.to) - shared_);
  if (at < static_cast<size_t>(launch_.shared_bytes))
    writers_[at / kWrittenUnit] = {static_cast<uint32_t>(thread.number + 1), thread.published};
}

// ---- products of four warps ----

namespace {

constexpr uint32_t kSlotBits = 0x7fd00000, kNoSum = 0x7fffffff, kSharedAddresses = 1U << 18;
bool is_slot(uint32_t bits) {
  return bits >= kSlotBits && bits < kSlotBits + Group::kSlots;
}

}  // namespace

Group& Block::group_of(const RunningThread& thread) {
  Group*& group = groups_[thread.number / kGroupLanes];
  if (!group) {
    group = static_cast<Group*>(halide_malloc(nullptr, sizeof(Group)));
    if (!group) __builtin_trap();
    std::memset(static_cast<void*>(group), 0, sizeof(Group));
  }
  return *group;
}

// Lanes that come with another instruction or other descriptors are not counted, so that none of them goes on.
void Block::start(RunningThread& thread, int64_t about, uint64_t a, uint64_t b, const uint32_t* in, uint32_t* out) {
  Group& group = group_of(thread);
  const uint64_t lane = thread.number % kGroupLanes;
  if (group.arrived == 0) group.about = about, group.a = a, group.b = b;
  group.in[lane] = in, group.out[lane] = out;
  if (group.about == about && group.a == a && group.b == b) ++group.arrived;
  if (group.arrived < kGroupLanes) {
    thread.state = State::in_warp;
    return thread.fibre.switch_to(scheduler_);
  }
  group.arrived = 0;
  start_for_all(group, static_cast<int64_t>(thread.number / kGroupLanes * kGroupLanes));
  const bool at_once = launch_.order == Order::reverse ||
                       (launch_.order == Order::random &&
                        mixed(thread.number / kGroupLanes + static_cast<uint64_t>(group.started_count) * 7 +
                              static_cast<uint64_t>(thread.product_groups)) %
                                2 ==
                            0);
  if (at_once) make_until(group, INT64_MAX);
  for (uint64_t k = 0; k < kGroupLanes; ++k) all_[thread.number / kGroupLanes * kGroupLanes + k].state = State::ready;
}

void Block::start_for_all(Group& group, int64_t number) {
  if (group.started_count == Group::kMostStarted) __builtin_trap();
  StartedProduct& made = group.started[group.started_count++];
  std::memcpy(&made.shape, &group.about, sizeof made.shape);
  made.a = group.a, made.b = group.b, made.group = all_[number].product_groups;
  int next = 0;
  for (int r = 0; r < sums_of_lane(made.shape); ++r) {
    bool is_known = is_slot(group.in[0][r]);
    for (int lane = 0; lane < kGroupLanes; ++lane) is_known = is_known && group.in[lane][r] == group.in[0][r];
    int slot = static_cast<int>(group.in[0][r] - kSlotBits);
    if (!is_known) {
      while (next < Group::kSlots && group.users[next] > 0) ++next;
      if (next == Group::kSlots) __builtin_trap();
      slot = next;
      group.users[slot] = kGroupLanes;
      for (int lane = 0; lane < kGroupLanes; ++lane)
        group.sums[slot][lane] =
            all_[number + lane].may_start_products && !is_slot(group.in[lane][r]) ? group.in[lane][r] : kNoSum;
    }
    made.slots[r] = static_cast<uint16_t>(slot);
    for (int lane = 0; lane < kGroupLanes; ++lane) group.out[lane][r] = kSlotBits + static_cast<uint32_t>(slot);
  }
}

unsigned char Block::published_byte(uint32_t address) const {
  const uint32_t at =
      (address + kSharedAddresses - static_cast<uint32_t>(reinterpret_cast<uintptr_t>(shared_) % kSharedAddresses)) %
      kSharedAddresses;
  if (at >= static_cast<uint64_t>(launch_.shared_bytes)) return kUnwritten;
  const Writer& writer = writers_[at / kWrittenUnit];
  const bool is_published = writer.thread == 0 || all_[writer.thread - 1].published > writer.published;
  return is_published ? shared_[at] : kUnwritten;
}

/// Products of groups before `end`, in the order in which they were started.
void Block::make_until(Group& group, int64_t end) {
  struct Memory {
    const Block* block;
    uint32_t first;
  } memory{this, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(shared_) % kSharedAddresses)};
  int made = 0;
  for (; made < group.started_count && group.started[made].group < end; ++made) {
    const StartedProduct& product = group.started[made];
    uint32_t* sums[kMostGroupColumns / 2];
    for (int r = 0; r < sums_of_lane(product.shape); ++r) sums[r] = group.sums[product.slots[r]];
    // Addresses count from where shared memory begins, as a swizzle does.
    const auto in_block = [&](uint64_t descriptor) {
      const uint64_t start = (descriptor << 4 & (kSharedAddresses - 1)) + kSharedAddresses - memory.first;
      return (descriptor & ~uint64_t{0x3fff}) | (start % kSharedAddresses >> 4);
    };
    multiply(product.shape, in_block(product.a), in_block(product.b),
             {[](const void* of, uint32_t address) {
                const auto& from = *static_cast<const Memory*>(of);
                return from.block->published_byte((address + from.first) % kSharedAddresses);
              },
              &memory},
             group.factors, sums);
  }
  group.started_count -= made;
  for (int k = 0; k < group.started_count; ++k) group.started[k] = group.started[k + made];
}

void Block::wait_products(RunningThread& thread, int64_t groups) {
  make_until(group_of(thread), thread.product_groups - groups);
}

void Block::settle(RunningThread& thread, int64_t count, const uint32_t* in, uint32_t* out) {
  Group& group = group_of(thread);
  const uint64_t lane = thread.number % kGroupLanes;
  for (int64_t k = 0; k < count; ++k) {
    out[k] = in[k];
    if (!is_slot(in[k])) continue;
    const int slot = static_cast<int>(in[k] - kSlotBits);
    bool is_under_way = group.users[slot] == 0;
    for (int s = 0; s < group.started_count; ++s)
      for (int r = 0; r < sums_of_lane(group.started[s].shape); ++r)
        is_under_way = is_under_way || group.started[s].slots[r] == slot;
    out[k] = is_under_way ? kNoSum : group.sums[slot][lane];
    if (!is_under_way) --group.users[slot];
  }
  thread.may_start_products = false;
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
