// Sizes that a trace names: constants of settled stages, and decisions beyond what their rule offered.
#include <algorithm>

#include "schedules/mutations/draws.h"
#include "schedules/mutations/kinds.h"
#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

void collect(Step& step, std::vector<int64_t*>& out) {
  const auto add = [&](Size& size) {
    if (size.decision.empty() && size.constant > 0) out.push_back(&size.constant);
  };
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.levels; })
          for (auto& level : s.levels) add(level.size);
        if constexpr (requires { s.lanes.decision; }) add(s.lanes);
        if constexpr (requires { s.by.decision; }) add(s.by);
        if constexpr (requires { s.layout; })
          for (LayoutDigit& digit : s.layout) add(digit.factor);
        if constexpr (requires { s.parts; })
          if (s.parts > 1) out.push_back(&s.parts);
        if constexpr (std::is_same_v<std::decay_t<decltype(s)>, BatchStep>) out.push_back(&s.lanes);
      },
      step);
}

bool resize_decision(Trace& trace, int64_t lanes, Rng& rng) {
  if (trace.decisions.empty()) return false;
  Decision& d = trace.decisions[rng.below(trace.decisions.size())];
  const bool is_vectors = d.value > lanes && d.value % lanes == 0;
  const int64_t value = d.value == 0 ? 1 : near_size(d.value, is_vectors ? lanes : 1, rng);
  if (d.candidates.empty()) d.candidates = {d.value};
  const auto place = std::lower_bound(d.candidates.begin(), d.candidates.end(), value);
  if (place == d.candidates.end() || *place != value) d.candidates.insert(place, value);
  d.value = value;
  return true;
}

}  // namespace

// Equal sizes of a statement are mostly one decision: a tile, its lanes, the panels that are packed for it.
bool resize(Trace& trace, const Change& c) {
  constexpr double kDecisions = 0.3, kTogether = 0.7;
  const auto id = stage_named(c.whole, c.statement);
  const int64_t lanes = id ? lanes_of(c.whole, c.whole.stages[*id], c.machine) : 1;
  if (c.rng.chance(kDecisions) && resize_decision(trace, lanes, c.rng)) return true;
  std::vector<int64_t*> sizes;
  for (Step& step : trace.steps)
    if (owner_of(step) == c.statement || owner_of(step).empty()) collect(step, sizes);
  if (sizes.empty()) return false;
  int64_t* const chosen = one_of(sizes, c.rng);
  const int64_t before = *chosen;
  const bool is_vectors = before > lanes && before % lanes == 0;
  const int64_t after = near_size(before, is_vectors ? lanes : 1, c.rng);
  if (!c.rng.chance(kTogether)) {
    *chosen = after;
    return true;
  }
  for (int64_t* size : sizes)
    if (*size == before) *size = after;
  return true;
}

}  // namespace polyweft::schedules
