// polyweft: the command line. Results on standard output, progress and messages on standard error.
#include <fmt/format.h>

#include <iostream>

#include "verbs.h"

namespace {

using polyweft::cli::Verb;
using AddVerb = Verb (*)(CLI::App&);

struct Entry {
  const char* name;
  const char* help;
  AddVerb add;
};
constexpr Entry kVerbs[] = {
    {"check", "Check all programs of a file, for all sizes", polyweft::cli::add_check},
    {"tune", "Search, prove, measure and store the best schedule", polyweft::cli::add_tune},
    {"run", "Run a program on .npy files or seeded data", polyweft::cli::add_run},
    {"build", "Write an object, a library, a header, assembly or LLVM text", polyweft::cli::add_build},
    {"bench", "Time a kernel beside the untuned base nest", polyweft::cli::add_bench},
    {"show", "Print what a program or a record becomes, stage by stage", polyweft::cli::add_show},
    {"explain", "Explain a message code", polyweft::cli::add_explain},
    {"db", "Look at and verify the schedule database", polyweft::cli::add_db},
    {"targets", "List targets and what this machine is", polyweft::cli::add_targets},
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Polyweft: polyhedral loop-nest optimizer and autotuner", "polyweft");
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return polyweft::toolchain(); });
  app.footer("Exit: 0 done, 1 the answer is no, 2 usage or bad input, 3 environment, 4 our bug, 130 interrupted.");
  std::vector<std::pair<CLI::App*, Verb>> verbs;
  for (const auto& entry : kVerbs) {
    CLI::App* sub = app.add_subcommand(entry.name, entry.help);
    verbs.emplace_back(sub, entry.add(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    const int code = app.exit(problem);
    return code == 0 ? polyweft::cli::kDone : polyweft::cli::kBadInput;
  }
  try {
    for (const auto& [sub, verb] : verbs)
      if (sub->parsed()) return verb();
  } catch (const std::exception& problem) {
    std::cerr << "polyweft: internal error: " << problem.what() << "\n";
    return polyweft::cli::kInternal;
  }
  return polyweft::cli::kBadInput;
}
