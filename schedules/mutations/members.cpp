// Members of bands.
#include "schedules/mutations/draws.h"
#include "schedules/mutations/kinds.h"
#include "schedules/queries.h"

namespace polyweft::schedules {

std::vector<Step> skew_member(const Change& c) {
  const Stage* frame = stage_of(c);
  if (frame == nullptr || !frame->is_frame || frame->lo.size() < 2) return {};
  const size_t inner = 1 + c.rng.below(frame->lo.size() - 1), outer = c.rng.below(inner);
  return {SkewStep{frame->name,
                   index_name(c.at, *frame, static_cast<uint32_t>(inner)),
                   {{{c.rng.chance(0.5) ? 1 : 2, index_name(c.at, *frame, static_cast<uint32_t>(outer))}}, 0}}};
}

std::vector<Step> distribute_band(const Change& c) {
  const Stage* frame = stage_of(c);
  if (frame == nullptr || !frame->is_frame) return {};
  const auto loops = loops_of(*frame);
  return loops.empty() ? std::vector<Step>{} : std::vector<Step>{DistributeStep{frame->name, one_of(loops, c.rng)}};
}

}  // namespace polyweft::schedules
