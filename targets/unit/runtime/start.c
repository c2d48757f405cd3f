/* The start of a program of kernels for a RISC-V CPU with a unit: serves the requests of program_requests.h until its
   input is closed. There is no C library: Linux is called as it is. Times of calls are cycles of the model. */
#include "targets/programs/program_requests.h"
#include "targets/unit/runtime/unit.h"
#include "targets/unit/runtime/unit_table.h"

typedef unsigned char byte;
typedef unsigned int u32;
typedef unsigned long wide; /* an address, too */

enum {
  kRead = 63,
  kWrite = 64,
  kExitGroup = 94,
  kSignalAction = 134,
  kProcessControl = 167,
  kUnmap = 215,
  kMap = 222,
  kProtect = 226
};
enum { kPage = 65536 }; /* the largest one that such systems have */

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

static void leave(int code) {
  system_call(kExitGroup, code, 0, 0, 0, 0, 0);
  for (;;) {
  }
}

void polyweft_unit_fault(const char* what) {
  wide length = 0;
  while (what[length] != 0) ++length;
  system_call(kWrite, 2, (long)what, (long)length, 0, 0, 0);
  system_call(kWrite, 2, (long)"\n", 1, 0, 0, 0);
  leave(134);
  for (;;) {
  }
}

void* memcpy(void* to, const void* from, wide bytes) {
  byte* t = to;
  const byte* f = from;
  while (bytes-- > 0) *t++ = *f++;
  return to;
}
void* memmove(void* to, const void* from, wide bytes) {
  byte* t = to;
  const byte* f = from;
  if ((wide)t - (wide)f >= bytes) return memcpy(to, from, bytes);
  while (bytes-- > 0) t[bytes] = f[bytes];
  return to;
}
void* memset(void* to, int value, wide bytes) {
  byte* t = to;
  while (bytes-- > 0) *t++ = (byte)value;
  return to;
}

static void read_all(void* to, wide bytes) {
  byte* at = to;
  while (bytes > 0) {
    const long n = system_call(kRead, 0, (long)at, (long)bytes, 0, 0, 0);
    if (n <= 0) leave(n == 0 ? 0 : 1);
    at += n, bytes -= (wide)n;
  }
}
static void write_all(const void* from, wide bytes) {
  const byte* at = from;
  while (bytes > 0) {
    const long n = system_call(kWrite, 1, (long)at, (long)bytes, 0, 0, 0);
    if (n <= 0) leave(1);
    at += n, bytes -= (wide)n;
  }
}
static u32 read_number(void) {
  u32 out;
  read_all(&out, sizeof out);
  return out;
}

struct frame {
  byte magic[4];
  unsigned short version, type;
  u32 bytes;
};
static const struct frame kAnswer = {{'P', 'W', 'F', '1'}, 1, 2, 0};

static void answer(const void* payload, u32 bytes) {
  struct frame head = kAnswer;
  head.bytes = bytes;
  write_all(&head, sizeof head);
  write_all(payload, bytes);
}

/* Zeroed pages; 0: there are none. */
enum { kNoAccess = 0, kReadAndWrite = 3 };
static wide map(wide at, wide bytes, int protection) {
  enum { kPrivateAnonymous = 0x22, kNowhereElse = 0x100000 };
  const long flags = at == 0 ? kPrivateAnonymous : kPrivateAnonymous | kNowhereElse;
  const wide made = (wide)system_call(kMap, (long)at, (long)bytes, protection, flags, -1, 0);
  return made % 4096 != 0 || (at != 0 && made != at) ? 0 : made;
}
static wide pages(wide bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/* Addresses of requests have 32 bits. */
static u32 reserve(u32 bytes) {
  static wide next = 0x20000000;
  const wide inner = pages(bytes), all = inner + 2 * kPage;
  for (int tries = 0; tries < 256 && next + all < 0xf0000000; ++tries) {
    const wide at = map(next, all, kNoAccess);
    next += all;
    if (at == 0) continue;
    if (system_call(kProtect, (long)(at + kPage), (long)inner, kReadAndWrite, 0, 0, 0) != 0) return 0;
    return (u32)(at + kPage);
  }
  return 0;
}

/* As many arguments as there may be: a callee takes those that it has, and the caller clears the stack. */
typedef int kernel(wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide,
                   wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide,
                   wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide,
                   wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide);

static int call_once(kernel* f, const u32* a) {
  return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
           a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31],
           a[32], a[33], a[34], a[35], a[36], a[37], a[38], a[39], a[40], a[41], a[42], a[43], a[44], a[45], a[46],
           a[47], a[48], a[49], a[50], a[51], a[52], a[53], a[54], a[55], a[56], a[57], a[58], a[59], a[60], a[61],
           a[62], a[63]);
}

