#include "targets/cpu/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace polyweft::targets {
namespace {

constexpr std::array<int, 3> kCacheNames = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
constexpr std::array<int, 2> kWayNames = {_SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL2_CACHE_ASSOC};  // of one core
constexpr std::array<int64_t, 3> kAssumed = {32 << 10, 1 << 20, 8 << 20};
constexpr int kMostCaches = 8;
constexpr const char* kFolder = "/sys/devices/system/cpu/cpu0/cache";

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string out;
  std::getline(in, out);
  return out;
}

/// "48K", "2M"; 0 where it is no size.
int64_t parsed_bytes(const std::string& size) {
  int64_t out = 0;
  size_t at = 0;
  for (; at < size.size() && size[at] >= '0' && size[at] <= '9' && out < (int64_t{1} << 30); ++at)
    out = 10 * out + (size[at] - '0');
  if (at == size.size()) return out;
  return size[at] == 'K' ? out << 10 : size[at] == 'M' ? out << 20 : 0;
}

}  // namespace

int64_t described_cache_bytes(const std::string& folder, int level) {
  for (int k = 0; k < kMostCaches; ++k) {
    const std::string cache = folder + "/index" + std::to_string(k) + "/";
    if (first_line(cache + "level") == std::to_string(level) && first_line(cache + "type") != "Instruction")
      return parsed_bytes(first_line(cache + "size"));
  }
  return 0;
}

int cores_of_this_machine() {
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::vector<int64_t> caches_of_this_machine() {
  std::vector<int64_t> out;
  for (size_t level = 0; level < kCacheNames.size(); ++level) {
    int64_t bytes = sysconf(kCacheNames[level]);
    if (bytes <= 0) bytes = described_cache_bytes(kFolder, static_cast<int>(level) + 1);
    out.push_back(bytes > 0 ? bytes : kAssumed[level]);
  }
  return out;
}

void describe_caches(Machine& machine) {
  machine.set_caches(caches_of_this_machine(), FigureOrigin::described);
  for (size_t cache = 0; cache < kWayNames.size(); ++cache)
    if (const int64_t ways = sysconf(kWayNames[cache]); ways > 0)
      machine.memories[cache].ways = {ways, FigureOrigin::described};
}

}  // namespace polyweft::targets
