#include "schedules/trace_decisions.h"

namespace polyweft::schedules {

std::set<std::string> decisions_in(const std::vector<Step>& steps) {
  std::set<std::string> out;
  const auto add = [&](const Size& size) {
    if (!size.decision.empty()) out.insert(size.decision);
  };
  for (const Step& step : steps)
    std::visit(
        [&](const auto& s) {
          if constexpr (requires { s.levels; })
            for (const auto& level : s.levels) add(level.size);
          if constexpr (requires { s.lanes.decision; }) add(s.lanes);
          if constexpr (requires { s.by.decision; }) add(s.by);
          if constexpr (requires { s.layout; })
            for (const LayoutDigit& digit : s.layout) add(digit.factor);
          if constexpr (requires { s.sliding; })
            if (s.sliding) add(s.sliding->multiple);
        },
        step);
  return out;
}

}  // namespace polyweft::schedules
