#include "runner_filters.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "runner_control.h"
#include "support/limits.h"

namespace polyweft::runner {
namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

/// What neither the supervisor nor the constructors of an object that is being loaded ever need.
constexpr int kNeverNeeded[] = {SCMP_SYS(execve),
                                SCMP_SYS(execveat),
                                SCMP_SYS(socket),
                                SCMP_SYS(connect),
                                SCMP_SYS(bind),
                                SCMP_SYS(listen),
                                SCMP_SYS(accept),
                                SCMP_SYS(accept4),
                                SCMP_SYS(ptrace),
                                SCMP_SYS(process_vm_readv),
                                SCMP_SYS(process_vm_writev),
                                SCMP_SYS(io_uring_setup),
                                SCMP_SYS(io_uring_enter),
                                SCMP_SYS(io_uring_register),
                                SCMP_SYS(bpf),
                                SCMP_SYS(perf_event_open),
                                SCMP_SYS(userfaultfd),
                                SCMP_SYS(mount),
                                SCMP_SYS(umount2),
                                SCMP_SYS(unshare),
                                SCMP_SYS(setns),
                                SCMP_SYS(pivot_root),
                                SCMP_SYS(chroot),
                                SCMP_SYS(keyctl),
                                SCMP_SYS(add_key),
                                SCMP_SYS(request_key),
                                SCMP_SYS(init_module),
                                SCMP_SYS(finit_module),
                                SCMP_SYS(delete_module),
                                SCMP_SYS(kexec_load),
                                SCMP_SYS(reboot),
                                SCMP_SYS(open_by_handle_at),
                                SCMP_SYS(personality),
                                SCMP_SYS(setuid),
                                SCMP_SYS(setgid),
                                SCMP_SYS(setresuid),
                                SCMP_SYS(setresgid),
                                SCMP_SYS(capset),
                                SCMP_SYS(pidfd_getfd),
                                SCMP_SYS(quotactl),
                                SCMP_SYS(swapon),
                                SCMP_SYS(swapoff),
                                SCMP_SYS(settimeofday),
                                SCMP_SYS(clock_settime),
                                SCMP_SYS(acct),
                                SCMP_SYS(iopl),
                                SCMP_SYS(ioperm),
                                SCMP_SYS(shmat),
                                SCMP_SYS(shmget),
                                SCMP_SYS(msgget),
                                SCMP_SYS(semget),
                                SCMP_SYS(mq_open)};

constexpr int kAllowedToCandidates[] = {
    SCMP_SYS(futex),          SCMP_SYS(munmap),          SCMP_SYS(brk),         SCMP_SYS(madvise),
    SCMP_SYS(clock_gettime),  SCMP_SYS(gettimeofday),    SCMP_SYS(sched_yield), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),      SCMP_SYS(getpid),          SCMP_SYS(gettid),      SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(restart_syscall), SCMP_SYS(exit),        SCMP_SYS(exit_group)};

bool add_conditional_rules(scmp_filter_ctx filter) {
  const auto command = static_cast<scmp_datum_t>(kCommandDescriptor);
  bool added = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(read), 1, SCMP_A0(SCMP_CMP_EQ, command)) == 0;
  added &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, command)) == 0;
  const scmp_datum_t fixed = kBuiltWithSanitizer ? 0 : MAP_FIXED;  // a sanitizer's allocator maps at fixed places
  added &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                            SCMP_A3(SCMP_CMP_MASKED_EQ, fixed, 0)) == 0;
  added &=
      seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) == 0;
  added &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mremap), 1, SCMP_A3(SCMP_CMP_EQ, MREMAP_MAYMOVE)) == 0;
  // abort() raises a signal by these; refused, it ends at an illegal instruction, which is a crash and no escape.
  added &= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1, SCMP_A2(SCMP_CMP_EQ, SIGABRT)) == 0;
  added &=
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(rt_sigaction), 1, SCMP_A0(SCMP_CMP_EQ, SIGABRT)) == 0;
  // A kernel with tile instructions asks for the tile state: arch_prctl(ARCH_REQ_XCOMP_PERM, ...). Other uses of the
  // call stay closed.
  constexpr scmp_datum_t kRequestPermission = 0x1023;
  added &=
      seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(arch_prctl), 1, SCMP_A0(SCMP_CMP_EQ, kRequestPermission)) == 0;
  return added;
}

/// The compiled program of a filter, so that each candidate's process installs it with one system call.
std::vector<sock_filter> compiled(scmp_filter_ctx filter) {
  std::vector<sock_filter> program;
  const int fd = memfd_create("filter", MFD_CLOEXEC);
  if (fd < 0) return program;
  if (seccomp_export_bpf(filter, fd) == 0) {
    program.resize(static_cast<size_t>(lseek(fd, 0, SEEK_END)) / sizeof(sock_filter));
    const size_t bytes = program.size() * sizeof(sock_filter);
    if (pread(fd, program.data(), bytes, 0) != static_cast<ssize_t>(bytes)) program.clear();
  }
  close(fd);
  return program;
}

}  // namespace

bool restrict_supervisor_calls() {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!filter) return false;
  for (const int call : kNeverNeeded)
    if (seccomp_rule_add(filter.get(), SCMP_ACT_TRAP, call, 0) != 0) return false;
  return seccomp_load(filter.get()) == 0;
}

std::vector<sock_filter> candidate_program() {
  const Filter filter(seccomp_init(SCMP_ACT_TRAP), &seccomp_release);
  if (!filter) return {};
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRAP);
  for (const int call : kAllowedToCandidates)
    if (seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0) != 0) return {};
  return add_conditional_rules(filter.get()) ? compiled(filter.get()) : std::vector<sock_filter>{};
}

std::string system_call_name(int number) {
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string out = name ? name : "number " + std::to_string(number);
  free(name);
  return out;
}

}  // namespace polyweft::runner
