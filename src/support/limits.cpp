#include "support/limits.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <new>
#include <vector>

namespace polyweft {
namespace {

struct NamedLimit {
  int resource;
  const char* name;
  uint64_t value;
};

Status set_limit(pid_t pid, const NamedLimit& limit) {
  rlimit old{};
  if (prlimit(pid, static_cast<__rlimit_resource>(limit.resource), nullptr, &old) != 0)
    return fail("PW0606", std::string("child process: cannot read limit ") + limit.name + ": " + std::strerror(errno));
  const rlim_t value = old.rlim_max == RLIM_INFINITY ? limit.value : std::min<rlim_t>(limit.value, old.rlim_max);
  const bool warned_first =
      limit.resource == RLIMIT_CPU && value < old.rlim_max;  // SIGXCPU at the soft limit, SIGKILL a second later
  const rlimit next{value, value + (warned_first ? 1 : 0)};
  if (prlimit(pid, static_cast<__rlimit_resource>(limit.resource), &next, nullptr) != 0)
    return fail("PW0606", std::string("child process: cannot set limit ") + limit.name + " to " +
                              std::to_string(value) + ": " + std::strerror(errno));
  return Ok{};
}

pid_t expected_parent = 0;  // read by a signal handler, which has no other way to get at it

extern "C" void leave_when_orphaned(int) {
  if (getppid() == expected_parent) return;
  kill(0, SIGKILL);
  _exit(1);
}

}  // namespace

Status apply_limits(pid_t pid, const ProcessLimits& limits) {
  const uint64_t file_bytes =
      kBuiltWithThreadSanitizer ? std::max<uint64_t>(limits.file_bytes, uint64_t{64} << 20) : limits.file_bytes;
  std::vector<NamedLimit> wanted{{RLIMIT_CORE, "core size", 0}, {RLIMIT_FSIZE, "file size", file_bytes}};
  if (limits.address_space_bytes != 0 && !kBuiltWithSanitizer)
    wanted.push_back({RLIMIT_AS, "address space", limits.address_space_bytes});
  if (limits.cpu_seconds != 0) wanted.push_back({RLIMIT_CPU, "cpu seconds", limits.cpu_seconds});
  if (limits.open_files != 0) wanted.push_back({RLIMIT_NOFILE, "open files", limits.open_files});
  if (limits.processes != 0) wanted.push_back({RLIMIT_NPROC, "processes", limits.processes});
  for (const auto& limit : wanted)
    if (Status done = set_limit(pid, limit); !done) return done;
  return Ok{};
}

void die_with_parent(pid_t parent) {
  expected_parent = parent;
  struct sigaction action {};
  action.sa_handler = leave_when_orphaned;
  action.sa_flags = SA_RESTART;
  sigaction(SIGHUP, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGHUP);
  if (getppid() != parent) leave_when_orphaned(SIGHUP);
}

const char* name_of(EndKind kind) {
  switch (kind) {
    case EndKind::running:
      return "running";
    case EndKind::exited:
      return "exited";
    case EndKind::signalled:
      return "signalled";
    case EndKind::timed_out:
      return "timed_out";
    case EndKind::out_of_memory:
      return "out_of_memory";
    case EndKind::forbidden_call:
      return "forbidden_call";
    case EndKind::protocol_error:
      return "protocol_error";
    case EndKind::stopped:
      return "stopped";
  }
  return "unknown";
}

std::string ChildEnd::text() const {
  switch (kind) {
    case EndKind::running:
      return "still running";
    case EndKind::exited:
      return "exited with code " + std::to_string(exit_code);
    case EndKind::signalled: {
      const char* name = sigabbrev_np(signal);
      return "killed by signal " + std::to_string(signal) + (name ? std::string(" (SIG") + name + ")" : "");
    }
    case EndKind::timed_out:
      return "did not answer before its deadline and was killed";
    case EndKind::out_of_memory:
      return "ran out of memory";
    case EndKind::forbidden_call:
      return "tried a forbidden system call" +
             (system_call >= 0 ? " (number " + std::to_string(system_call) + ")" : std::string());
    case EndKind::protocol_error:
      return "sent a malformed message and was killed";
    case EndKind::stopped:
      return "was stopped";
  }
  return "ended in an unknown way";
}

void exit_when_out_of_memory() {
  std::set_new_handler([] { _exit(kExitOutOfMemory); });
}

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

}  // namespace polyweft
