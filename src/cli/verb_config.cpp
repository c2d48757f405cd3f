#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "settings.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

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
  return kDone;
}

}  // namespace

Verb add_config(CLI::App& app) {
  auto options = std::make_shared<OutputOptions>();
  app.add_flag("--json", options->json, "JSON Lines on standard output");
  return [options] { return print_settings(*options); };
}

}  // namespace polyweft::cli
