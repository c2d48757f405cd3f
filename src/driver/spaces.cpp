#include "driver/spaces.h"

#include <algorithm>

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

}  // namespace

bool is_optional(const Decision& decision) {
  return std::count(decision.candidates.begin(), decision.candidates.end(), 0) > 0;
}

constexpr size_t kScoresOfAsk = 16;
/// What a prediction costs, in costs of making the nest.
constexpr int64_t kPredicted = 3;

std::optional<Score> Scorer::score(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  if (asked_++ % kScoresOfAsk == 0) is_over();
  if (is_over_ || violated(nest_template.trace, decisions)) return std::nullopt;
  auto nest = instantiate(nest_template, decisions);
  if (!nest) return std::nullopt;
  std::string name = hash(*nest);
  auto [at, is_new] = known_.try_emplace(name);
  if (is_new) at->second = model_.predict_ns(*nest);
  const auto parts = static_cast<int64_t>(nest->nodes.size());
  return Score{at->second, std::move(name), is_new ? kPredicted * parts : parts};
}

SketchSpace search_space(const NestTemplate& nest_template, std::shared_ptr<Scorer> scorer,
                         OptionalSteps optional_steps) {
  return {choices_of(nest_template.trace, optional_steps),
          [&nest_template, scorer = std::move(scorer)](const std::vector<int64_t>& decisions) {
            return scorer->score(nest_template, decisions);
          },
          values_of(nest_template.trace)};
}

std::vector<SketchSpace> search_spaces(const std::vector<NestTemplate>& templates, const CostModel& model,
                                       OptionalSteps optional_steps, std::function<bool()> is_stopped) {
  std::vector<SketchSpace> spaces;
  const auto scorer = std::make_shared<Scorer>(model);
  scorer->stop_where(std::move(is_stopped));
  for (const auto& nest_template : templates) spaces.push_back(search_space(nest_template, scorer, optional_steps));
  return spaces;
}

std::string trace_text(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  Trace trace = with_values(nest_template.trace, decisions);
  trace.constraints.clear();
  for (auto& decision : trace.decisions) decision.candidates.clear();
  return trace.text();
}

}  // namespace polyweft
