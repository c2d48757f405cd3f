#include "driver/spaces.h"

namespace polyweft {
namespace {

std::vector<Choice> choices_of(const Trace& trace) {
  std::vector<Choice> choices;
  for (const auto& decision : trace.decisions)
    choices.push_back({decision.name, decision.candidates.empty() ? std::vector<int64_t>{decision.value} : decision.candidates});
  return choices;
}

std::optional<Score> score(const NestTemplate& nest_template, const CostModel& model, const std::vector<int64_t>& decisions) {
  if (violated(nest_template.trace, decisions)) return std::nullopt;
  auto nest = instantiate(nest_template, decisions);
  if (!nest) return std::nullopt;
  return Score{model.predict_ns(*nest), hash(*nest)};
}

}  // namespace

std::vector<SketchSpace> search_spaces(const std::vector<NestTemplate>& templates, const CostModel& model) {
  std::vector<SketchSpace> spaces;
  for (const auto& nest_template : templates)
    spaces.push_back({choices_of(nest_template.trace), [&](const std::vector<int64_t>& decisions) { return score(nest_template, model, decisions); }});
  return spaces;
}

std::string trace_text(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  Trace trace = with_values(nest_template.trace, decisions);
  trace.constraints.clear();
  for (auto& decision : trace.decisions) decision.candidates.clear();
  return trace.text();
}

}  // namespace polyweft
