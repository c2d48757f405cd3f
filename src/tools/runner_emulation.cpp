#include "runner_emulation.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

namespace polyweft::runner {
namespace {

/// ELF's number of the machine that a program is made for; EM_NONE where it cannot be read.
int machine_of(const char* program) {
  const int file = open(program, O_RDONLY | O_CLOEXEC);
  ElfW(Ehdr) header{};
  const bool is_read = file >= 0 && read(file, &header, sizeof header) == static_cast<ssize_t>(sizeof header);
  if (file >= 0) close(file);
  return is_read ? header.e_machine : EM_NONE;
}

#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr int kOwnMachine = EM_RISCV;
#else
#error "name this machine"
#endif

}  // namespace

// Emulators answer for /proc/self themselves; qemu-user 7.2 does so for no other name of it.
bool runs_in_emulator() {
  const int machine = machine_of("/proc/thread-self/exe");
  return machine != EM_NONE && machine != kOwnMachine;
}

}  // namespace polyweft::runner
