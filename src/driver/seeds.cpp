#include "driver/seeds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

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

std::vector<int64_t> decisions_like(const Trace& ours, const Trace& theirs) {
  std::vector<int64_t> out;
  for (const Decision& decision : ours.decisions) {
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
    if (!(templates[sketch].trace.steps == trace->steps)) continue;
    const std::vector<int64_t> decisions = decisions_like(templates[sketch].trace, *trace);
    if (violated(templates[sketch].trace, decisions)) continue;
    const auto nest = instantiate(templates[sketch], decisions);
    if (nest) return Candidate{sketch, decisions, model.predict_ns(*nest), hash(*nest)};
  }
  return std::nullopt;
}

}  // namespace polyweft
