// What the model would serve without measuring: the planner proves and serves one of these, a search measures them first.
#pragma once

#include <vector>

#include "polyweft/cost_model.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"

namespace polyweft {

/// The `count` candidates that the model predicts to be fastest, best first. Where it sees no clear difference between the base order and the same loops through the
/// compiler's vectorizers (both wait for memory), the latter come first. Up to 4000 predictions.
std::vector<Candidate> first_choices(const std::vector<NestTemplate>& templates, const CostModel& model, size_t count);
/// What a search measures before anything else, so that it ends no slower than what is served untuned: the first choice, the first that is in no band (whose proof
/// may fail), and the base order left to the compiler. `model`: that of the planner.
std::vector<Candidate> search_seeds(const std::vector<NestTemplate>& templates, const CostModel& model);

}  // namespace polyweft
