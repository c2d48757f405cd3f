/* The start of a program of kernels. Times are those of Linux's clock. */
#include "targets/programs/runtime/serve.h"

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

static u64 now_ns(void) {
  u64 time[2] = {0, 0};
  system_call(kClockGetTime64, 1, (long)time, 0, 0, 0, 0);
  return time[0] * 1000000000 + (time[1] & 0xffffffff);
}
static u32 times_are_counted(void) {
  return 0;
}
static u64 started;
static void begin_call(void) {
  started = now_ns();
}
static u64 end_call(void) {
  return now_ns() - started;
}

void _start(void) {
  serve();
}
