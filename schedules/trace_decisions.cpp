#include "schedules/trace_decisions.h"

namespace polyweft::schedules {

std::set<std::string> decisions_in(const std::vector<Step>& steps) {
  std::set<std::string> out;
  for (const Step& step : steps)
    for_each_size(step, [&](const Size& size) {
      if (!size.decision.empty()) out.insert(size.decision);
    });
  return out;
}

}  // namespace polyweft::schedules
