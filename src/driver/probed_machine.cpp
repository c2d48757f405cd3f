#include "driver/probed_machine.h"

#include <sys/utsname.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "driver/code_thread.h"
#include "driver/compile_service.h"
#include "support/hash.h"

namespace polyweft {
namespace {

std::string name_of_host() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "";
}

std::optional<Machine> machine_of(const ProbedHost& host) {
  auto target = parse_target(host.figures, "the probe of " + host.name);
  return target ? std::optional(std::move(target->machine)) : std::nullopt;
}

/// What the database has; else measured and stored.
std::optional<ProbedHost> known_or_probed(const Target& target, Database& database, bool may_measure,
                                          const Stop& stop) {
  if (auto known = database.probed(host_of(target)); known && *known) return **known;
  if (!may_measure) return std::nullopt;
  CodeThread thread;  // seconds beside others, and no clock is looked at
  auto now = thread.run<ProbedHost>(stop, [target] { return probed_now(target); });
  if (!now) return std::nullopt;
  (void)database.set_probed(*now);
  return *now;
}

}  // namespace

std::string host_of(const Target& target) {
  return hex(blake2b_128(name_of_host() + "\n" + describe(target)));
}

Result<ProbedHost> probed_now(const Target& target) {
  auto machine = probe(target);
  if (!machine) return machine.error();
  Target measured = target;
  measured.machine = std::move(*machine);
  ProbedHost out;
  out.host = host_of(target);
  out.name = name_of_host();
  out.figures = describe(measured);
  out.toolchain = toolchain();
  out.unix_time = static_cast<int64_t>(std::time(nullptr));
  return out;
}

Machine with_probed_rates(Machine described, const Machine& probed) {
  const auto take = [](auto& ours, const auto& theirs) {
    if (theirs.origin == FigureOrigin::probed) ours = theirs;
  };
  take(described.clock_ghz, probed.clock_ghz);
  take(described.fork_join_ns, probed.fork_join_ns);
  take(described.units.multiply_adds_per_cycle, probed.units.multiply_adds_per_cycle);
  take(described.units.multiply_add_latency_cycles, probed.units.multiply_add_latency_cycles);
  take(described.units.loads_per_cycle, probed.units.loads_per_cycle);
  take(described.units.stores_per_cycle, probed.units.stores_per_cycle);
  take(described.memories.back().bytes_per_cycle, probed.memories.back().bytes_per_cycle);
  return described;
}

Machine machine_for_search(const Target& target, Database* database, const TuneOptions& options, const Stop& stop) {
  constexpr std::chrono::seconds kLongSearch{15};
  constexpr int kManyTrials = 20;
  if (!target.is_host || !database) return target.machine;
  const bool is_long = options.budget == TuneOptions::kNoLimit || options.budget >= kLongSearch;
  const auto host =
      known_or_probed(target, *database, is_long && (options.trials == 0 || options.trials >= kManyTrials), stop);
  const auto probed = host ? machine_of(*host) : std::nullopt;
  return probed ? with_probed_rates(target.machine, *probed) : target.machine;
}

}  // namespace polyweft
