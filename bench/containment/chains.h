// Whether a few mutations lead from a rule's template to a schedule. Not a search for luck: the mutations draw again
// and again from their own distributions, and of what they draw only changes that lessen the difference to the schedule
// are taken; every trace on the way replays, and the last one has the schedule's nest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/containment/spelling.h"
#include "polyweft/target.h"

namespace polyweft::containment {

struct Goal {
  Trace spelled;
  std::string hash;  ///< of its nest
};
/// The values of the template's decisions, each among its candidates, whose trace differs least from the goal.
std::vector<int64_t> nearest_values(const Trace& offered, const Trace& goal);
/// The mutations, one after the other, as "mutation.stream O"; nothing where at most `most` do not lead there.
std::optional<std::vector<std::string>> chain(const Case& c, const Machine& machine, const Trace& from,
                                              const Goal& goal, size_t most);

}  // namespace polyweft::containment
