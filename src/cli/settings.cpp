#include "settings.h"

#include <toml++/toml.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "deadline.h"
#include "files.h"
#include "polyweft/target.h"
#include "suggest.h"

namespace polyweft::cli {
namespace {

constexpr auto kSettings = std::to_array<Setting>({
    {"budget", "POLYWEFT_BUDGET", "60s", "wall time of tune for one program"},
    {"color", "POLYWEFT_COLOR", "auto", "colours: auto, always or never"},
    {"database", "POLYWEFT_DATABASE", "", "schedule database; in a file, relative to the file's folder"},
    {"instructions", "POLYWEFT_INSTRUCTIONS", "",
     "folder of instruction files beside the known ones; in a file, relative to the file's folder"},
    {"numerics", "POLYWEFT_NUMERICS", "reassoc", "strict, contract or reassoc"},
    {"seeds", "POLYWEFT_SEEDS", "",
     "folder of schedules that tune begins with; in a file, relative to the file's folder"},
    {"target", "POLYWEFT_TARGET", "host", "a target's name or the path of a description"},
    {"threads", "POLYWEFT_THREADS", "1", "threads a kernel may use"},
    {"trials", "POLYWEFT_TRIALS", "", "at most this many measured candidates of tune"},
});

using Values = std::map<std::string, SettingValue>;

std::string known_names() {
  std::string out;
  for (const auto& setting : kSettings) out += (out.empty() ? "" : ", ") + std::string(setting.name);
  return out;
}

bool is_setting(std::string_view name) {
  return std::any_of(kSettings.begin(), kSettings.end(), [&](const Setting& s) { return name == s.name; });
}

std::string place(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line);
}

std::optional<std::string> as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  return std::nullopt;
}

std::string path_beside(const std::string& path, const std::string& value) {
  const std::filesystem::path given(value);
  return given.is_absolute() || value.empty() ? value : (std::filesystem::path(path).parent_path() / given).string();
}

Status take(const std::string& path, const toml::table& table, Values& values) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = place(path, node.source());
    if (!is_setting(name)) {
      std::vector<std::string> names;
      for (const auto& setting : kSettings) names.emplace_back(setting.name);
      return fail("PW0009", where + ": unknown setting '" + name + "'" + did_you_mean(name, names),
                  {"the settings are " + known_names()});
    }
    const auto text = as_text(node);
    if (!text)
      return fail("PW0009", where + ": " + name + " is neither a text nor an integer",
                  {"e.g. threads = 2, budget = \"60s\""});
    const bool is_path = name == "database" || name == "instructions" || name == "seeds";
    values[name] = {is_path ? path_beside(path, *text) : *text, where, false};
  }
  return Ok{};
}

Status take_file(const std::string& path, Values& values) {
  std::error_code problem;
  if (path.empty() || !exists(std::filesystem::symlink_status(path, problem))) return Ok{};
  auto text = read_file(path, kMostSettings);
  if (!text) return fail("PW0009", text.error().message, text.error().notes);
  try {
    return take(path, toml::parse(*text), values);
  } catch (const toml::parse_error& bad) {
    return fail("PW0009", place(path, bad.source()) + ": not TOML: " + std::string(bad.description()));
  }
}

void take_environment(Values& values) {
  for (const auto& setting : kSettings)
    if (const char* value = std::getenv(setting.environment); value && *value)
      values[setting.name] = {value, std::string("environment ") + setting.environment, false};
}

Error wrong_value(const std::string& name, const SettingValue& value, const std::string& problem) {
  return fail("PW0009", value.origin + ": " + name + " = '" + value.value + "': " + problem);
}

Status apply_one(CLI::Option& option, const std::string& name, const SettingValue& value) {
  if (name == "budget" && !parse_duration_or_zero("", value.value))
    return wrong_value(name, value, "expected a duration, e.g. 60s, 500ms or 5m");
  try {
    option.add_result(value.value);
    option.run_callback();
  } catch (const CLI::Error& problem) {
    return wrong_value(name, value, problem.what());
  }
  return Ok{};
}

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

std::string user_config_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config) return std::string(config) + "/polyweft/config.toml";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.config/polyweft/config.toml" : "";
}

Result<Values> load_settings() {
  Values values;
  for (const auto& setting : kSettings) values[setting.name] = {setting.fallback, "default", true};
  for (const std::string& path : {user_config_path(), std::string("./polyweft.toml")})
    if (auto taken = take_file(path, values); !taken) return taken.error();
  take_environment(values);
  return values;
}

Status check_setting(CLI::App& verb, const std::string& name, const SettingValue& value) {
  CLI::Option* option = value.is_default ? nullptr : verb.get_option_no_throw("--" + name);
  if (!option) return Ok{};
  if (auto applied = apply_one(*option, name, value); !applied) return applied;
  if (name != "target") return Ok{};
  const auto target = find_target(value.value);
  return target ? Status(Ok{}) : wrong_value(name, value, target.error().message);
}

Status apply_settings(CLI::App& verb) {
  auto values = load_settings();
  if (!values) return values.error();
  for (const auto& [name, value] : *values) {
    CLI::Option* option = value.is_default ? nullptr : verb.get_option_no_throw("--" + name);
    if (!option || option->count() > 0) continue;
    if (auto applied = apply_one(*option, name, value); !applied) return applied;
  }
  return Ok{};
}

}  // namespace polyweft::cli
