#include "targets/common/tiles/tile_registers.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr int kTiles = static_cast<int>(ir::kLiveTiles);

}  // namespace

int TileRegisters::free_tile(const std::vector<int>& pinned) {
  const auto is_taken = [&](int number) {
    return std::find(pinned.begin(), pinned.end(), number) != pinned.end() ||
           std::any_of(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.second.first == number; });
  };
  for (int number : order_) {
    if (is_taken(number)) continue;
    std::erase_if(numbers_, [&](const auto& known) {
      if (known.second == number) loads_.erase(known.first);
      return known.second == number;
    });
    return number;
  }
  throw Refusal{fail("PW0501", "more than " + std::to_string(kTiles) + " tiles would be live at once")};
}

TileRegisters::TileRegisters(const Addresses& addresses) : MemoryPart(addresses), order_(kTiles) {
  std::iota(order_.begin(), order_.end(), 0);
}

std::optional<int> TileRegisters::number_of(const std::string& key) const {
  const auto known = numbers_.find(key);
  return known != numbers_.end() && loads_.contains(key) ? std::optional(known->second) : std::nullopt;
}

void TileRegisters::use(int number) {
  std::erase(order_, number);
  order_.push_back(number);
}

void TileRegisters::give_up(int number) {
  std::erase(order_, number);
  order_.insert(order_.begin(), number);
}

}  // namespace polyweft::targets
