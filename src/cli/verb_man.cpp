// The manual page, in man(7), from the table of verbs and options: what --help knows, man knows.
#include <fmt/format.h>

#include <iostream>

#include "app.h"
#include "settings.h"

namespace polyweft::cli {
namespace {

std::string roff(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string names_of_option(const CLI::Option& option) {
  std::string out;
  for (const auto& name : option.get_snames()) out += "\\fB\\-" + roff(name) + "\\fR";
  for (const auto& name : option.get_lnames()) out += (out.empty() ? "" : ", ") + ("\\fB\\-\\-" + roff(name) + "\\fR");
  if (option.get_items_expected_max() > 0)
    out += " \\fI" + roff(option.get_type_name().substr(0, option.get_type_name().find(':'))) + "\\fR";
  return out;
}

bool is_common(const CLI::Option& option) {
  static const std::vector<std::string> kCommon = {"parameter", "threads", "numerics", "database",
                                                   "target",    "color",   "json",     "help"};
  return !option.get_lnames().empty() &&
         std::find(kCommon.begin(), kCommon.end(), option.get_lnames().front()) != kCommon.end();
}

void print_option(const CLI::Option& option) {
  std::cout << ".TP\n" << names_of_option(option) << "\n" << roff(option.get_description());
  if (!option.get_default_str().empty()) std::cout << roff(" (default: " + option.get_default_str() + ")");
  std::cout << "\n";
}

void print_verb(const CLI::App& verb, const std::string& path) {
  std::string positionals;
  for (const CLI::Option* option : verb.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    positionals +=
        " \\fI" + roff(option->get_name(true)) + "\\fR" + (option->get_items_expected_max() > 1 ? "..." : "");
  std::cout << ".SS polyweft " << roff(path) << "\n\\fBpolyweft " << roff(path) << "\\fR" << positionals
            << " [options]\n.PP\n"
            << roff(verb.get_description()) << ".\n";
  for (const CLI::Option* option : verb.get_options())
    if (!option->get_positional() && !is_common(*option)) print_option(*option);
  for (const CLI::App* below : verb.get_subcommands([](const CLI::App*) { return true; }))
    print_verb(*below, path + " " + below->get_name());
}

void print_common(const CLI::App& app) {
  std::cout << ".SH COMMON OPTIONS\n";
  for (const CLI::Option* option : app.get_subcommand("tune")->get_options())
    if (is_common(*option)) print_option(*option);
}

void print_exit() {
  std::cout << ".SH EXIT STATUS\n"
               ".TP\n\\fB0\\fR\ndone\n"
               ".TP\n\\fB1\\fR\nthe answer is no: outputs differ, a proof failed, a record is not there\n"
               ".TP\n\\fB2\\fR\nusage or bad input, also a program that the language refuses\n"
               ".TP\n\\fB3\\fR\nenvironment: file, database, helper process, device\n"
               ".TP\n\\fB4\\fR\na bug of Polyweft\n"
               ".TP\n\\fB130\\fR, \\fB143\\fR\nended by SIGINT, SIGTERM; what tune had found is stored\n";
}

void print_settings_section() {
  std::cout << ".SH SETTINGS\nAn option that is not given is taken from the environment, then from "
               "\\fI./polyweft.toml\\fR, then from\n"
               "\\fI$XDG_CONFIG_HOME/polyweft/config.toml\\fR (else \\fI~/.config/polyweft/config.toml\\fR). "
               "\\fBpolyweft config\\fR prints every value\n"
               "and its origin.\n";
  for (const auto& setting : settings())
    std::cout << ".TP\n\\fB" << setting.name << "\\fR, \\fB" << setting.environment << "\\fR\n"
              << roff(setting.help) << "\n";
  std::cout << ".TP\n\\fBPOLYWEFT_HOST\\fR\nx86\\-64, x86\\-64\\-v2, x86\\-64\\-v3 or x86\\-64\\-v4: this machine "
               "counts as having no features beyond that level; for tests, environment only\n";
  std::cout << ".TP\n\\fBPOLYWEFT_HELPERS\\fR\nfolder of polyweft\\-isl and polyweft\\-runner; environment only\n"
               ".TP\n\\fBNO_COLOR\\fR, \\fBCLICOLOR_FORCE\\fR, \\fBTERM\\fR, \\fBCOLUMNS\\fR\nas everywhere\n";
}

void print_page(const CLI::App& app) {
  std::cout << ".TH POLYWEFT 1 \"\" \"" << roff(toolchain().substr(0, toolchain().find(" llvm")))
            << "\" \"User Commands\"\n"
            << ".SH NAME\npolyweft \\- " << roff("polyhedral loop-nest optimizer and autotuner") << "\n"
            << ".SH SYNOPSIS\n\\fBpolyweft\\fR \\fIVERB\\fR [\\fIFILE\\fR...] [options]\n"
            << ".SH DESCRIPTION\nA tensor program in a text file goes in; a proven, compiled, compared, measured and "
               "stored kernel comes out; the second\n"
               "request for it costs a look\\-up. \\fIFILE\\fR may be \\fIFILE\\fR:\\fIPROGRAM\\fR where a file holds "
               "several programs.\n"
               "Results go to standard output, progress and messages to standard error.\n"
            << ".SH VERBS\n";
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    print_verb(*verb, verb->get_name());
  print_common(app);
  print_settings_section();
  print_exit();
  std::cout << ".SH FILES\n.TP\n\\fI$XDG_DATA_HOME/polyweft/schedules.db\\fR\nthe schedule database (else "
               "\\fI~/.local/share/polyweft/schedules.db\\fR)\n"
               ".TP\n\\fI$XDG_STATE_HOME/polyweft/secret\\fR\nby which this host knows the records that it has proven "
               "(else \\fI~/.local/state/polyweft/secret\\fR)\n"
               ".TP\n\\fIshare/polyweft/schemas\\fR\nJSON Schemas of what \\fB\\-\\-json\\fR prints\n";
}

}  // namespace

Verb add_man(CLI::App& app) {
  (void)app;
  return [] {
    const CommandLine line = make_command_line();
    print_page(*line.app);
    return static_cast<int>(kDone);
  };
}

}  // namespace polyweft::cli
