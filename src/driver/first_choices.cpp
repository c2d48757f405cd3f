#include "driver/first_choices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "driver/spaces.h"
#include "schedules/steps.h"

namespace polyweft {
namespace {

constexpr double kAlike = 1.15;  // predictions that differ by less say nothing

void put_vectors_before_base(std::vector<Candidate>& candidates, const std::vector<NestTemplate>& templates) {
  for (auto at = candidates.begin(); at != candidates.end(); ++at) {
    const NestTemplate& base = templates[at->sketch];
    if (base.auto_vectorized || base.batch || !schedules::runs_base_order(base.trace)) continue;
    const auto vectors =
        std::find_if(at, candidates.end(), [&](const Candidate& c) { return templates[c.sketch].auto_vectorized; });
    if (vectors != candidates.end() && vectors->predicted_ns <= kAlike * at->predicted_ns)
      std::rotate(at, vectors, vectors + 1);
    return;
  }
}

/// Of the two predictions' logarithms: 253 programs (bench_rank) took 1.11 times the best candidate's time by 0.6 of
/// the code, 1.102 by 0.7, 1.100 by 0.8, 1.13 by the code alone.
constexpr double kWeightOfCode = 0.8;

/// Where code cannot be made of the first (it spills, or is too long), the next may have fewer lanes or smaller blocks.
constexpr size_t kMostOfWay = 4;

/// The same loops with gathers and without: what a lane takes depends on where its line is, so that only a clear
/// difference says something.
constexpr double kWithoutGathers = 1.1;

/// Models err alike on candidates whose code is made alike, and differently on others.
enum class Way : uint8_t {
  base,
  compiler,
  compiler_without_gathers,
  reordered_compiler,
  reordered_without_gathers,
  batch,
  band,
  schedule
};
Way way_of(const NestTemplate& t) {
  const bool is_base_order = schedules::runs_base_order(t.trace);
  if (t.auto_vectorized && t.avoids_gathers)
    return is_base_order ? Way::compiler_without_gathers : Way::reordered_without_gathers;
  if (t.auto_vectorized) return is_base_order ? Way::compiler : Way::reordered_compiler;
  if (t.batch) return Way::batch;
  if (!t.bands.empty()) return Way::band;
  return is_base_order ? Way::base : Way::schedule;
}

/// Of bands, as many are compiled as that, each of another sketch, where the model predicts them alike: those of one
/// sketch differ in sizes, which it ranks well, those of several in how code is made.
constexpr size_t kBandsTried = 3;
constexpr double kBandsNear = 2;

}  // namespace

std::vector<Candidate> first_choices(const std::vector<NestTemplate>& templates, const CostModel& model, size_t count,
                                     const RankingLimits& limits) {
  auto strategy = enumerate_by_model(
      search_spaces(templates, model, OptionalSteps::usual, limits.is_stopped),
      {.enumeration_limit = kAllRanked, .epsilon = 0, .descends = limits.descends, .work_limit = limits.work});
  std::vector<Candidate> out = strategy->ask(count);
  put_vectors_before_base(out, templates);
  return out;
}

double predicted_together(double by_nest_ns, double by_code_ns) {
  return std::pow(by_nest_ns, 1 - kWeightOfCode) * std::pow(by_code_ns, kWeightOfCode);
}

std::vector<Candidate> finalists(const std::vector<Candidate>& ranked, const std::vector<NestTemplate>& templates) {
  struct Known {
    double best_ns = 0;
    std::set<uint32_t> sketches;
  };
  std::vector<Candidate> out;
  std::map<Way, Known> ways;
  for (const Candidate& candidate : ranked) {
    const Way way = way_of(templates[candidate.sketch]);
    Known& known = ways[way];
    if (known.sketches.empty()) known.best_ns = candidate.predicted_ns;
    const bool is_tried = known.sketches.size() < (way == Way::band ? kBandsTried : 1) &&
                          candidate.predicted_ns <= kBandsNear * known.best_ns;
    if (is_tried && known.sketches.insert(candidate.sketch).second) out.push_back(candidate);
  }
  return out;
}

namespace {

bool is_same(const Candidate& a, const Candidate& b) {
  return a.sketch == b.sketch && a.decisions == b.decisions;
}

/// Makes code of finalists, one way after the other.
class CodeJudge {
 public:
  CodeJudge(const std::vector<Candidate>& ranked, const std::vector<NestTemplate>& templates, const CostModel& model,
            const CostOfCode& cost)
      : ranked_(ranked), templates_(templates), model_(model), cost_(cost) {}

