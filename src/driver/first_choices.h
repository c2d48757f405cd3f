// What would be served without measuring: the planner proves and serves one of these, a search measures them first.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "polyweft/cost_model.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"

namespace polyweft {

/// The `count` candidates that the model predicts to be fastest, best first. Where it sees no clear difference between
/// the base order and the same loops through the compiler's vectorizers (both wait for memory), the latter come first.
/// Up to 4000 predictions.
struct RankingLimits {
  bool descends = false;                  ///< SearchOptions::descends
  int64_t work = 0;                       ///< SearchOptions::work_limit
  std::function<bool()> is_stopped = {};  ///< nothing more is predicted from then on
};
std::vector<Candidate> first_choices(const std::vector<NestTemplate>& templates, const CostModel& model, size_t count,
                                     const RankingLimits& limits = {});
/// All that are predicted.
inline constexpr size_t kAllRanked = 4000;
/// Of candidates in the order of `first_choices`, for each way to make code the first: bands, batches, other schedules,
/// the base order, and what is left to the compiler in that order or another; of bands the first of three sketches, as
/// far as they are predicted alike. The model ranks sizes of one sketch well; what else is best shows in the code.
std::vector<Candidate> finalists(const std::vector<Candidate>& ranked, const std::vector<NestTemplate>& templates);
/// What a call is expected to take by what the model predicts of its nest, and of the nest with the cycles of its code.
double predicted_together(double by_nest_ns, double by_code_ns);
/// What a call's instructions take by its machine code.
struct CodeCost {
  double cycles = 0;
  bool has_gathers = true;  ///< or may have
};
/// An error where there is no code.
using CostOfCode = std::function<Result<CodeCost>(const LoopNest&)>;
/// The finalists, best first by what the model predicts of the nest and of its code together. Where code cannot be made
/// of one, the next ranked of its way stands for it; ways without code come last, as do those that the model predicts
/// to take more than `far` times what the best takes, of which no code is made.
std::vector<Candidate> ordered_by_code(const std::vector<Candidate>& ranked, const std::vector<NestTemplate>& templates,
                                       const CostModel& model, const CostOfCode& cost,
                                       double far = std::numeric_limits<double>::infinity());

}  // namespace polyweft
