// Machine: what of it is asked by level.
#include <algorithm>

#include "polyweft/target.h"

namespace polyweft {
namespace {

constexpr const char* kDevice = "device";
constexpr const char* kCore = "core";
constexpr size_t kCachesOfCore = 2;

struct AssumedLevel {
  int64_t ways;
  double bytes_per_cycle;  ///< that a core reads from the level after it
};
constexpr AssumedLevel kAssumed[] = {{12, 50}, {16, 10}, {0, 5}};

AssumedLevel assumed(size_t cache) {
  const size_t last = std::size(kAssumed) - 1;
  return cache <= last ? kAssumed[cache] : kAssumed[last];
}

bool is_of_blocks(const MachineLevel& level) {
  return level.name == "block";
}

}  // namespace

const char* name_of(FigureOrigin origin) {
  return origin == FigureOrigin::probed ? "probed" : origin == FigureOrigin::described ? "described" : "assumed";
}

Machine::Machine() {
  set_caches({32 << 10, 1 << 20, 8 << 20}, FigureOrigin::assumed);
}

void Machine::set_caches(const std::vector<int64_t>& bytes, FigureOrigin origin) {
  memories.clear();
  for (size_t cache = 0; cache <= bytes.size(); ++cache) {
    MemoryLevel level;
    const bool is_cache = cache < bytes.size();
    level.name = is_cache ? "L" + std::to_string(cache + 1) : "memory";
    level.scope = cache < kCachesOfCore && is_cache ? kCore : kDevice;
    if (is_cache) level.bytes = {bytes[cache], origin};
    if (is_cache) level.ways = {assumed(cache).ways};
    if (cache > 0) level.bytes_per_cycle = {assumed(cache - 1).bytes_per_cycle};
    memories.push_back(std::move(level));
  }
}

int64_t Machine::cache_bytes(size_t cache) const {
  const MemoryLevel& level = memories[cache];
  const bool is_own = level.scope != levels.front().name || level.bytes.origin == FigureOrigin::probed;
  return is_own ? level.bytes.value : std::min(level.bytes.value, shared_cache_bytes.value);
}

int Machine::cores() const {
  const auto core =
      std::find_if(levels.begin(), levels.end(), [](const MachineLevel& level) { return level.name == kCore; });
  return core == levels.end() ? 1 : static_cast<int>(core->count.value);
}

void Machine::set_cores(int64_t cores, FigureOrigin origin) {
  for (MachineLevel& level : levels)
    if (level.name == kCore) level.count = {cores, origin};
}

bool Machine::has_grid() const {
  return std::any_of(levels.begin(), levels.end(), is_of_blocks);
}

int64_t Machine::block_units() const {
  const auto blocks = std::find_if(levels.begin(), levels.end(), is_of_blocks);
  return blocks == levels.end() ? 1 : blocks->count.value;
}

Machine on_cores(Machine machine, int cores) {
  machine.set_cores(std::max(1, cores), FigureOrigin::described);
  return machine;
}

}  // namespace polyweft
