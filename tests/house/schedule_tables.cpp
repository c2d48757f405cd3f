// Prints what docs/ says of rules and steps, from the lists that sketch generation and replay work with:
//
//   schedule_tables rules | mutations | grammar | loops | memory | stages | recurrences
//
// tests/house/documents.py compares it with what stands between `<!-- made by: NAME -->` and `<!-- made end -->`.
#include <cstdio>
#include <string>
#include <string_view>

#include "schedules/mutations/mutations.h"
#include "schedules/sketches/rule.h"
#include "schedules/step_table.h"

using namespace polyweft;

namespace {

constexpr std::string_view kOtherGrammar =
    R"(linear     = [ '-' ] part { ( '+' | '-' ) part } ;      part = INT [ '*' NAME ] | NAME ;
digit      = dim [ ( '/' | '%' ) size ] ;
decide     = 'decide' NAME '=' INT [ 'of' INT { INT } ] { ',' NAME '=' INT [ 'of' INT { INT } ] } ;
require    = 'require' NAME ':' term { '+' term } '<=' DECIMAL ;
term       = ( DECIMAL | NAME ) { '*' NAME } ;
scope      = 'heap' | 'stack' | 'reg' | 'tile' | 'shared' | 'scratchpad' | 'accumulator' ;
size       = INT | NAME ;                      (* NAME: a decision *)
)";

std::string grammar() {
  std::string alternatives, rules;
  for (const schedules::StepKind& kind : schedules::step_kinds()) {
    alternatives += (alternatives.empty() ? "" : " | ") + std::string(kind.name);
    std::string name = kind.name;
    name.resize(std::max<size_t>(name.size(), 10), ' ');
    rules += name + " = " + kind.grammar + "\n";
  }
  return "```ebnf\ntrace      = 'trace' '1' { step | decide | require } ;\nstep       = " + alternatives + " ;\n" +
         rules + std::string(kOtherGrammar) + "```\n";
}

std::string steps_of(schedules::StepGroup group) {
  std::string out = "| step | what it does | legal because | refused |\n|---|---|---|---|\n";
  for (const schedules::StepKind& kind : schedules::step_kinds())
    for (const schedules::StepForm& form : kind.forms)
      if (form.group == group)
        out += std::string("| ") + form.form + " | " + form.does + " | " + form.legal + " | " + form.refused + " |\n";
  return out;
}

std::string mutations() {
  std::string out = "| mutation | what it changes |\n|---|---|\n";
  for (const schedules::Mutation& m : schedules::mutations())
    out += std::string("| `") + m.name + "` | " + m.what + " |\n";
  return out;
}

std::string rules() {
  const char* kGroups[] = {"Programs with recurrences: from the bands that isl proposes", "Whole programs",
                           "Programs without recurrences: a plan for each stage", "Any program: loops in their order",
                           "Machines that run blocks of threads"};
  std::string out;
  size_t last = std::variant_npos;
  for (const schedules::Rule& rule : schedules::rules()) {
    if (rule.on.index() != last)
      out += (out.empty() ? "### " : "\n### ") + std::string(kGroups[rule.on.index()]) +
             "\n\n| rule | where | what it proposes |\n|---|---|---|\n";
    last = rule.on.index();
    out += std::string("| `") + rule.name + "` | " + rule.when + " | " + rule.proposes + " |\n";
  }
  return out;
}

std::string table(std::string_view name) {
  if (name == "rules") return rules();
  if (name == "grammar") return grammar();
  if (name == "loops") return steps_of(schedules::StepGroup::loops);
  if (name == "mutations") return mutations();
  if (name == "memory") return steps_of(schedules::StepGroup::memory);
  if (name == "stages") return steps_of(schedules::StepGroup::stages);
  if (name == "recurrences") return steps_of(schedules::StepGroup::recurrences);
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = argc == 2 ? table(argv[1]) : "";
  if (text.empty())
    return std::fprintf(stderr, "usage: schedule_tables rules|mutations|grammar|loops|memory|stages|recurrences\n"), 2;
  std::fputs(text.c_str(), stdout);
  return 0;
}
