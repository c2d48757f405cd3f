// Sizes that steps name, and the decisions among them.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "polyweft/trace.h"

namespace polyweft::schedules {

/// Calls f(Size&) for each size of the step that may be a decision; const where the step is.
template <class AnyStep, class F>
void for_each_size(AnyStep& step, const F& f) {
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.levels; })
          for (auto& level : s.levels) f(level.size);
        if constexpr (requires { s.lanes.decision; }) f(s.lanes);
        if constexpr (requires { s.by.decision; }) f(s.by);
        if constexpr (requires { s.layout; })
          for (auto& digit : s.layout) f(digit.factor);
        if constexpr (requires { s.sliding; })
          if (s.sliding) f(s.sliding->multiple);
      },
      step);
}
/// Names of the decisions that sizes of these steps are; a loop that goes by its decision's name counts by its tile.
std::set<std::string> decisions_in(const std::vector<Step>& steps);

}  // namespace polyweft::schedules
