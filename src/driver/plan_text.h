// Plans and first choices as texts, to be kept by the text of their question.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/planner.h"

namespace polyweft {

/// All that a first choice depends on, the build apart. `what`: "plan 1".
std::string question_about(const std::string& what, const Task& task, const Target& target);

/// Of the templates by their traces, in their order.
std::string key_of(const std::vector<NestTemplate>& templates);

std::string text_of(const Plan& plan);
std::optional<Plan> plan_from(const std::string& text);

std::string text_of(const std::vector<Candidate>& candidates);
/// Nothing where they do not go with the templates.
std::optional<std::vector<Candidate>> candidates_from(const std::string& text,
                                                      const std::vector<NestTemplate>& templates);

}  // namespace polyweft
