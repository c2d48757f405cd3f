// Steps refuse what is wrong and little else: of the steps that are legal by enumeration of small domains at most 2 %
// are refused. `PW_RANDOM_TRACES=1000 random_tests` draws 1,000 traces of each kind, `PW_RANDOM_SEED=17` one, and
// prints each refusal that has no reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lang/parser.h"
#include "random/pairs.h"
#include "random/recurrences.h"
#include "random/refusals.h"
#include "random/settings.h"

namespace polyweft::random_test {
namespace {

struct RefusalCounts {
  int accepted = 0;
  std::map<std::string, std::map<Truth, int>> refused;
  int with(Truth truth) const {
    int out = 0;
    for (const auto& [kind, by_truth] : refused)
      if (const auto found = by_truth.find(truth); found != by_truth.end()) out += found->second;
    return out;
  }
  double over_refusal() const {
    const int over = with(Truth::legal);
    return over == 0 ? 0 : static_cast<double>(over) / (accepted + over);
  }
};

void count_steps(const Program& program, NumericsClass cls, const Drawn& drawn, RefusalCounts& counts, bool is_shown,
                 const std::string& name) {
  counts.accepted += static_cast<int>(drawn.trace.steps.size());
  for (const Refused& refused : drawn.refused) {
    const Truth truth = truth_of(program, cls, refused);
    ++counts.refused[kind_of(refused)][truth];
    if (truth != Truth::legal && truth != Truth::undecided) continue;
    if (!is_shown) continue;
    std::printf("%s: %s although legal%s: %s\n%s%sstep: %s\n", name.c_str(), refused.error.code.c_str(),
                truth == Truth::legal ? "" : " perhaps", refused.error.message.c_str(), print(program).c_str(),
                refused.before.text().c_str(), print(refused.step).c_str());
    for (const auto& note : refused.error.notes) std::printf("  note: %s\n", note.c_str());
  }
}

void print_refusals(const char* what, const RefusalCounts& counts) {
  std::printf(
      "%s: %d steps accepted, %d refused as they should be, %d refused although legal (%.2f %%), %d undecided, %d make "
      "no nest, %d of form\n",
      what, counts.accepted, counts.with(Truth::illegal), counts.with(Truth::legal), 100 * counts.over_refusal(),
      counts.with(Truth::undecided), counts.with(Truth::no_nest), counts.with(Truth::of_form));
  for (const auto& [kind, by_truth] : counts.refused) {
    std::printf("  %-24s", kind.c_str());
    for (const auto& [truth, times] : by_truth) {
      const char* names[] = {"illegal", "LEGAL", "no nest", "of form", "undecided"};
      std::printf(" %s %d", names[static_cast<size_t>(truth)], times);
    }
    std::printf("\n");
  }
}

NumericsClass some_class(Rng& rng) {
  const NumericsClass classes[] = {NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict};
  return classes[rng.below(3)];
}

Program ready_at_defaults(const Program& source) {
  return polyweft::normalize(polyweft::bind(source, *make_binding(source, {})));
}

TEST(OverRefusal, of_steps_on_bands_is_small) {
  const int one = number_of("PW_RANDOM_SEED", 0), traces = number_of("PW_RANDOM_TRACES", 120),
            first = number_of("PW_RANDOM_FIRST", 1);
  RefusalCounts counts;
  for (int seed = one ? one : first; seed < (one ? one + 1 : first + traces); ++seed) {
    Rng rng(static_cast<uint64_t>(seed));
    const Program program = ready_at_defaults(lang::parse(random_recurrence(rng), "recurrence.weft")->programs.front());
    const NumericsClass cls = some_class(rng);
    const Drawn drawn = random_band_trace(rng, program, cls);
    count_steps(program, cls, drawn, counts, one || traces > 200, "seed " + std::to_string(seed));
  }
  print_refusals("bands", counts);
  EXPECT_LE(counts.over_refusal(), 0.02);
}

TEST(OverRefusal, of_steps_on_single_statements_is_small) {
  const int one = number_of("PW_RANDOM_SEED", 0), traces = number_of("PW_RANDOM_TRACES", 150),
            first = number_of("PW_RANDOM_FIRST", 1);
  RefusalCounts counts;
  for (int seed = one ? one : first; seed < (one ? one + 1 : first + traces); ++seed) {
    const Pair pair = random_pair(static_cast<uint64_t>(seed));
    const bool has_nothing = std::any_of(pair.source.parameters.begin(), pair.source.parameters.end(),
                                         [](const Parameter& p) { return p.value <= 0; });
    if (has_nothing || !make_binding(pair.source, {})) continue;
    const Program program = ready_at_defaults(pair.source);
    if (schedules::has_recurrence(program)) continue;
    Rng rng(static_cast<uint64_t>(seed));
    count_steps(program, pair.cls, random_dense_trace(rng, program, pair.cls), counts, one || traces > 400,
                "seed " + std::to_string(seed));
  }
  print_refusals("single statements", counts);
  EXPECT_LE(counts.over_refusal(), 0.02);
}

}  // namespace
}  // namespace polyweft::random_test
