// Random systems of recurrences: evaluator, base nests and nests by random traces (interpreter, tags, machine code) and
// checker agree. `PW_RANDOM_RECURRENCES=2000 PW_RANDOM_BANDS=2000 random_tests` judges 2,000 of each,
// `PW_RANDOM_SEED=17` one, `PW_RANDOM_FIRST=5000` others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ir/normalize/normalize.h"
#include "lang/parser.h"
#include "poly/check.h"
#include "random/band_traces.h"
#include "random/pairs.h"
#include "random/recurrences.h"
#include "random/settings.h"

namespace polyweft::random_test {
namespace {

Pair recurrence_pair(uint64_t seed) {
  Rng rng(seed);
  const std::string text = random_recurrence(rng);
  auto parsed = lang::parse(text, "recurrence.weft");
  if (!parsed) throw std::runtime_error(parsed.error().message + "\n" + text);
  Pair out;
  out.source = parsed->programs.front();
  const NumericsClass classes[] = {NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict};
  out.cls = classes[rng.below(3)];
  out.data_seed = rng();
  out.ask_checker = rng.chance(0.15);
  return out;
}

/// The same systems by random traces of bands.
Pair band_pair(uint64_t seed) {
  Pair out = recurrence_pair(seed);
  Rng rng(seed ^ 0xba4d);
  const Program program = polyweft::normalize(polyweft::bind(out.source, *make_binding(out.source, {})), out.cls);
  out.trace = random_band_trace(rng, program, out.cls).trace;
  out.ask_checker = true;
  out.threads = rng.chance(0.5) ? 2 : 1;
  return out;
}

/// The generator promises programs that pass for all sizes; isl may give up on one.
std::string objection_to(const Program& program) {
  const poly::CheckReport report = poly::check(polyweft::normalize(program));
  for (const auto& error : report.errors)
    if (error.code != "PW0830") return error.code + " " + error.text;
  return "";
}

struct RecurrenceCounts {
  int agreed = 0, refused = 0, wrong = 0, asked = 0, not_decided = 0, steps = 0, parallel = 0, vector = 0;
  std::map<std::string, int> why;
};

void judge_pair(const Pair& pair, const std::string& name, RecurrenceCounts& counts) {
  const Judgement judgement = judge(pair);
  counts.agreed += judgement.outcome == Outcome::agreed;
  counts.asked += judgement.asked_checker;
  counts.not_decided += judgement.not_decided;
  counts.steps += static_cast<int>(pair.trace.steps.size());
  counts.parallel += judgement.parallel;
  counts.vector += judgement.vector;
  if (judgement.not_decided) ++counts.why["not decided: " + judgement.undecided_why.substr(0, 70)];
  if (judgement.outcome == Outcome::refused || judgement.outcome == Outcome::no_program)
    ++counts.refused, ++counts.why[judgement.message.substr(0, 70)];
  if (judgement.outcome != Outcome::disagreement) return;
  ++counts.wrong;
  const Pair least = shrunk(pair, judgement.kind, 60);
  ADD_FAILURE() << name << ": " << judgement.kind << ": " << judgement.message << "\n"
                << described(pair) << "\nsmallest:\n"
                << described(least);
}

void print_recurrences(const RecurrenceCounts& c) {
  std::printf(
      "recurrences: %d agreed (%d steps, %d with tasks, %d with lanes), %d refused, %d disagreements; checker asked %d "
      "times, not decided %d times\n",
      c.agreed, c.steps, c.parallel, c.vector, c.refused, c.wrong, c.asked, c.not_decided);
  for (const auto& [message, times] : c.why) std::printf("  %d times: %s\n", times, message.c_str());
}

struct Range {
  int first = 1, end = 1;
};
Range seeds(const char* variable, int otherwise) {
  const int one = number_of("PW_RANDOM_SEED", 0), first = number_of("PW_RANDOM_FIRST", 1);
  return one ? Range{one, one + 1} : Range{first, first + number_of(variable, otherwise)};
}

TEST(RandomRecurrences, all_judges_agree) {
  const Range range = seeds("PW_RANDOM_RECURRENCES", 40);
  RecurrenceCounts counts;
  for (int seed = range.first; seed < range.end && counts.wrong < 10; ++seed) {
    const Pair pair = recurrence_pair(static_cast<uint64_t>(seed));
    if (range.end == range.first + 1) std::printf("%s", described(pair).c_str());
    if (const std::string objection = objection_to(pair.source); !objection.empty()) {
      ++counts.wrong;
      ADD_FAILURE() << "seed " << seed << " is refused: " << objection << "\n" << described(pair);
      continue;
    }
    judge_pair(pair, "seed " + std::to_string(seed), counts);
  }
  print_recurrences(counts);
  EXPECT_GT(counts.agreed * 10, (range.end - range.first == 1 ? 0 : range.end - range.first) * 8 - 1)
      << "too few systems reach the comparison";
}

/// In bands: what steps take is right for every judge, and the checker proves it.
TEST(RandomRecurrences, all_judges_agree_on_random_traces) {
  const Range range = seeds("PW_RANDOM_BANDS", 40);
  RecurrenceCounts counts;
  for (int seed = range.first; seed < range.end && counts.wrong < 10; ++seed) {
    const Pair pair = band_pair(static_cast<uint64_t>(seed));
    if (pair.trace.steps.empty()) continue;
    if (range.end == range.first + 1) std::printf("%s", described(pair).c_str());
    judge_pair(pair, "seed " + std::to_string(seed), counts);
  }
  print_recurrences(counts);
  EXPECT_LE(counts.not_decided * 50, std::max(counts.asked, 50))
      << "the checker is to decide 98 of 100 nests that are right";
}

/// Two statements of one time: the cell that one reads was given to what the other writes.
TEST(RandomRecurrences, a_cell_outlives_what_happens_at_the_time_of_its_last_read) {
  const Judgement judgement = judge(recurrence_pair(130));
  EXPECT_EQ(judgement.outcome, Outcome::agreed) << judgement.message;
}

}  // namespace
}  // namespace polyweft::random_test
