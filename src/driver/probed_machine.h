// A host's machine as it was probed: measured once a host and target, kept in the database, used by searches alone.
#pragma once

#include "driver/stored.h"
#include "polyweft/database.h"
#include "polyweft/target.h"
#include "polyweft/tuner.h"
#include "support/stop.h"

namespace polyweft {

/// 32 hex digits: of the host's name and the target's description.
std::string host_of(const Target& target);
/// Measures this machine now, some 2 s.
Result<ProbedHost> probed_now(const Target& target);

/// What a search's model takes of a probe: the clock, rates and latencies of multiply-adds, loads and stores, rates of
/// memory beyond the caches, fork and join. Capacities, ways and look-aside buffers stay as described: rules choose
/// sizes by them, and the choices of a search must be those that are made without one.
Machine with_probed_rates(Machine described, const Machine& probed);

/// The target's machine for a search: with the rates that the database has of this host; measured and stored first
/// where it has none and the search is five times as long as that, by seconds and by trials. As described where nothing
/// was probed or can be kept, or where `stop` comes first.
Machine machine_for_search(const Target& target, Database* database, const TuneOptions& options, const Stop& stop = {});

}  // namespace polyweft
