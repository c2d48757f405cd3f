/* The start of a program of kernels: serves the requests of program_requests.h until its input is closed. There is no C
   library: Linux is called as it is. */
#include "targets/programs/program_requests.h"

typedef unsigned char byte;
typedef unsigned long word; /* an address, too */
typedef unsigned long long wide;

enum {
  kRead = 63,
  kWrite = 64,
  kExitGroup = 94,
  kClockGetTime = 403, /* with seconds of 64 bits */
  kProcessControl = 167,
  kUnmap = 215,
  kMap = 222,
  kProtect = 226
};
enum { kPage = 65536 }; /* the largest one that such systems have */

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = e;
  register long r5 __asm__("r5") = f;
  register long r6 __asm__("r6") = number;
  __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6) : "memory");
  return r0;
}

static void leave(int code) {
  system_call(kExitGroup, code, 0, 0, 0, 0, 0);
  for (;;) {
  }
}

static void read_all(void* to, word bytes) {
  byte* at = to;
  while (bytes > 0) {
    const long n = system_call(kRead, 0, (long)at, (long)bytes, 0, 0, 0);
    if (n <= 0) leave(n == 0 ? 0 : 1);
    at += n, bytes -= (word)n;
  }
}
static void write_all(const void* from, word bytes) {
  const byte* at = from;
  while (bytes > 0) {
    const long n = system_call(kWrite, 1, (long)at, (long)bytes, 0, 0, 0);
    if (n <= 0) leave(1);
    at += n, bytes -= (word)n;
  }
}

static word read_word(void) {
  word out;
  read_all(&out, sizeof out);
  return out;
}

struct frame {
  byte magic[4];
  unsigned short version, type;
  word bytes;
};
static const struct frame kAnswer = {{'P', 'W', 'F', '1'}, 1, 2, 0};

static void answer(const void* payload, word bytes) {
  struct frame head = kAnswer;
  head.bytes = bytes;
  write_all(&head, sizeof head);
  write_all(payload, bytes);
}

/* Zeroed pages; 0: there are none. */
static word map(word bytes, int protection) {
  enum { kPrivateAnonymous = 0x22 };
  const word at = (word)system_call(kMap, 0, (long)bytes, protection, kPrivateAnonymous, -1, 0);
  return at % 4096 != 0 ? 0 : at;
}
enum { kNoAccess = 0, kReadAndWrite = 3 };

static word pages(word bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

static word reserve(word bytes) {
  const word inner = pages(bytes);
  const word at = inner < bytes ? 0 : map(inner + 2 * kPage, kNoAccess);
  if (at == 0 || system_call(kProtect, (long)(at + kPage), (long)inner, kReadAndWrite, 0, 0, 0) != 0) return 0;
  return at + kPage;
}

static wide now_ns(void) {
  wide time[2] = {0, 0};
  system_call(kClockGetTime, 1, (long)time, 0, 0, 0, 0);
  return time[0] * 1000000000 + (time[1] & 0xffffffff);
}

/* As many arguments as there may be: a callee takes those that it has, and the caller clears the stack. */
typedef int kernel(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word,
                   word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word,
                   word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word,
                   word, word, word, word, word, word, word, word, word, word, word, word, word);

static int call_once(kernel* f, const word* a) {
  return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
           a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31],
           a[32], a[33], a[34], a[35], a[36], a[37], a[38], a[39], a[40], a[41], a[42], a[43], a[44], a[45], a[46],
           a[47], a[48], a[49], a[50], a[51], a[52], a[53], a[54], a[55], a[56], a[57], a[58], a[59], a[60], a[61],
           a[62], a[63]);
}

static void call(word bytes) {
  word arguments[polyweft_most_arguments] = {0};
  const word function = read_word();
  word times = read_word();
  struct {
    int code;
    word ns[2];
  } out;
  out.code = 0;
  if (bytes > sizeof arguments) leave(1);
  read_all(arguments, bytes);
  const wide started = now_ns();
  for (; times > 0 && out.code == 0; --times) out.code = call_once((kernel*)function, arguments);
  const wide ns = now_ns() - started;
  out.ns[0] = (word)ns, out.ns[1] = (word)(ns >> 32);
  answer(&out, sizeof out);
}

static void serve(void) {
  for (;;) {
    struct frame head;
    read_all(&head, sizeof head);
    if (head.bytes < 5) leave(1);
    byte what;
    read_all(&what, 1);
    const word first = what == polyweft_call ? 0 : read_word();
    if (what == polyweft_reserve) {
      const word at = reserve(first);
      answer(&at, sizeof at);
    } else if (what == polyweft_write) {
      read_all((void*)first, head.bytes - 5);
      answer(0, 0);
    } else if (what == polyweft_read) {
      answer((const void*)first, read_word());
    } else if (what == polyweft_call) {
      if (head.bytes < 9) leave(1);
      call(head.bytes - 9);
    } else {
      leave(1);
    }
  }
}

/* Ends with whoever started it, also in the middle of a kernel. */
static void end_with_parent(void) {
  enum { kSetDeathSignal = 1, kKill = 9 };
  system_call(kProcessControl, kSetDeathSignal, kKill, 0, 0, 0, 0);
}

void _start(void) {
  end_with_parent();
  serve();
}

/* The runtime that kernels call. Blocks are pages of their own: what is read or written behind the last one faults. */

void* halide_malloc(void* context, wide bytes) {
  enum { kHead = 128 };
  (void)context;
  if (bytes > 0x7fffffff) return 0;
  const word all = pages((word)bytes + 2 * kHead), at = map(all, kReadAndWrite);
  if (at == 0) return 0;
  *(word*)at = all;
  return (void*)(at + kHead);
}
void halide_free(void* context, void* block) {
  enum { kHead = 128 };
  (void)context;
  if (!block) return;
  const word at = (word)block - kHead;
  system_call(kUnmap, (long)at, (long)*(word*)at, 0, 0, 0, 0);
}

int halide_do_par_for(void* context, int (*task)(void*, int, byte*), int first, int count, byte* closure) {
  for (int k = 0; k < count; ++k) {
    const int code = task(context, first + k, closure);
    if (code != 0) return code;
  }
  return 0;
}
