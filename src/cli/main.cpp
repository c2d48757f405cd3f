// polyweft: the command line. Results on standard output, progress and messages on standard error.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "app.h"
#include "deadline.h"
#include "settings.h"

namespace polyweft::cli {
namespace {

bool asks_for_json(const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

int complete(const std::vector<std::string>& words) {
  for (const auto& candidate : candidates(words)) std::cout << candidate << "\n";
  return kDone;
}

// The clock runs before any file is read, settings among them.
Status start_clock(CLI::App& verb, const OutputOptions& output) {
  const auto* option = verb.get_option_no_throw("--deadline");
  if (!option || option->count() == 0) return Ok{};
  const auto limit = parse_duration("--deadline", option->as<std::string>());
  if (!limit) return limit.error();
  end_after(*limit, output);
  return Ok{};
}

// Before any target is looked for.
Status take_instructions(CLI::App& verb) {
  const auto* option = verb.get_option_no_throw("--instructions");
  return option && option->count() > 0 ? add_instructions(option->as<std::string>()) : Status(Ok{});
}

int run_verb(CommandLine& line, const OutputOptions& output) {
  if (auto started = start_clock(innermost(*line.app), output); !started) return report(started.error(), output);
  if (auto applied = apply_settings(innermost(*line.app)); !applied) return report(applied.error(), output);
  if (auto taken = take_instructions(innermost(*line.app)); !taken) return report(taken.error(), output);
  for (const auto& [sub, verb] : line.verbs)
    if (sub->parsed()) return verb();
  return kBadInput;
}

// `help VERB` is `VERB --help`.
std::vector<std::string> without_help(std::vector<std::string> words, const CLI::App& app) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  const auto is_meant = [&](const CLI::App* verb) { return verb->get_name() == words.front(); };
  if (words.empty() || !app.get_subcommands(is_meant).empty()) words.push_back("--help");
  return words;
}

// For tests: a level of x86-64 that this machine counts as.
Status hold_host_as_told() {
  const char* level = std::getenv("POLYWEFT_HOST");
  if (!level || !*level) return Ok{};
  const Status held = hold_host(level);
  return held ? held : Status(fail("PW0009", "environment POLYWEFT_HOST: " + held.error().message, held.error().notes));
}

int run_command_line(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "__complete") return complete({words.begin() + 1, words.end()});
  OutputOptions output;
  output.json = asks_for_json(words);
  if (auto held = hold_host_as_told(); !held) return report(held.error(), output);
  CommandLine line = make_command_line();
  words = without_help(std::move(words), *line.app);
  try {
    line.app->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return line.app->exit(problem);
    return report(usage_error(*line.app, words, problem.what()), output);
  }
  return run_verb(line, output);
}

// A full disk or a closed pipe behind standard output must not look like success.
int finish(int code) {
  if (!std::cout.flush()) {
    std::cerr << "error: standard output cannot be written [PW0004]\n";
    code = std::max<int>(code, kEnvironment);
  }
  std::cerr.flush();
  if (is_code_being_made()) _exit(code);
  return code;
}

}  // namespace
}  // namespace polyweft::cli

int main(int argc, char** argv) {
  try {
    return polyweft::cli::finish(polyweft::cli::run_command_line(argc, argv));
  } catch (const std::exception& problem) {
    std::cerr << "polyweft: internal error: " << problem.what() << "\n";
  }
  return polyweft::cli::kInternal;
}
