// What a child process may use, and how a child ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "polyweft/result.h"

namespace polyweft {

/// Whether this build carries a sanitizer, whose shadow memory takes terabytes of addresses at fixed places.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kBuiltWithSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kBuiltWithSanitizer = true;
#else
inline constexpr bool kBuiltWithSanitizer = false;
#endif
#else
inline constexpr bool kBuiltWithSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kBuiltWithThreadSanitizer = true;
#else
inline constexpr bool kBuiltWithThreadSanitizer = false;
#endif

/// Zero means "no limit of ours" for every field except core and file sizes, which are always limited to what they say.
struct ProcessLimits {
  uint64_t address_space_bytes = 0;  ///< RLIMIT_AS; ignored in sanitizer builds
  uint64_t cpu_seconds = 0;          ///< RLIMIT_CPU: a backstop; the wall deadline of a call is the real one
  uint64_t file_bytes = 0;           ///< RLIMIT_FSIZE: what the child may write into files; at least 64 MiB under
                                     ///< ThreadSanitizer, which starts by writing one
  uint64_t open_files = 64;          ///< RLIMIT_NOFILE
  uint64_t processes = 0;            ///< RLIMIT_NPROC; does not bind root, a backstop only
};

/// Sets the limits of the calling process (pid 0) or of a child. PW0606 names the first limit that was refused.
Status apply_limits(pid_t pid, const ProcessLimits& limits);

/// For the start of a child's main(): when the process `parent` (normally getppid() at start) is gone, ends this whole
/// process group. Survives that the parent's *thread* which spawned us ends, where a plain PR_SET_PDEATHSIG SIGKILL
/// would hit a child in use.
void die_with_parent(pid_t parent);

/// How a child ended. Frozen: append only.
enum class EndKind : uint8_t {
  running = 0,
  exited = 1,          ///< by itself, with exit_code
  signalled = 2,       ///< by `signal`, not sent by us
  timed_out = 3,       ///< killed by us after the deadline
  out_of_memory = 4,   ///< said so (kExitOutOfMemory) or was killed by the kernel
  forbidden_call = 5,  ///< SIGSYS: the sandbox stopped system call number `system_call` (-1: unknown)
  protocol_error = 6,  ///< killed by us after a malformed message
  stopped = 7,         ///< killed by us on request
};
const char* name_of(EndKind kind);

/// Exit code by which a helper of ours says "out of memory".
inline constexpr int kExitOutOfMemory = 74;

struct ChildEnd {
  EndKind kind = EndKind::running;
  int exit_code = 0;
  int signal = 0;
  int system_call = -1;
  std::string standard_error;  ///< the last 4 KiB, where it was captured
  /// "killed by signal 11 (segmentation fault)"; one line, without the captured text.
  std::string text() const;
};

/// For the start of a child's main(): a failed operator new ends the process with kExitOutOfMemory.
void exit_when_out_of_memory();
/// Blocks of any size come from one heap that stays as it is: a process whose messages have megabytes would get fresh
/// pages for each of them, which cost more than the copy.
void keep_freed_memory();

}  // namespace polyweft
