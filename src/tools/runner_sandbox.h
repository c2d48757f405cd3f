// The walls around candidates. Two stages: the supervisor gives up files, network, exec and tracing for itself and all
// its children before the first object is loaded; each candidate's process then gives up everything but a dozen system
// calls before its kernel runs. RELIABILITY.md section 2.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/result.h"

namespace polyweft::runner {

struct SandboxReport {
  int landlock_abi = 0;
  bool seccomp = false;
  std::string weaker;  ///< "" or what is missing
};

class Sandbox {
 public:
  /// Locks the calling process (single-threaded, the supervisor) with stage one and prepares the filter of stage two.
  static Sandbox lock_supervisor();
  /// The same for a supervisor that starts a device's helper, now or again later: what candidates' processes have
  /// beside stage two, the supervisor has not.
  static Sandbox beside_device();
  const SandboxReport& report() const { return report_; }

  /// Stage two for the calling process and all its threads. Children of the supervisor only.
  Status lock_candidate() const;

 private:
  SandboxReport report_;
  bool locks_children_ = false;  ///< stage one is theirs alone
  std::vector<sock_filter> candidate_filter_;
};

}  // namespace polyweft::runner
