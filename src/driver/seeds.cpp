#include "driver/seeds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "driver/spaces.h"
#include "polyweft/trace.h"

namespace polyweft {
namespace {

double octaves_apart(int64_t a, int64_t b) {
  return std::abs(std::log2(1.0 + std::abs(static_cast<double>(a))) -
                  std::log2(1.0 + std::abs(static_cast<double>(b))));
}

int64_t nearest_value(const Decision& decision, int64_t wanted) {
  const auto nearer = [&](int64_t a, int64_t b) { return octaves_apart(a, wanted) < octaves_apart(b, wanted); };
  return decision.candidates.empty()
             ? decision.value
             : *std::min_element(decision.candidates.begin(), decision.candidates.end(), nearer);
}

/// Values that the other trace gives to decisions of steps that may be left out.
using Values = std::map<std::string, int64_t>;

int64_t value_of(const Size& size, const Trace& trace) {
  const auto named = std::find_if(trace.decisions.begin(), trace.decisions.end(),
                                  [&](const Decision& d) { return d.name == size.decision; });
  return named == trace.decisions.end() ? size.constant : named->value;
}

/// Are these the same steps, up to prefetches of ours that the other trace leaves out, or has at a distance of its own?
std::optional<Values> same_steps(const Trace& ours, const Trace& theirs) {
  Values out;
  size_t next = 0;
  for (const Step& step : ours.steps) {
    const Step* other = next < theirs.steps.size() ? &theirs.steps[next] : nullptr;
    const auto* own = std::get_if<PrefetchStep>(&step);
    const bool may_be_left_out =
        own != nullptr && std::any_of(ours.decisions.begin(), ours.decisions.end(),
                                      [&](const Decision& d) { return d.name == own->by.decision && is_optional(d); });
    if (may_be_left_out) {
      const auto* like = other != nullptr ? std::get_if<PrefetchStep>(other) : nullptr;
      const bool is_there = like != nullptr && like->tensor == own->tensor && like->statement == own->statement &&
                            like->index == own->index;
      out[own->by.decision] = is_there ? value_of(like->by, theirs) : 0;
      next += is_there;
      continue;
    }
    if (other == nullptr || !(step == *other)) return std::nullopt;
    ++next;
  }
  return next == theirs.steps.size() ? std::optional(out) : std::nullopt;
}

std::vector<int64_t> decisions_like(const Trace& ours, const Trace& theirs, const Values& known) {
  std::vector<int64_t> out;
  for (const Decision& decision : ours.decisions) {
    if (const auto value = known.find(decision.name); value != known.end()) {
      out.push_back(value->second == 0 ? 0 : nearest_value(decision, value->second));
      continue;
    }
    const auto same = std::find_if(theirs.decisions.begin(), theirs.decisions.end(),
                                   [&](const Decision& d) { return d.name == decision.name; });
    out.push_back(nearest_value(decision, same == theirs.decisions.end() ? decision.value : same->value));
  }
  return out;
}

}  // namespace

std::optional<Candidate> seed_of(const std::string& trace_text, const std::vector<NestTemplate>& templates,
                                 const CostModel& model) {
  const auto trace = parse_trace(trace_text);
  if (!trace) return std::nullopt;
  for (uint32_t sketch = 0; sketch < templates.size(); ++sketch) {
    const auto known = same_steps(templates[sketch].trace, *trace);
    if (!known) continue;
    const std::vector<int64_t> decisions = decisions_like(templates[sketch].trace, *trace, *known);
    if (violated(templates[sketch].trace, decisions)) continue;
    const auto nest = instantiate(templates[sketch], decisions);
    if (nest) return Candidate{sketch, decisions, model.predict_ns(*nest), hash(*nest)};
  }
  return std::nullopt;
}

}  // namespace polyweft
