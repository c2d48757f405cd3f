#include "driver/spaces.h"

#include <algorithm>
#include <map>
#include <memory>

namespace polyweft {
namespace {

std::vector<Choice> choices_of(const Trace& trace, OptionalSteps optional_steps) {
  std::vector<Choice> choices;
  for (const auto& decision : trace.decisions) {
    const bool is_open =
        !decision.candidates.empty() && (optional_steps == OptionalSteps::open || !is_optional(decision));
    choices.push_back({decision.name, is_open ? decision.candidates : std::vector<int64_t>{decision.value}});
  }
  return choices;
}

/// Of nests by their hash: many decisions make the same one (sizes beyond an extent do), and a prediction takes longer
/// than the nest.
using Predictions = std::map<std::string, double>;

std::optional<Score> score(const NestTemplate& nest_template, const CostModel& model,
                           const std::vector<int64_t>& decisions, Predictions& known) {
  if (violated(nest_template.trace, decisions)) return std::nullopt;
  auto nest = instantiate(nest_template, decisions);
  if (!nest) return std::nullopt;
  std::string name = hash(*nest);
  auto [at, is_new] = known.try_emplace(name);
  if (is_new) at->second = model.predict_ns(*nest);
  return Score{at->second, std::move(name)};
}

}  // namespace

bool is_optional(const Decision& decision) {
  return std::count(decision.candidates.begin(), decision.candidates.end(), 0) > 0;
}

std::vector<SketchSpace> search_spaces(const std::vector<NestTemplate>& templates, const CostModel& model,
                                       OptionalSteps optional_steps) {
  std::vector<SketchSpace> spaces;
  const auto known = std::make_shared<Predictions>();
  for (const auto& nest_template : templates)
    spaces.push_back(
        {choices_of(nest_template.trace, optional_steps),
         [&, known](const std::vector<int64_t>& decisions) { return score(nest_template, model, decisions, *known); }});
  return spaces;
}

std::string trace_text(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  Trace trace = with_values(nest_template.trace, decisions);
  trace.constraints.clear();
  for (auto& decision : trace.decisions) decision.candidates.clear();
  return trace.text();
}

}  // namespace polyweft
