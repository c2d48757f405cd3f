// Settings: values of options that come from elsewhere. Flag > environment > ./polyweft.toml > the user's file >
// default.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <span>
#include <string>

#include "polyweft/result.h"

namespace polyweft::cli {

struct Setting {
  const char* name;  ///< key in files; the option is --name
  const char* environment;
  const char* fallback;
  const char* help;
};
/// Sorted by name.
std::span<const Setting> settings();

/// A value and where it was found.
struct SettingValue {
  std::string value;
  std::string origin;  ///< "environment POLYWEFT_THREADS", "./polyweft.toml:3", "default"
  bool is_default = true;
};
/// All settings by name. PW0009 with file and line for a malformed file, an unknown key, a value of the wrong type.
Result<std::map<std::string, SettingValue>> load_settings();
/// Gives the options of the parsed verb that stand in no flag their settings. PW0009 where an option refuses its value.
Status apply_settings(CLI::App& verb);
/// PW0009 where an option of `verb` refuses the value that a setting has.
Status check_setting(CLI::App& verb, const std::string& name, const SettingValue& value);
/// $XDG_CONFIG_HOME/polyweft/config.toml, else ~/.config/polyweft/config.toml; empty where neither is known.
std::string user_config_path();

}  // namespace polyweft::cli
