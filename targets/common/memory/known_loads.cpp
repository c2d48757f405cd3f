#include "targets/common/memory/known_loads.h"

#include <algorithm>

namespace polyweft::targets {

llvm::Value* KnownLoads::value(const std::string& key) const {
  const auto found = loads_.find(key);
  return found == loads_.end() ? nullptr : found->second.value;
}

/// No lane of one stands for an element of any lane of the other.
bool KnownLoads::are_apart(const Span& a, const Span& b) const {
  const int64_t lane_a = a.offset.coefficient(kLane), lane_b = b.offset.coefficient(kLane);
  const Affine rest_a = a.offset - Affine::variable(kLane, lane_a), rest_b = b.offset - Affine::variable(kLane, lane_b);
  if (strides_.moves(rest_a, kLane) || strides_.moves(rest_b, kLane)) return false;
  const Interval apart = facts_.range(rest_a - rest_b);
  const int64_t last_a = lane_a * (static_cast<int64_t>(a.width) - 1),
                last_b = lane_b * (static_cast<int64_t>(b.width) - 1);
  const int64_t most = std::max<int64_t>(0, last_a) - std::min<int64_t>(0, last_b);
  const int64_t least = std::min<int64_t>(0, last_a) - std::max<int64_t>(0, last_b);
  return apart.lo + least > 0 || apart.hi + most < 0;
}

void KnownLoads::forget_loads(BufferId stored, const Place& place) {
  const Span written{stored, place.offset, lanes_.width};
  std::erase_if(loads_, [&](const auto& entry) {
    const auto& at = entry.second.at;
    if (at && at->buffer != stored &&
        std::find(variables_.context().sharers(stored).begin(), variables_.context().sharers(stored).end(),
                  at->buffer) != variables_.context().sharers(stored).end())
      return true;
    return !at || (at->buffer == stored && (place.key.empty() || !are_apart(*at, written)));
  });
}

}  // namespace polyweft::targets
