#include "driver/first_choices.h"

#include <algorithm>

#include "driver/spaces.h"
#include "schedules/steps.h"

namespace polyweft {
namespace {

constexpr int64_t kMostPredicted = 4000;
constexpr double kAlike = 1.15;  // predictions that differ by less say nothing

void put_vectors_before_base(std::vector<Candidate>& candidates, const std::vector<NestTemplate>& templates) {
  for (auto at = candidates.begin(); at != candidates.end(); ++at) {
    const NestTemplate& base = templates[at->sketch];
    if (base.auto_vectorized || !schedules::runs_base_order(base.trace)) continue;
    const auto vectors = std::find_if(at, candidates.end(), [&](const Candidate& c) { return templates[c.sketch].auto_vectorized; });
    if (vectors != candidates.end() && vectors->predicted_ns <= kAlike * at->predicted_ns) std::rotate(at, vectors, vectors + 1);
    return;
  }
}

}  // namespace

std::vector<Candidate> first_choices(const std::vector<NestTemplate>& templates, const CostModel& model, size_t count) {
  auto strategy = enumerate_by_model(search_spaces(templates, model), {.enumeration_limit = kMostPredicted, .epsilon = 0});
  std::vector<Candidate> out = strategy->ask(count);
  put_vectors_before_base(out, templates);
  return out;
}

std::vector<Candidate> search_seeds(const std::vector<NestTemplate>& templates, const CostModel& model) {
  const std::vector<Candidate> all = first_choices(templates, model, templates.size() + 1);
  std::vector<Candidate> out;
  const auto add_first = [&](const auto& is_wanted) {
    const auto found = std::find_if(all.begin(), all.end(), is_wanted);
    const auto is_same = [&](const Candidate& c) { return c.nest_hash == found->nest_hash; };
    if (found != all.end() && std::none_of(out.begin(), out.end(), is_same)) out.push_back(*found);
  };
  add_first([](const Candidate&) { return true; });
  add_first([&](const Candidate& c) { return templates[c.sketch].bands.empty(); });
  add_first([&](const Candidate& c) { return templates[c.sketch].auto_vectorized; });
  return out;
}

}  // namespace polyweft
