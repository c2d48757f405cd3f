/* The start of a program of kernels for a RISC-V CPU with a unit. Times of calls are cycles of the model. */
#include "targets/programs/runtime/serve.h"
#include "targets/unit/runtime/unit.h"
#include "targets/unit/runtime/unit_table.h"

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e;
  register long a5 __asm__("a5") = f;
  register long a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
  return a0;
}

void polyweft_unit_fault(const char* what) {
  address length = 0;
  while (what[length] != 0) ++length;
  system_call(kWrite, 2, (long)what, (long)length, 0, 0, 0);
  system_call(kWrite, 2, (long)"\n", 1, 0, 0, 0);
  leave(134);
  for (;;) {
  }
}

void* memcpy(void* to, const void* from, address bytes) {
  byte* t = to;
  const byte* f = from;
  while (bytes-- > 0) *t++ = *f++;
  return to;
}
void* memmove(void* to, const void* from, address bytes) {
  byte* t = to;
  const byte* f = from;
  if ((address)t - (address)f >= bytes) return memcpy(to, from, bytes);
  while (bytes-- > 0) t[bytes] = f[bytes];
  return to;
}
void* memset(void* to, int value, address bytes) {
  byte* t = to;
  while (bytes-- > 0) *t++ = (byte)value;
  return to;
}

static u32 times_are_counted(void) {
  return 1;
}
static void begin_call(void) {
  polyweft_unit_begin();
}
static u64 end_call(void) {
  return polyweft_unit_cycles() * 1000 / (u64)polyweft_unit_table[unit_clock_mhz];
}

/* What Linux gives a handler: registers behind 176 bytes, the address of the instruction in the place of x0. */
enum { kRegisters = 176 };
static void on_illegal_instruction(int signal, void* info, byte* context) {
  (void)signal, (void)info;
  address* registers = (address*)(context + kRegisters);
  const u32 instruction = *(const unsigned short*)registers[0] | (u32)((const unsigned short*)registers[0])[1] << 16;
  address values[32];
  for (int k = 1; k < 32; ++k) values[k] = registers[k];
  values[0] = 0;
  if (!polyweft_unit_executes(instruction, values))
    polyweft_unit_fault("an instruction that neither the CPU nor the unit has");
  registers[0] += 4;
}

static void handle_commands(void) {
  enum { kIllegalInstruction = 4, kWithContext = 4 };
  const struct {
    void (*handler)(int, void*, byte*);
    address flags, mask;
  } action = {on_illegal_instruction, kWithContext, 0};
  system_call(kSignalAction, kIllegalInstruction, (long)&action, 0, sizeof(address), 0, 0);
}

void polyweft_start(void) {
  handle_commands();
  serve();
}
__asm__(
    ".globl _start\n_start:\n.option push\n.option norelax\nla gp, __global_pointer$\n.option pop\nandi sp, sp, "
    "-16\ncall polyweft_start\n");
