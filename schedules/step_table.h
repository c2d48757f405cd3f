// All kinds of steps, each with all that is said of it: its text, what it does, why that is legal, what it refuses, and
// the function that applies it. The grammar and the tables of docs/schedules.md are made from this list.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedules/steps.h"

namespace polyweft::schedules {

enum class StepGroup : uint8_t { loops, memory, stages, recurrences };

/// One use of a step, as the tables of docs/schedules.md have it (Markdown).
struct StepForm {
  StepGroup group;
  const char* form;  ///< "store", "store .. in"
  const char* does;
  const char* legal;    ///< a theorem of docs/theorems.md, or a few words
  const char* refused;  ///< codes, and for what
};
struct StepKind {
  const char* name;     ///< the first word of its text
  const char* grammar;  ///< the right-hand side of its rule
  std::vector<StepForm> forms;
  size_t alternative;  ///< of the variant Step
  Result<NestTemplate> (*apply)(NestTemplate, const Step&, const Isl&);
};
/// One for each alternative of Step, by what they are for.
std::span<const StepKind> step_kinds();
const StepKind& kind_of(const Step& step);

}  // namespace polyweft::schedules