static void call(u32 bytes) {
  u32 arguments[polyweft_most_arguments] = {0};
  const u32 function = read_number();
  u32 times = read_number();
  struct {
    int code;
    u32 ns[2];
  } out = {0, {0, 0}};
  if (bytes > sizeof arguments) leave(1);
  read_all(arguments, bytes);
  wide ns = 0;
  for (; times > 0 && out.code == 0; --times) {
    polyweft_unit_begin();
    out.code = call_once((kernel*)(wide)function, arguments);
    ns += polyweft_unit_cycles() * 1000 / (wide)polyweft_unit_table[unit_clock_mhz];
  }
  out.ns[0] = (u32)ns, out.ns[1] = (u32)(ns >> 32);
  answer(&out, sizeof out);
}

static void serve(void) {
  for (;;) {
    struct frame head;
    read_all(&head, sizeof head);
    if (head.bytes < 5) leave(1);
    byte what;
    read_all(&what, 1);
    const u32 first = what == polyweft_call ? 0 : read_number();
    if (what == polyweft_reserve) {
      const u32 at = reserve(first);
      answer(&at, sizeof at);
    } else if (what == polyweft_write) {
      read_all((void*)(wide)first, head.bytes - 5);
      answer(0, 0);
    } else if (what == polyweft_read) {
      answer((const void*)(wide)first, read_number());
    } else if (what == polyweft_call) {
      if (head.bytes < 9) leave(1);
      call(head.bytes - 9);
    } else {
      leave(1);
    }
  }
}

/* What Linux gives a handler: registers behind 176 bytes, the address of the instruction in the place of x0. */
enum { kRegisters = 176 };
static void on_illegal_instruction(int signal, void* info, byte* context) {
  (void)signal, (void)info;
  wide* registers = (wide*)(context + kRegisters);
  const u32 instruction = *(const unsigned short*)registers[0] | (u32)((const unsigned short*)registers[0])[1] << 16;
  wide values[32];
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
    wide flags, mask;
  } action = {on_illegal_instruction, kWithContext, 0};
  system_call(kSignalAction, kIllegalInstruction, (long)&action, 0, sizeof(wide), 0, 0);
}

/* Ends with whoever started it, also in the middle of a kernel. */
static void end_with_parent(void) {
  enum { kSetDeathSignal = 1, kKill = 9 };
  system_call(kProcessControl, kSetDeathSignal, kKill, 0, 0, 0, 0);
}

void polyweft_start(void) {
  end_with_parent();
  handle_commands();
  serve();
}
__asm__(
    ".globl _start\n_start:\n.option push\n.option norelax\nla gp, __global_pointer$\n.option pop\nandi sp, sp, "
    "-16\ncall polyweft_start\n");

/* The runtime that kernels call. Blocks are pages of their own: what is read or written behind the last one faults. */

void* halide_malloc(void* user, wide bytes) {
  enum { kHead = 128 };
  (void)user;
  const wide all = pages(bytes + 2 * kHead), at = map(0, all, kReadAndWrite);
  if (at == 0) return 0;
  *(wide*)at = all;
  return (void*)(at + kHead);
}
void halide_free(void* user, void* block) {
  enum { kHead = 128 };
  (void)user;
  if (!block) return;
  const wide at = (wide)block - kHead;
  system_call(kUnmap, (long)at, (long)*(wide*)at, 0, 0, 0, 0);
}

int halide_do_par_for(void* user, int (*task)(void*, int, byte*), int first, int count, byte* closure) {
  for (int k = 0; k < count; ++k) {
    const int code = task(user, first + k, closure);
    if (code != 0) return code;
  }
  return 0;
}
