// The lists that replay and sketch generation work with are whole: each step and each ability of a rule stands in them
// once.
#include "schedules/step_table.h"

#include <set>

#include "harness.h"
#include "schedules/sketches/rule.h"
#include "support/abilities.h"

namespace polyweft::test {
namespace {

/// The kinds of step that the parser names where it knows no such word.
std::set<std::string> parsed_steps() {
  const std::string message = parse_trace("trace 1\n  nothing C\n").error().message, known = "known are ";
  std::istringstream words(message.substr(message.find(known) + known.size()));
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(StepTable, has_each_step_of_the_text_once) {
  std::set<std::string> names;
  std::set<size_t> alternatives;
  for (const schedules::StepKind& kind : schedules::step_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_TRUE(alternatives.insert(kind.alternative).second) << kind.name;
    EXPECT_EQ(std::string(kind.grammar).rfind("'" + std::string(kind.name) + "'", 0), 0u) << kind.grammar;
    EXPECT_FALSE(kind.forms.empty()) << kind.name;
  }
  EXPECT_EQ(alternatives.size(), std::variant_size_v<Step>);
  EXPECT_EQ(names, parsed_steps());
}

TEST(StepTable, names_steps_as_their_text_does) {
  const auto trace = parse_trace(
      "trace 1\n tile C [i: 4]; permute C [i.1, i]; inline P; fuse Z into Y at i; reverse b i; autovectorize\n");
  ASSERT_TRUE(trace.ok()) << described(trace.error());
  for (const Step& step : trace->steps) {
    const std::string name = schedules::kind_of(step).name, text = print(step);
    EXPECT_EQ(text.substr(0, text.find(' ')), name);
  }
}

TEST(Rules, are_abilities_and_have_words) {
  std::set<std::string> names, abilities;
  for (const schedules::Rule& rule : schedules::rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_GT(std::string(rule.when).size(), 5u) << rule.name;
    EXPECT_GT(std::string(rule.proposes).size(), 20u) << rule.name;
  }
  for (const Ability& ability : polyweft::abilities())
    if (std::string(ability.name).rfind("rule.", 0) == 0) abilities.insert(std::string(ability.name));
  for (const char* choice : {"rule.borders", "rule.packing", "rule.without_gathers"}) names.insert(choice);
  EXPECT_EQ(names, abilities);
}

}  // namespace
}  // namespace polyweft::test
