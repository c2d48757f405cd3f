// Stacks to switch between. x86-64 has a switch of its own, which saves what a call keeps; elsewhere it is the C
// library's.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(POLYWEFT_PORTABLE_FIBRES)
#define POLYWEFT_PORTABLE_FIBRES
#endif

#ifdef POLYWEFT_PORTABLE_FIBRES
#include <ucontext.h>
#else

// void polyweft_emulator_switch(void** from, void* to): keeps the stack pointer in *from and goes on at `to`.
// polyweft_emulator_start: where a new stack begins: r12(r13).
extern "C" void polyweft_emulator_switch(void** from, void* to);
extern "C" void polyweft_emulator_start();
#endif

namespace polyweft::emulator {

/// A stack of its own, or the one that switches to others.
class Fibre {
 public:
  /// On `bytes` of memory; switch_to() it calls run(of), which never returns.
  void begin(unsigned char* memory, size_t bytes, void (*run)(void*), void* of) {
#ifdef POLYWEFT_PORTABLE_FIBRES
    getcontext(&context_);
    context_.uc_stack.ss_sp = memory;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    const uintptr_t words[] = {reinterpret_cast<uintptr_t>(run), reinterpret_cast<uintptr_t>(of)};
    makecontext(&context_, reinterpret_cast<void (*)()>(start), 4, static_cast<int>(words[0] >> 32),
                static_cast<int>(words[0]), static_cast<int>(words[1] >> 32), static_cast<int>(words[1]));
#else
    constexpr size_t kSaved = 6, kR13 = 2, kR12 = 3;
    auto* top = reinterpret_cast<uintptr_t*>((reinterpret_cast<uintptr_t>(memory) + bytes) & ~uintptr_t{15});
    *--top = 0, *--top = 0;  // a call wants multiples of 16
    *--top = reinterpret_cast<uintptr_t>(polyweft_emulator_start);
    for (size_t k = 0; k < kSaved; ++k) *--top = 0;
    top[kR13] = reinterpret_cast<uintptr_t>(of);
    top[kR12] = reinterpret_cast<uintptr_t>(run);
    at_ = top;
#endif
  }
  void switch_to(Fibre& other) {
#ifdef POLYWEFT_PORTABLE_FIBRES
    swapcontext(&context_, &other.context_);
#else
    polyweft_emulator_switch(&at_, other.at_);
#endif
  }

 private:
#ifdef POLYWEFT_PORTABLE_FIBRES
  static void start(int run_high, int run_low, int of_high, int of_low) {
    const auto word = [](int high, int low) {
      return static_cast<uintptr_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low);
    };
    reinterpret_cast<void (*)(void*)>(word(run_high, run_low))(reinterpret_cast<void*>(word(of_high, of_low)));
  }
  ucontext_t context_;
#else
  void* at_ = nullptr;
#endif
};

}  // namespace polyweft::emulator