  /// The finalist or who stands for it, with both predictions together; infinite where there is no code.
  Candidate judged(Candidate finalist) {
    const Way way = way_of(templates_[finalist.sketch]);
    auto next = std::find_if(ranked_.begin(), ranked_.end(), [&](const Candidate& c) { return is_same(c, finalist); });
    double by_code = std::numeric_limits<double>::infinity();
    size_t tried = 0;
    for (; next != ranked_.end() && tried < kMostOfWay && std::isinf(by_code); ++next) {
      if (way_of(templates_[next->sketch]) != way) continue;
      if (!taken_.insert({next->sketch, next->decisions}).second) continue;
      ++tried;
      const auto nest = instantiate(templates_[next->sketch], next->decisions);
      const auto cost = nest ? cost_(*nest) : Result<CodeCost>(nest.error());
      if (!cost) continue;
      has_gathers_[way] = has_gathers_[way] || cost->has_gathers;
      by_code = model_.predict_ns(*nest, cost->cycles);
      finalist = *next;
    }
    finalist.predicted_ns = predicted_together(finalist.predicted_ns, by_code);
    if (templates_[finalist.sketch].avoids_gathers) finalist.predicted_ns *= kWithoutGathers;
    return finalist;
  }
  /// Without gathers it would be the code that is known already.
  bool is_known(const Candidate& finalist) const {
    const Way way = way_of(templates_[finalist.sketch]);
    const auto with = has_gathers_.find(way == Way::compiler_without_gathers    ? Way::compiler
                                        : way == Way::reordered_without_gathers ? Way::reordered_compiler
                                                                                : way);
    return templates_[finalist.sketch].avoids_gathers && with != has_gathers_.end() && !with->second;
  }

 private:
  const std::vector<Candidate>& ranked_;
  const std::vector<NestTemplate>& templates_;
  const CostModel& model_;
  const CostOfCode& cost_;
  std::set<std::pair<uint32_t, std::vector<int64_t>>> taken_;
  std::map<Way, bool> has_gathers_;
};

}  // namespace

std::vector<Candidate> ordered_by_code(const std::vector<Candidate>& ranked, const std::vector<NestTemplate>& templates,
                                       const CostModel& model, const CostOfCode& cost, double far) {
  std::vector<Candidate> last = finalists(ranked, templates);
  if (last.size() < 2) return last;
  const double most_ns = far * std::min_element(last.begin(), last.end(), [](const Candidate& a, const Candidate& b) {
                                 return a.predicted_ns < b.predicted_ns;
                               })->predicted_ns;
  const auto far_ones =
      std::stable_partition(last.begin(), last.end(), [&](const Candidate& c) { return c.predicted_ns <= most_ns; });
  std::stable_partition(last.begin(), far_ones,
                        [&](const Candidate& c) { return !templates[c.sketch].avoids_gathers; });
  if (far_ones - last.begin() < 2) return last;  // the model is sure
  CodeJudge judge(ranked, templates, model, cost);
  std::vector<Candidate> out;
  for (auto finalist = last.begin(); finalist != far_ones; ++finalist)
    if (!judge.is_known(*finalist)) out.push_back(judge.judged(*finalist));
  std::stable_sort(out.begin(), out.end(),
                   [](const Candidate& a, const Candidate& b) { return a.predicted_ns < b.predicted_ns; });
  out.insert(out.end(), far_ones, last.end());
  return out;
}

}  // namespace polyweft
