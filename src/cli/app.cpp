#include "app.h"

#include "suggest.h"

namespace polyweft::cli {
namespace {

using AddVerb = Verb (*)(CLI::App&);

struct Entry {
  const char* name;
  const char* help;
  AddVerb add;
};
constexpr Entry kVerbs[] = {
    {"check", "Check all programs of files and folders, for all sizes", add_check},
    {"tune", "Search, prove, measure and store the best schedule", add_tune},
    {"measure", "Measure the candidates that tune --propose has written, without a database", add_measure},
    {"run", "Run a program on .npy files or seeded data", add_run},
    {"build", "Write an object, a library, a header, assembly or LLVM text", add_build},
    {"bench", "Time a kernel beside the untuned base nest", add_bench},
    {"show", "Print what a program or a record becomes, stage by stage", add_show},
    {"explain", "Explain a message code or a record", add_explain},
    {"db", "Look at and verify the schedule database", add_db},
    {"targets", "List targets and what this machine is", add_targets},
    {"config", "Print every setting and where it comes from", add_config},
    {"completion", "Print a completion script for a shell", add_completion},
    {"man", "Print the manual page", add_man},
};

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(verb->get_name());
  return out;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const auto& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

// The first word that is neither option nor verb where a verb has to stand; empty where there is none.
std::string word_at_place_of_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const auto verbs = verb_names(app);
  if (verbs.empty()) return "";
  const std::string path = path_of(app);
  const size_t depth = static_cast<size_t>(std::count(path.begin(), path.end(), ' '));
  return depth < words.size() && words[depth].rfind('-', 0) != 0 ? words[depth] : "";
}

std::string unknown_option(const CLI::App& app, const std::vector<std::string>& words) {
  const auto known = option_names(app);
  for (const auto& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name.rfind("--", 0) == 0 && name.size() > 2 && std::find(known.begin(), known.end(), name) == known.end())
      return name;
  }
  return "";
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && std::isupper(static_cast<unsigned char>(text[0])) &&
      std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

CommandLine make_command_line() {
  CommandLine out;
  out.app = std::make_unique<CLI::App>("Polyweft: polyhedral loop-nest optimizer and autotuner", "polyweft");
  out.app->require_subcommand(1);
  out.app->set_version_flag("-V,--version", [] { return toolchain(); });
  out.app->footer("Exit: 0 done, 1 the answer is no, 2 usage or bad input, 3 environment, 4 our bug, 130 interrupted.");
  for (const auto& entry : kVerbs) {
    CLI::App* sub = out.app->add_subcommand(entry.name, entry.help);
    out.verbs.emplace_back(sub, entry.add(*sub));
  }
  return out;
}

CLI::App& innermost(CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

Error usage_error(CLI::App& app, const std::vector<std::string>& words, const std::string& problem) {
  CLI::App& verb = innermost(app);
  const std::string path = path_of(verb);
  const std::string note = "see: " + path + " --help";
  if (const std::string word = word_at_place_of_verb(verb, words); !word.empty())
    return fail("PW0008", path + ": no verb '" + word + "'" + did_you_mean(word, verb_names(verb)), {note});
  if (const std::string option = unknown_option(verb, words); !option.empty())
    return fail("PW0008", path + ": no option " + option + did_you_mean(option, option_names(verb)), {note});
  if (!verb_names(verb).empty()) return fail("PW0008", path + ": a verb is required", {note});
  return fail("PW0008", path + ": " + lower_first(first_line(problem)), {note});
}

}  // namespace polyweft::cli
