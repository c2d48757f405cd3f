#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {

namespace {

struct TargetsCommand : CommonOptions {
  std::string name;
};

// A description: edited, it is the --target of another machine.
int print_description(const TargetsCommand& command) {
  auto target = find_target(command.name);
  if (!target) return report(target.error(), command);
  if (command.json)
    print_json("targets", {{"event", "description"}, {"name", command.name}, {"fingerprint", fingerprint(*target)}, {"text", describe(*target)}});
  else
    std::cout << describe(*target);
  return kDone;
}

}  // namespace

Verb add_targets(CLI::App& app) {
  auto options = std::make_shared<TargetsCommand>();
  options->add_to(app);
  app.add_option("NAME", options->name, "Print the description of this target, in the form that --target FILE reads");
  return [options] {
    if (!options->name.empty()) return print_description(*options);
    for (const auto& name : target_names()) {
      auto target = find_target(name);
      if (!target) return report(target.error(), *options);
      if (options->json)
        print_json("targets", {{"event", "target"},
                               {"name", name},
                               {"fingerprint", fingerprint(*target)},
                               {"vector_bits", target->vector_bits},
                               {"vector_registers", target->vector_registers},
                               {"cache_bytes", target->cache_bytes},
                               {"bytes_per_cycle", target->bytes_per_cycle},
                               {"cores", target->cores},
                               {"runs_here", target->is_host}});
      else
        std::cout << fmt::format("{:<12}{:>4}-bit vectors, {} registers   {}   {}\n", name, target->vector_bits, target->vector_registers,
                                 target->is_host ? "runs here" : "builds only", fingerprint(*target));
    }
    return static_cast<int>(kDone);
  };
}

}  // namespace polyweft::cli
