// Which stored nests may run here: those that this host has proven, and can tell so by a MAC of its own secret, or that
// this process proves now.
//
// A row's digest has no key: whoever can write the file can write digests that fit. So a stored verdict counts for
// nothing by itself. What a host has proven it attests in a row of its own (record, host, checker's version, MAC over
// the record), and that row counts for this host alone.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "driver/isl_client.h"
#include "driver/stored.h"
#include "driver/task.h"
#include "poly/check/checker.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// A record and its nest, proven by this host.
struct Served {
  TuningRecord record;
  LoopNest nest;
};

class Trust {
 public:
  struct Options {
    std::string secret;  ///< path of this host's secret; empty: none
    std::function<void(const std::string&)> notice;
    int checker_version = poly::kCheckerVersion;  ///< what another one has attested is proven again
  };
  /// Both must outlive it.
  Trust(Options options, IslClient& isl, Stored& stored) : options_(std::move(options)), isl_(isl), stored_(stored) {}

  /// The task's fastest record. None where there is no record, or its nest cannot be proven here, which is said; PW0720
  /// where it is refuted.
  Result<std::optional<Served>> best(const Task& task);
  /// The same; where there is none, the fastest that a search in an emulator has left. For who builds, not for who
  /// measures.
  Result<std::optional<Served>> best_or_expected(const Task& task);
  /// The nest of a record of this task. A hit with a valid attestation costs one row and a hash, no isl; otherwise the
  /// nest is proven again, and attested. PW0720 where the nest is refuted or none, PW0721 where it cannot be proven
  /// here.
  Result<LoopNest> nest_of(const Task& task, const TuningRecord& record);
  /// Proves again whatever is attested, and attests.
  Result<Certificate> prove(const Task& task, const TuningRecord& record);
  /// The checker has proven this record's nest in this process: it counts here, and is attested where the record is
  /// stored.
  void vouch(const TuningRecord& record);
  Standing standing(const TuningRecord& record);

 private:
  Result<std::optional<Served>> served(const Task& task, std::optional<TuningRecord> record);
  /// PW0722 where there is none.
  Result<std::string> secret();
  Result<Attestation> attestation_of(const TuningRecord& record, int checker_version);
  /// Empty: attested; else why not.
  std::string attest(const TuningRecord& record);
  void say(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }

  Options options_;
  IslClient& isl_;
  Stored& stored_;
  std::optional<Result<std::string>> secret_;  ///< read at the first use
  std::set<std::string> proven_;               ///< digests of records that this process has proven
};

}  // namespace polyweft
