#include <filesystem>
#include <iostream>
#include <map>
#include <memory>

#include "app.h"
#include "completion_scripts.h"

namespace polyweft::cli {
namespace {

constexpr const char* kFiles = ":files";

using Words = std::vector<std::string>;

Words verbs_below(const CLI::App& app) {
  Words out;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(verb->get_name());
  return out;
}

const CLI::App* verb_below(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// The verb that the words before the last one have reached.
const CLI::App* reached(const CLI::App& app, const Words& words) {
  const CLI::App* at = &app;
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (const CLI::App* next = verb_below(*at, words[i])) at = next;
  return at;
}

const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  return word.rfind('-', 0) == 0 ? app.get_option_no_throw(word) : nullptr;
}

// The programs' text that stands among the words; its parameters and tensors can be completed.
Result<Program> program_among(const Words& words) {
  for (const auto& word : words)
    if (word.find(".weft") != std::string::npos)
      if (auto program = load(word)) return program;
  return fail("PW0001", "no program among the words");
}

Words names_with_equals(const std::vector<std::string>& names) {
  Words out;
  for (const auto& name : names) out.push_back(name + "=");
  return out;
}

Words parameters_of(const Words& words) {
  Words names;
  if (auto program = program_among(words))
    for (const auto& parameter : program->parameters) names.push_back(parameter.name);
  return names_with_equals(names);
}

Words tensors_of(const Words& words, bool inputs) {
  Words names;
  if (auto program = program_among(words))
    for (TensorId t : inputs ? program->inputs() : program->outputs()) names.push_back(program->tensors[t].name);
  return names_with_equals(names);
}

Words records() {
  Words out;
  CommonOptions options;
  std::error_code problem;
  if (!std::filesystem::is_regular_file(default_database(), problem)) return out;
  auto tuner = make_tuner(options);
  if (!tuner) return out;
  auto database = tuner->database();
  if (!database) return out;
  if (auto rows = (*database)->list({.limit = 50}))
    for (const auto& row : *rows) out.push_back(std::to_string(row.id));
  return out;
}

Words values_of_option(const CLI::Option& option, const Words& words) {
  static const std::map<std::string, Words> kClosed = {
      {"numerics", {"strict", "contract", "reassoc"}},
      {"color", {"auto", "always", "never"}},
      {"abi", {"halide", "c"}},
      {"emit", {"object", "assembly", "llvm", "shared", "static", "header", "c", "artifact"}},
      {"stage",
       {"program", "scop", "dependences", "schedule", "trace", "loops", "storage", "vectors", "levels", "llvm",
        "assembly"}},
      {"after", code_passes()},
      {"budget", {"10s", "60s", "5m"}},
  };
  const std::string name = option.get_lnames().empty() ? "" : option.get_lnames().front();
  if (const auto closed = kClosed.find(name); closed != kClosed.end()) return closed->second;
  if (name == "parameter") return parameters_of(words);
  if (name == "input" || name == "output") {
    Words out = tensors_of(words, name == "input");
    if (out.empty()) out.push_back(kFiles);
    return out;
  }
  if (name == "target") {
    Words out = target_names();
    out.push_back(kFiles);
    return out;
  }
  return name == "database" || name == "schedule" || name == "output" ? Words{kFiles} : Words{};
}

Words options_of(const CLI::App& app) {
  Words out;
  for (const CLI::Option* option : app.get_options())
    for (const auto& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

Words positionals_of(const CLI::App& verb) {
  const std::string& name = verb.get_name();
  if (name == "completion") return {"bash", "zsh", "fish"};
  Words out = name == "show" || name == "explain" ? records() : Words{};
  if (name != "explain" && !verb.get_options([](const CLI::Option* o) { return o->get_positional(); }).empty())
    out.push_back(kFiles);
  return out;
}

Words all_candidates(const CLI::App& app, const Words& words) {
  const CLI::App& verb = *reached(app, words);
  if (const auto below = verbs_below(verb); !below.empty())
    return words.back().rfind('-', 0) == 0 ? options_of(verb) : below;
  const CLI::Option* before = words.size() > 1 ? option_named(verb, words[words.size() - 2]) : nullptr;
  if (before && before->get_items_expected_max() > 0) return values_of_option(*before, words);
  return words.back().rfind('-', 0) == 0 ? options_of(verb) : positionals_of(verb);
}

}  // namespace

std::vector<std::string> candidates(const std::vector<std::string>& given) {
  const Words words = given.empty() ? Words{""} : given;
  const CommandLine line = make_command_line();
  Words out;
  for (const auto& candidate : all_candidates(*line.app, words))
    if (candidate == kFiles || candidate.rfind(words.back(), 0) == 0) out.push_back(candidate);
  return out;
}

Verb add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [shell] {
    std::cout << (*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    return static_cast<int>(kDone);
  };
}

}  // namespace polyweft::cli
