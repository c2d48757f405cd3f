/* What programs of kernels share: they serve the requests of program_requests.h until their input is closed. There is
   no C library: Linux is called as it is, by the numbers that all newer architectures have. Included by the one file of
   a program's start, which defines what machines differ in. */
#ifndef POLYWEFT_SERVE_H
#define POLYWEFT_SERVE_H

#include "targets/programs/program_requests.h"

typedef unsigned char byte;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned long address; /* of 32 or 64 bits */

static long system_call(long number, long a, long b, long c, long d, long e, long f);
/* Around each call of a kernel; the second gives its time in ns. */
static void begin_call(void);
static u64 end_call(void);
/* 1 where these times are counts, the same each time; else 0. */
static u32 times_are_counted(void);

enum {
  kRead = 63,
  kWrite = 64,
  kExitGroup = 94,
  kSignalAction = 134,
  kProcessControl = 167,
  kUnmap = 215,
  kMap = 222,
  kProtect = 226,
  kClockGetTime64 = 403 /* of 32-bit machines, with seconds of 64 bits */
};
enum { kPage = 65536 }; /* the largest one that such systems have */

static void leave(int code) {
  system_call(kExitGroup, code, 0, 0, 0, 0, 0);
  for (;;) {
  }
}

static void read_all(void* to, address bytes) {
  byte* at = to;
  while (bytes > 0) {
    const long n = system_call(kRead, 0, (long)at, (long)bytes, 0, 0, 0);
    if (n <= 0) leave(n == 0 ? 0 : 1);
    at += n, bytes -= (address)n;
  }
}
static void write_all(const void* from, address bytes) {
  const byte* at = from;
  while (bytes > 0) {
    const long n = system_call(kWrite, 1, (long)at, (long)bytes, 0, 0, 0);
    if (n <= 0) leave(1);
    at += n, bytes -= (address)n;
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

static void answer(const void* payload, u32 bytes) {
  const struct frame head = {{'P', 'W', 'F', '1'}, 1, 2, bytes};
  write_all(&head, sizeof head);
  write_all(payload, bytes);
}

enum { kNoAccess = 0, kReadAndWrite = 3 };
/* Zeroed pages, at this place where it is not 0; 0: there are none. */
static address map(address at, address bytes, int protection) {
  enum { kPrivateAnonymous = 0x22, kNowhereElse = 0x100000 };
  const long flags = at == 0 ? kPrivateAnonymous : kPrivateAnonymous | kNowhereElse;
  const address made = (address)system_call(kMap, (long)at, (long)bytes, protection, flags, -1, 0);
  return made % 4096 != 0 || (at != 0 && made != at) ? 0 : made;
}

static address pages(address bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/* Addresses of requests have 32 bits, also where those of the machine have more. */
static address map_low(address bytes) {
  static u64 next = 0x20000000;
  if (sizeof(address) == sizeof(u32)) return map(0, bytes, kNoAccess);
  for (int tries = 0; tries < 256 && next + bytes < 0xf0000000; ++tries) {
    const address at = map((address)next, bytes, kNoAccess);
    next += bytes;
    if (at != 0) return at;
  }
  return 0;
}

static u32 reserve(u32 bytes) {
  const address inner = pages(bytes);
  const address at = inner < bytes ? 0 : map_low(inner + 2 * kPage);
  if (at == 0 || system_call(kProtect, (long)(at + kPage), (long)inner, kReadAndWrite, 0, 0, 0) != 0) return 0;
  return (u32)(at + kPage);
}

/* As many arguments as there may be: a callee takes those that it has, and the caller clears the stack. */
typedef int kernel(address, address, address, address, address, address, address, address, address, address, address,
                   address, address, address, address, address, address, address, address, address, address, address,
                   address, address, address, address, address, address, address, address, address, address, address,
                   address, address, address, address, address, address, address, address, address, address, address,
                   address, address, address, address, address, address, address, address, address, address, address,
                   address, address, address, address, address, address, address, address, address);

static int call_once(kernel* f, const u32* a) {
  return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
           a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31],
           a[32], a[33], a[34], a[35], a[36], a[37], a[38], a[39], a[40], a[41], a[42], a[43], a[44], a[45], a[46],
           a[47], a[48], a[49], a[50], a[51], a[52], a[53], a[54], a[55], a[56], a[57], a[58], a[59], a[60], a[61],
           a[62], a[63]);
}

static void call(u32 bytes) {
  u32 arguments[polyweft_most_arguments] = {0};
  kernel* const function = (kernel*)(address)read_number();
  u32 times = read_number();
  struct {
    int code;
    u32 ns[2];
  } out = {0, {0, 0}};
  if (bytes > sizeof arguments) leave(1);
  read_all(arguments, bytes);
  u64 ns = 0;
  for (; times > 0 && out.code == 0; --times) {
    begin_call();
    out.code = call_once(function, arguments);
    ns += end_call();
  }
  out.ns[0] = (u32)ns, out.ns[1] = (u32)(ns >> 32);
  answer(&out, sizeof out);
}

/* Ends with whoever started it, also in the middle of a kernel. */
static void end_with_parent(void) {
  enum { kSetDeathSignal = 1, kKill = 9 };
  system_call(kProcessControl, kSetDeathSignal, kKill, 0, 0, 0, 0);
}

static void serve(void) {
  end_with_parent();
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
      read_all((void*)(address)first, head.bytes - 5);
      answer(0, 0);
    } else if (what == polyweft_read) {
      answer((const void*)(address)first, read_number());
    } else if (what == polyweft_call) {
      if (head.bytes < 9) leave(1);
      call(head.bytes - 9);
    } else if (what == polyweft_counted) {
      const u32 are_counted = times_are_counted();
      answer(&are_counted, sizeof are_counted);
    } else {
      leave(1);
    }
  }
}

/* The runtime that kernels call. Blocks are pages of their own: what is read or written behind the last one faults. */

void* halide_malloc(void* context, u64 bytes) {
  enum { kHead = 128 };
  (void)context;
  if (bytes > (address)-1 / 2) return 0;
  const address all = pages((address)bytes + 2 * kHead), at = map(0, all, kReadAndWrite);
  if (at == 0) return 0;
  *(address*)at = all;
  return (void*)(at + kHead);
}
void halide_free(void* context, void* block) {
  enum { kHead = 128 };
  (void)context;
  if (!block) return;
  const address at = (address)block - kHead;
  system_call(kUnmap, (long)at, (long)*(address*)at, 0, 0, 0, 0);
}

int halide_do_par_for(void* context, int (*task)(void*, int, byte*), int first, int count, byte* closure) {
  for (int k = 0; k < count; ++k) {
    const int code = task(context, first + k, closure);
    if (code != 0) return code;
  }
  return 0;
}

#endif
