// Targets by name, as the backends have them, and descriptions in TOML.
#include "polyweft/target.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "ir/nests/instruction.h"
#include "ir/values/machine_figures.h"
#include "support/cpu_features.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/helper_path.h"
#include "targets/registry.h"
#include "targets/unit/commands.h"

namespace polyweft {
namespace {

Error malformed(const std::string& path, const std::string& what) {
  return fail("PW0511", path + ": " + what, {"see the descriptions in targets/descriptions for the form"});
}

std::string number_text(double value) {
  std::ostringstream out;
  out.precision(15);
  out << value;
  return out.str();
}

/// Which figures of a description are none: "clock_ghz", "cache_bytes[2]", or all of a list by its key.
using KeyNames = std::set<std::string>;
KeyNames names_in(const toml::table& table, const char* list) {
  KeyNames out;
  if (const auto* names = table[list].as_array())
    for (const auto& name : *names) out.insert(name.value_or(std::string()));
  return out;
}

struct DescribedOrigins {
  KeyNames assumed, probed;
  FigureOrigin of(const ir::FigureKey& key, size_t entry) const {
    const auto is_in = [&](const KeyNames& names) {
      return names.count(key.name) > 0 || names.count(ir::name_of_entry(key, entry)) > 0;
    };
    return is_in(probed) ? FigureOrigin::probed : is_in(assumed) ? FigureOrigin::assumed : FigureOrigin::described;
  }
};

/// A list or a single number; nothing where the key is not there.
Result<std::optional<std::vector<double>>> numbers_of(const std::string& path, const toml::table& table,
                                                      const ir::FigureKey& key) {
  using Numbers = std::optional<std::vector<double>>;
  if (!table.contains(key.name)) return Numbers();
  const std::string range =
      std::string(key.name) + " must lie between " + number_text(key.least) + " and " + number_text(key.most);
  const auto* list = table[key.name].as_array();
  if ((list != nullptr) != key.is_list)
    return malformed(path,
                     std::string(key.name) + (key.is_list ? " must be a list of numbers" : " must be one number"));
  std::vector<double> out;
  const auto add = [&](const toml::node& node) {
    out.push_back(node.value<double>().value_or(-1));
    return out.back() >= key.least && out.back() <= key.most;
  };
  if (!list) return add(*table.get(key.name)) ? Result<Numbers>(out) : malformed(path, range);
  for (const auto& node : *list)
    if (!add(node)) return malformed(path, range);
  return Numbers(out);
}

/// How many levels there are, before their figures are set.
Status set_levels(const std::string& path, const toml::table& table, Machine& machine) {
  constexpr size_t kMostLevels = 4;
  if (const auto* caches = table["cache_bytes"].as_array()) {
    if (caches->empty() || caches->size() > kMostLevels) return malformed(path, "cache_bytes must have 1 to 4 levels");
    machine.set_caches(std::vector<int64_t>(caches->size(), 0), FigureOrigin::described);
  }
  if (const auto* tlbs = table["tlb_pages"].as_array()) {
    const auto* misses = table["tlb_miss_cycles"].as_array();
    const size_t misses_given = misses ? misses->size() : machine.tlbs.size();
    if (tlbs->size() > kMostLevels || misses_given != tlbs->size())
      return malformed(path, "tlb_pages and tlb_miss_cycles must have as many figures each, at most 4");
    machine.tlbs.resize(tlbs->size());
  }
  return Ok{};
}

/// How many figures a list must have, and what they are of.
std::string wanted_figures(const ir::FigureKey& key, size_t count) {
  const std::string name = key.name;
  const bool is_of_tlbs = name.rfind("tlb_", 0) == 0,
             is_outer = name == "bytes_per_cycle" || name == "scattered_line_cycles";
  return name + " must have " + std::to_string(count) + (count == 1 ? " figure: " : " figures: ") +
         (is_of_tlbs ? "as many as tlb_pages"
          : is_outer ? "as many as cache_bytes, from the second cache on, then memory"
                     : "as many as cache_bytes");
}

/// The levels that are left out have no figure of their own.
bool may_be_short(const ir::FigureKey& key) {
  return std::string(key.name) == "scattered_line_cycles";
}

Status read_machine(const std::string& path, const toml::table& table, Machine& machine) {
  if (auto levels = set_levels(path, table, machine); !levels) return levels;
  const DescribedOrigins origins{names_in(table, "assumed"), names_in(table, "probed")};
  for (const ir::FigureKey& key : ir::figure_keys()) {
    const auto numbers = numbers_of(path, table, key);
    if (!numbers) return numbers.error();
    if (!*numbers) continue;
    const auto figures = key.figures(machine);
    if (!key.is_list && figures.empty())
      return malformed(path, std::string(key.name) + " is no figure of such a machine");
    if ((*numbers)->size() != figures.size() && !(may_be_short(key) && (*numbers)->size() < figures.size()))
      return malformed(path, wanted_figures(key, figures.size()));
    for (size_t entry = 0; entry < (*numbers)->size(); ++entry)
      ir::set_figure(figures[entry], (**numbers)[entry], origins.of(key, entry));
  }
  return Ok{};
}

/// A key that nobody reads is a mistake in its name.
Status has_known_keys(const std::string& path, const toml::table& table) {
  std::vector<std::string> known = {"architecture", "features", "commands", "assumed", "probed"};
  for (const ir::FigureKey& key : ir::figure_keys()) known.emplace_back(key.name);
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) == known.end())
      return malformed(path, "line " + std::to_string(key.source().begin.line) + ": there is no key '" + name + "'");
  }
  for (const char* list : {"assumed", "probed"})
    for (const std::string& name : names_in(table, list))
      if (std::find(known.begin(), known.end(), name.substr(0, name.find('['))) == known.end())
        return malformed(path, std::string(list) + ": there is no key '" + name + "'");
  return Ok{};
}

