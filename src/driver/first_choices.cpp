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
                                     bool descends) {
  auto strategy = enumerate_by_model(search_spaces(templates, model, OptionalSteps::usual),
                                     {.enumeration_limit = kAllRanked, .epsilon = 0, .descends = descends});
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

std::vector<Candidate> ordered_by_code(const std::vector<Candidate>& ranked, const std::vector<NestTemplate>& templates,
                                       const CostModel& model, const CyclesOfCode& cycles_of) {
  std::vector<Candidate> out = finalists(ranked, templates);
  if (out.size() < 2) return out;
  std::set<std::pair<uint32_t, std::vector<int64_t>>> taken;
  for (Candidate& finalist : out) {
    const Way way = way_of(templates[finalist.sketch]);
    double by_code = std::numeric_limits<double>::infinity();
    size_t tried = 0;
    auto next = std::find_if(ranked.begin(), ranked.end(), [&](const Candidate& c) {
      return c.sketch == finalist.sketch && c.decisions == finalist.decisions;
    });
    for (; next != ranked.end() && tried < kMostOfWay && std::isinf(by_code); ++next) {
      if (way_of(templates[next->sketch]) != way) continue;
      if (!taken.insert({next->sketch, next->decisions}).second) continue;
      ++tried;
      const auto nest = instantiate(templates[next->sketch], next->decisions);
      const auto cycles = nest ? cycles_of(*nest) : Result<double>(nest.error());
      if (!cycles) continue;
      by_code = model.predict_ns(*nest, *cycles);
      finalist = *next;
    }
    finalist.predicted_ns = predicted_together(finalist.predicted_ns, by_code);
    if (templates[finalist.sketch].avoids_gathers) finalist.predicted_ns *= kWithoutGathers;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Candidate& a, const Candidate& b) { return a.predicted_ns < b.predicted_ns; });
  return out;
}

}  // namespace polyweft
