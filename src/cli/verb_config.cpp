#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "app.h"
#include "settings.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

// `tune` takes all of them.
int report_wrong_values(const std::map<std::string, SettingValue>& values, const OutputOptions& options) {
  const CommandLine line = make_command_line();
  CLI::App& tune = *line.app->get_subcommand("tune");
  int worst = kDone;
  for (const auto& [name, value] : values)
    if (auto right = check_setting(tune, name, value); !right) worst = std::max(worst, report(right.error(), options));
  return worst;
}

int print_settings(const OutputOptions& options) {
  auto values = load_settings();
  if (!values) return report(values.error(), options);
  (*values)["database"].value = (*values)["database"].is_default ? default_database() : (*values)["database"].value;
  for (const auto& [name, value] : *values) {
    if (options.json)
      print_json("config", {{"event", "setting"}, {"name", name}, {"value", value.value}, {"origin", value.origin}});
    else
      std::cout << fmt::format("{:<10} = {:<32} # {}\n", name, "\"" + printable(value.value) + "\"",
                               printable(value.origin));
  }
  if (!options.json)
    std::cout << fmt::format("# flag > environment > ./polyweft.toml > {}\n", printable(user_config_path()));
  return report_wrong_values(*values, options);
}

}  // namespace

Verb add_config(CLI::App& app) {
  auto options = std::make_shared<OutputOptions>();
  app.add_flag("--json", options->json, "JSON Lines on standard output");
  return [options] { return print_settings(*options); };
}

}  // namespace polyweft::cli
