#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {

namespace {

struct TargetsCommand : CommonOptions {
  std::string name;
  bool probe = false;
};

nlohmann::json to_json(const std::vector<NamedFigure>& all) {
  nlohmann::json out = nlohmann::json::array();
  for (const NamedFigure& figure : all)
    out.push_back(
        {{"key", figure.key}, {"value", figure.value}, {"unit", figure.unit}, {"origin", name_of(figure.origin)}});
  return out;
}

// A description: edited, it is the --target of another machine.
int print_description(const Target& target, const TargetsCommand& command) {
  if (command.json)
    print_json("targets", {{"event", "description"},
                           {"name", target.name},
                           {"fingerprint", fingerprint(target)},
                           {"figures", to_json(figures(target.machine))},
                           {"text", describe(target)}});
  else
    std::cout << describe(target);
  return kDone;
}

int describe_one(const TargetsCommand& command) {
  auto target = find_target(command.name.empty() ? "host" : command.name);
  if (!target) return report(target.error(), command);
  if (command.probe) {
    auto machine = probe(*target);
    if (!machine) return report(machine.error(), command);
    target->machine = std::move(*machine);
  }
  return print_description(*target, command);
}

void print_line(const Target& target, const TargetsCommand& command) {
  const Machine& machine = target.machine;
  if (!command.json) {
    std::cout << fmt::format("{:<17}{:>4}-bit vectors, {} registers   {}   {}\n", target.name,
                             machine.units.vector_bits, machine.units.vector_registers,
                             target.is_host ? "runs here" : "builds only", fingerprint(target));
    return;
  }
  std::vector<int64_t> cache_bytes;
  std::vector<double> bytes_per_cycle;
  for (size_t level = 0; level < machine.memories.size(); ++level) {
    if (level < machine.caches()) cache_bytes.push_back(machine.memories[level].bytes.value);
    if (level > 0) bytes_per_cycle.push_back(machine.memories[level].bytes_per_cycle.value);
  }
  print_json("targets", {{"event", "target"},
                         {"name", target.name},
                         {"fingerprint", fingerprint(target)},
                         {"vector_bits", machine.units.vector_bits},
                         {"vector_registers", machine.units.vector_registers},
                         {"cache_bytes", cache_bytes},
                         {"bytes_per_cycle", bytes_per_cycle},
                         {"cores", machine.cores()},
                         {"figures", to_json(figures(machine))},
                         {"runs_here", target.is_host}});
}

void print_units(const TargetsCommand& command) {
  if (!command.json) std::cout << "\nunits that descriptions may name in `features`:\n";
  for (const KnownUnit& unit : known_units()) {
    if (command.json)
      print_json("targets", {{"event", "unit"},
                             {"feature", unit.feature},
                             {"instruction", unit.instruction},
                             {"product", unit.text},
                             {"file", unit.file}});
    else
      std::cout << fmt::format("{:<21}{}{}\n", printable(unit.feature), printable(unit.text),
                               unit.file.empty() ? "" : "   " + printable(unit.file));
  }
}

}  // namespace

Verb add_targets(CLI::App& app) {
  auto options = std::make_shared<TargetsCommand>();
  options->add_to(app);
  app.add_option("NAME", options->name, "Print the description of this target, in the form that --target FILE reads");
  app.add_flag("--probe", options->probe,
               "Measure what can be measured of it on this machine, in some 2 s, and print that");
  return [options] {
    if (!options->name.empty() || options->probe) return describe_one(*options);
    for (const auto& names : {target_names(), description_names()})
      for (const auto& name : names) {
        auto target = find_target(name);
        if (!target) return report(target.error(), *options);
        print_line(*target, *options);
      }
    print_units(*options);
    return static_cast<int>(kDone);
  };
}

}  // namespace polyweft::cli
