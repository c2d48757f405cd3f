// Records: what the database keeps, as values. All text, no code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/program.h"
#include "polyweft/runner.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// Which kernel is asked for. Two tasks with equal TaskKey are served by the same record.
struct TaskKey {
  std::string program;  ///< 32 hex digits: key_of(canonical text)
  std::vector<int64_t> binding;
  NumericsClass cls = NumericsClass::reassoc;
  std::string target;  ///< fingerprint of the target: architecture, features, units; of searches in an emulator with ";
                       ///< emulated" behind it
  int abi = 1;
  int threads = 1;
  bool operator==(const TaskKey&) const = default;
  auto operator<=>(const TaskKey&) const = default;
};
/// The key of searches whose kernels ran in an emulator. Their times are expected, not measured: they are kept apart
/// from those of machines and answer for none.
PW_EXPORT TaskKey emulated(TaskKey key);
PW_EXPORT bool is_emulated(const TaskKey& key);
/// Its target's fingerprint, without the device or the emulator that stands behind it.
PW_EXPORT std::string fingerprint_in(const TaskKey& key);
enum class Verdict : uint8_t { not_checked = 0, proven = 1, refuted = 2, not_proven = 3 };
const char* name_of(Verdict verdict);
/// (program text, binding, class, LoopNest text, checker version, verdict): enough to prove again.
struct Certificate {
  Verdict verdict = Verdict::not_checked;
  int checker_version = 0;
  std::string isl_version;
  double check_ms = 0;  ///< of processor time
  bool operator==(const Certificate&) const = default;
};
/// One measured candidate. Failures are rows too.
struct Measurement {
  std::string nest_hash;
  RunStatus status = RunStatus::not_run;
  std::string detail;
  Timing timing;
  double predicted_ns = 0;
  std::string beside;    ///< nest hash of the kernel that `timing.ratio` refers to; empty: timed alone
  std::string strategy;  ///< "enumerate", "evolve", "replay"
  uint64_t seed = 0;
  std::string toolchain;  ///< "polyweft 0.1 llvm 22.1.8 isl 0.25"
  int64_t unix_time = 0;  ///< a label only
};
/// The winner of a task (or a candidate on its way there).
struct TuningRecord {
  int64_t id = 0;  ///< row number, 0 before it is stored
  TaskKey key;
  std::string canonical_text;  ///< compared in full on a hit
  std::string program_text;    ///< as written (for show and verify)
  std::string program_name;
  std::string trace_text;
  std::string nest_text;
  Certificate certificate;
  Measurement measurement;
  std::string origin = "local";
};
/// What all searches of a task have spent, also those that were interrupted: a larger limit goes on from here.
struct SearchEffort {
  double wall_s = 0;         ///< from the start of each search to its last trial
  int64_t trials = 0;        ///< candidates that were built and run, or failed
  double until = 0;          ///< greatest share of the roofline at which a search was told to end, and did
  std::string exhausted_by;  ///< the toolchain whose search had nothing left to try; empty: none
  bool operator==(const SearchEffort&) const = default;
};
/// What a miss says.
struct NearestRecord {
  int64_t id = 0;
  std::string differs_in;  ///< "binding", "class", "target", "threads"
  std::vector<int64_t> binding;
};

}  // namespace polyweft
#pragma GCC visibility pop