std::string list_of_units() {
  std::string out;
  for (const KnownUnit& unit : known_units()) out += (out.empty() ? "" : ", ") + unit.feature;
  return out;
}

constexpr std::string_view kUnitFeature = "unit-";  ///< how features of a unit begin

bool names_unit(const Target& target) {
  return std::any_of(target.features.begin(), target.features.end(),
                     [](const std::string& feature) { return feature.starts_with(kUnitFeature); });
}

/// Nothing is computed by a unit that no instruction file is for.
Status has_instruction(const std::string& path, const Target& target) {
  const auto units = known_units();
  const auto is_known = [&](const std::string& feature) {
    return std::any_of(units.begin(), units.end(), [&](const KnownUnit& unit) { return unit.feature == feature; });
  };
  for (const std::string& feature : target.features)
    if (feature.starts_with(kUnitFeature) && !is_known(feature))
      return fail("PW0511", path + ": features: there is no instruction of the unit '" + feature + "'",
                  {"known are " + list_of_units() + "; --instructions FOLDER adds files NAME.instruction"});
  return Ok{};
}

Result<Target> from_toml(const std::string& path, const toml::table& table) {
  if (auto known = has_known_keys(path, table); !known) return known.error();
  Target target;
  target.name = path;
  target.architecture = table["architecture"].value_or(std::string());
  if (target.architecture.empty()) return malformed(path, "it has no 'architecture': " + targets::architectures());
  const targets::Backend* backend = targets::backend_of(target.architecture);
  if (!backend)
    return malformed(path, "architecture '" + target.architecture +
                               "' is not one this version builds for; it builds for " + targets::architectures());
  const auto* features = table["features"].as_array();
  if (!features) return malformed(path, "it has no list 'features'");
  for (const auto& entry : *features) {
    const auto name = entry.value<std::string>();
    target.features.push_back(name.value_or("?"));
  }
  std::sort(target.features.begin(), target.features.end());
  if (const std::string problem = backend->derive(target); !problem.empty()) return malformed(path, problem);
  if (auto complete = has_instruction(path, target); !complete) return complete.error();
  if (const auto* commands = table["commands"].as_array())
    for (const auto& entry : *commands) target.machine.unit.commands.push_back(entry.value_or(std::string()));
  if (auto machine = read_machine(path, table, target.machine); !machine) return machine.error();
  if (target.machine.has_unit() && !names_unit(target))
    return malformed(path, "scratchpad_bytes: there is a unit, and features name none: " + list_of_units());
  if (!target.machine.unit.commands.empty())
    if (const auto commands = targets::unit_commands(target.machine); !commands)
      return malformed(path, commands.error().message);
  return target;
}

