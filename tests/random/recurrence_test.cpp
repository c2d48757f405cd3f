// Random systems of recurrences: evaluator, base nest (interpreter, tags, machine code) and checker agree. `PW_RANDOM_RECURRENCES=2000 random_tests` judges
// 2,000 of them, `PW_RANDOM_SEED=17` one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "lang/parser.h"
#include "poly/check.h"
#include "random/pairs.h"
#include "random/recurrences.h"

namespace polyweft::random_test {
namespace {

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

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

/// The generator promises programs that pass for all sizes; isl may give up on one.
std::string objection_to(const Program& program) {
  const poly::CheckReport report = poly::check(polyweft::normalize(program));
  for (const auto& error : report.errors)
    if (error.code != "PW0830") return error.code + " " + error.text;
  return "";
}

TEST(RandomRecurrences, all_judges_agree) {
  const int one = number_of("PW_RANDOM_SEED", 0), systems = number_of("PW_RANDOM_RECURRENCES", 40);
  int agreed = 0, refused = 0, wrong = 0, asked = 0, not_decided = 0;
  std::map<std::string, int> why;
  for (int seed = one ? one : 1; seed < (one ? one + 1 : 1 + systems) && wrong < 10; ++seed) {
    Pair pair = recurrence_pair(static_cast<uint64_t>(seed));
    if (one) std::printf("%s", described(pair).c_str());
    if (const std::string objection = objection_to(pair.source); !objection.empty()) {
      ++wrong;
      ADD_FAILURE() << "seed " << seed << " is refused: " << objection << "\n" << described(pair);
      continue;
    }
    const Judgement judgement = judge(pair);
    agreed += judgement.outcome == Outcome::agreed;
    asked += judgement.asked_checker;
    not_decided += judgement.not_decided;
    if (judgement.outcome == Outcome::refused || judgement.outcome == Outcome::no_program) ++refused, ++why[judgement.message.substr(0, 70)];
    if (judgement.outcome != Outcome::disagreement) continue;
    ++wrong;
    const Pair least = shrunk(pair, judgement.kind, 60);
    ADD_FAILURE() << "seed " << seed << ": " << judgement.kind << ": " << judgement.message << "\n" << described(pair) << "\nsmallest:\n" << described(least);
  }
  std::printf("recurrences: %d agreed, %d refused, %d disagreements; checker asked %d times, not decided %d times\n", agreed, refused, wrong, asked, not_decided);
  for (const auto& [message, times] : why) std::printf("  refused %d times: %s\n", times, message.c_str());
  EXPECT_GT(agreed * 10, (one ? 0 : systems) * 8 - 1) << "too few systems reach the comparison";
}

/// Two statements of one time: the cell that one reads was given to what the other writes.
TEST(RandomRecurrences, a_cell_outlives_what_happens_at_the_time_of_its_last_read) {
  const Judgement judgement = judge(recurrence_pair(130));
  EXPECT_EQ(judgement.outcome, Outcome::agreed) << judgement.message;
}

}  // namespace
}  // namespace polyweft::random_test
