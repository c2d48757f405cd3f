// What a search begins with beside its first choices: the schedule of the nearest record, tuned for another target,
// binding, class or number of threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyweft/cost_model.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"

namespace polyweft {

/// The candidate among these templates that has the trace's steps, each size the nearest one that the template offers
/// (by its ratio). None where no template has these steps, or where the sizes break its constraints: on another machine
/// rules propose other schedules.
std::optional<Candidate> seed_of(const std::string& trace_text, const std::vector<NestTemplate>& templates,
                                 const CostModel& model);

}  // namespace polyweft
