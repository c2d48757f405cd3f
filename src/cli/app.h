// The tree of verbs and options, from which help, completion and man page are made.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "output.h"
#include "verbs.h"

namespace polyweft::cli {

struct CommandLine {
  std::unique_ptr<CLI::App> app;
  std::vector<std::pair<CLI::App*, Verb>> verbs;
};
CommandLine make_command_line();

/// The verb (or its own verb) that was parsed last; the app where there is none.
CLI::App& innermost(CLI::App& app);
/// What a person reads where the words do not fit: PW0008 with the nearest verb or option.
Error usage_error(CLI::App& app, const std::vector<std::string>& words, const std::string& problem);

/// `polyweft completion SHELL` prints what makes the shell ask `polyweft __complete WORDS...`: one candidate a line,
/// ":files" for files.
std::vector<std::string> candidates(const std::vector<std::string>& words);

}  // namespace polyweft::cli