void put_names(std::ostringstream& out, const char* list, const std::vector<std::string>& names) {
  if (names.empty()) return;
  out << list << " = [";
  for (size_t i = 0; i < names.size(); ++i) out << (i ? ", " : "") << '"' << names[i] << '"';
  out << "]\n";
}

/// Of a list all at once where its figures are from one place.
void note_origins(const ir::FigureKey& key, const std::vector<ir::AnyFigure>& figures, FigureOrigin origin,
                  std::vector<std::string>& names) {
  const auto is_from = [&](const ir::AnyFigure& figure) { return ir::origin_of(figure) == origin; };
  if (!figures.empty() && std::all_of(figures.begin(), figures.end(), is_from))
    return names.emplace_back(key.name), void();
  for (size_t entry = 0; entry < figures.size(); ++entry)
    if (is_from(figures[entry])) names.push_back(ir::name_of_entry(key, entry));
}

void put_machine(std::ostringstream& out, Machine machine) {
  std::vector<std::string> assumed, probed;
  for (const ir::FigureKey& key : ir::figure_keys()) {
    const auto figures = key.figures(machine);
    if (figures.empty()) continue;  // of what the machine has not
    out << key.name << " = " << (key.is_list ? "[" : "");
    for (size_t entry = 0; entry < figures.size(); ++entry)
      out << (entry ? ", " : "") << number_text(ir::value_of(figures[entry]));
    out << (key.is_list ? "]" : "") << (*key.unit ? std::string("  # ") + key.unit : std::string()) << "\n";
    note_origins(key, figures, FigureOrigin::assumed, assumed);
    note_origins(key, figures, FigureOrigin::probed, probed);
  }
  put_names(out, "commands", machine.unit.commands);
  put_names(out, "assumed", assumed);
  put_names(out, "probed", probed);
}

/// 49152 is 48K, 1000 is 1000.
std::string text_of_bytes(int64_t bytes) {
  return bytes % 1024 == 0 ? std::to_string(bytes / 1024) + "K" : std::to_string(bytes);
}

/// Of the first two caches, which sizes of tiles are chosen for: "48K+2048K". What was probed may differ from day to
/// day, and is no part of a key.
std::string caches_of_key(const Machine& machine) {
  constexpr size_t kCaches = 2;
  std::string out;
  for (size_t cache = 0; cache < std::min(kCaches, machine.caches()); ++cache) {
    const Figure<int64_t>& bytes = machine.memories[cache].bytes;
    out += (cache ? "+" : "") + (bytes.origin == FigureOrigin::probed ? std::string("?") : text_of_bytes(bytes.value));
  }
  return out;
}

/// Threads and shared bytes of a block: "/1024x48K".
std::string limits_of_key(const Machine& machine) {
  if (!machine.has_grid()) return {};
  return "/" + std::to_string(machine.grid.block_threads.value) + "x" +
         text_of_bytes(machine.grid.block_shared_bytes.value);
}

/// Of a unit, figures and commands: what code for it may say, and which is best. "/unit-" and 8 hex digits.
std::string unit_of_key(const Machine& machine) {
  if (!machine.has_unit()) return {};
  Target alone;
  alone.machine.unit = machine.unit;
  return "/unit-" + hex(blake2b_128(describe(alone))).substr(0, 8);
}

}  // namespace

