#include "runner_sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runner_filters.h"
#include "support/limits.h"

namespace polyweft::runner {
namespace {

// Debian 12's header knows Landlock ABI 2; these are the fields of ABI 4 (network) and 6 (scopes) of the kernel's
// documentation.
struct LandlockRules {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};
constexpr uint64_t kNetworkBindAndConnect = 3;
constexpr uint64_t kScopeAbstractSocketsAndSignals = 3;

uint64_t file_rights(int abi) {
  if (abi >= 5) return (uint64_t{1} << 16) - 1;
  if (abi >= 3) return (uint64_t{1} << 15) - 1;
  if (abi == 2) return (uint64_t{1} << 14) - 1;
  return (uint64_t{1} << 13) - 1;
}

size_t rules_size(int abi) {
  return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

/// No file, no TCP, no signal to the outside. Returns the ABI in force, 0 for none.
int restrict_with_landlock() {
  const auto abi = static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  if (abi <= 0) return 0;
  const LandlockRules rules{file_rights(abi), kNetworkBindAndConnect, kScopeAbstractSocketsAndSignals};
  const auto fd = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, rules_size(abi), 0));
  if (fd < 0) return 0;
  const bool restricted = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
  close(fd);
  return restricted ? abi : 0;
}

void note(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : "; ") + item;
}

}  // namespace

Sandbox Sandbox::beside_device() {
  Sandbox sandbox;
  sandbox.candidate_filter_ = candidate_program();
  sandbox.locks_children_ = true;
  sandbox.report_.seccomp = !kBuiltWithThreadSanitizer && !sandbox.candidate_filter_.empty();
  note(sandbox.report_.weaker,
       "kernels on a device run in its helper process, beside the driver, without walls; the supervisor may start it");
  return sandbox;
}

Sandbox Sandbox::lock_supervisor() {
  Sandbox sandbox;
  SandboxReport& report = sandbox.report_;
  sandbox.candidate_filter_ = candidate_program();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  report.landlock_abi = restrict_with_landlock();
  // ThreadSanitizer's runtime sleeps, forks and maps on its own behalf: under a filter it would die, not the kernel
  // that it watches.
  report.seccomp = !kBuiltWithThreadSanitizer && !sandbox.candidate_filter_.empty() && restrict_supervisor_calls();
  if (report.landlock_abi == 0)
    note(report.weaker, "this kernel has no Landlock: files are guarded by the system call filter alone");
  else if (report.landlock_abi < 4)
    note(report.weaker, "Landlock ABI " + std::to_string(report.landlock_abi) +
                            " does not know the network: it is guarded by the system call filter alone");
  if (!report.seccomp) note(report.weaker, "this kernel has no system call filter");
  return sandbox;
}

Status Sandbox::lock_candidate() const {
  if (locks_children_) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    restrict_with_landlock();
  }
  if (!report_.seccomp) return Ok{};
  const sock_fprog program{static_cast<unsigned short>(candidate_filter_.size()),
                           const_cast<sock_filter*>(candidate_filter_.data())};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    return fail("PW0608", std::string("runner: cannot install the system call filter: ") + std::strerror(errno));
  return Ok{};
}

}  // namespace polyweft::runner
