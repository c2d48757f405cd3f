#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {

Verb add_targets(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  options->add_to(app);
  return [options] {
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