std::string fingerprint(const Target& target) {
  std::string out = target.architecture + "/" + std::to_string(target.machine.units.vector_bits) + "/" +
                    caches_of_key(target.machine) + limits_of_key(target.machine) + unit_of_key(target.machine);
  for (const auto& feature : target.features) out += "," + feature;
  return out;
}

std::vector<std::string> target_names() {
  std::vector<std::string> out = {"host"};
  for (const targets::Backend* backend : targets::backends())
    for (const auto& name : backend->target_names()) out.push_back(name);
  return out;
}

Status hold_host(const std::string& level) {
  return hold_cpu(level);
}

namespace {

Error unknown_target(const std::string& name) {
  std::string known;
  for (const auto& other : target_names()) known += other + ", ";
  for (const targets::Backend* backend : targets::backends())
    for (const auto& other : backend->attached_names()) known += other + ", ";
  for (const auto& other : description_names()) known += other + ", ";
  return fail("PW0510", "target '" + name + "' is unknown and no such file can be read",
              {"known: " + known + "or the path of a description"});
}

/// A name that targets::is_target_name knows.
Result<Target> named_target(const std::string& name) {
  const auto is_among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const targets::Backend* backend : targets::backends()) {
    if (is_among(backend->target_names())) return backend->named(name);
    if (is_among(backend->attached_names())) return backend->attached(name);
  }
  return targets::host_of(targets::backends());
}

}  // namespace

Result<Target> find_target(const std::string& name) {
  if (targets::is_target_name(name)) return named_target(name);
  const auto descriptions = description_names();
  const bool is_installed = std::binary_search(descriptions.begin(), descriptions.end(), name);
  const std::string path = is_installed ? shared_data("descriptions") + "/" + name + ".toml" : name;
  if (!is_there(path)) return unknown_target(name);
  auto text = read_regular_file(path, kMostSettingsBytes, "PW0511");
  return text ? parse_target(*text, name) : text.error();
}

std::vector<std::string> description_names() {
  std::vector<std::string> out;
  std::error_code problem;
  const std::filesystem::path folder = shared_data("descriptions");
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    if (at->path().extension() == ".toml" && !targets::is_target_name(at->path().stem()))
      out.push_back(at->path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

Result<Target> target_of_fingerprint(const std::string& wanted) {
  for (const auto& names : {target_names(), description_names()})
    for (const std::string& name : names)
      if (auto target = find_target(name); target && fingerprint(*target) == wanted) return target;
  return fail("PW0540", "no target that has a name here is " + wanted, {"give its description with --target"});
}

std::vector<KnownUnit> known_units() {
  std::vector<KnownUnit> out;
  for (const ir::Instruction& instruction : ir::known_instructions())
    if (instruction.is_of_unit())
      for (const auto& set : instruction.needs)
        for (const std::string& feature : set)
          out.push_back({feature, instruction.name, ir::product_text(instruction), instruction.file});
  std::sort(out.begin(), out.end(), [](const KnownUnit& a, const KnownUnit& b) {
    return std::tie(a.feature, a.instruction) < std::tie(b.feature, b.instruction);
  });
  return out;
}

Status add_instructions(const std::string& folder) {
  return ir::add_instructions(folder);
}

Result<Target> parse_target(const std::string& text, const std::string& name) {
  try {
    return from_toml(name, toml::parse(text));
  } catch (const toml::parse_error& problem) {
    return malformed(name, std::string(problem.description()));
  }
}

Result<Machine> probe(const Target& target) {
  const auto backend = targets::backend_for(target);
  return backend ? (*backend)->probe(target) : Result<Machine>(backend.error());
}

std::string describe(const Target& target) {
  std::ostringstream out;
  out << "architecture = \"" << target.architecture << "\"\nfeatures = [";
  for (size_t i = 0; i < target.features.size(); ++i) out << (i ? ", " : "") << '"' << target.features[i] << '"';
  out << "]\n";
  put_machine(out, target.machine);
  return out.str();
}

}  // namespace polyweft
