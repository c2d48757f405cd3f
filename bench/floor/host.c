/* Calls of kernels from plain C, so that short ones are not timed with an interpreter's calls. Used by bench/floor.py.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <time.h>

typedef void* P;

int floor_call(void* f, int n, P* p) {
  switch (n) {
    case 1:
      return ((int (*)(P))f)(p[0]);
    case 2:
      return ((int (*)(P, P))f)(p[0], p[1]);
    case 3:
      return ((int (*)(P, P, P))f)(p[0], p[1], p[2]);
    case 4:
      return ((int (*)(P, P, P, P))f)(p[0], p[1], p[2], p[3]);
    case 5:
      return ((int (*)(P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4]);
    case 6:
      return ((int (*)(P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5]);
    case 7:
      return ((int (*)(P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
    case 8:
      return ((int (*)(P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
    case 9:
      return ((int (*)(P, P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]);
    case 10:
      return ((int (*)(P, P, P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]);
    case 11:
      return ((int (*)(P, P, P, P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9],
                                                           p[10]);
    case 12:
      return ((int (*)(P, P, P, P, P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
                                                              p[9], p[10], p[11]);
    case 13:
      return ((int (*)(P, P, P, P, P, P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
                                                                 p[9], p[10], p[11], p[12]);
    case 14:
      return ((int (*)(P, P, P, P, P, P, P, P, P, P, P, P, P, P))f)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
                                                                    p[8], p[9], p[10], p[11], p[12], p[13]);
    default:
      return -1;
  }
}

/* Nanoseconds of `times` calls. */
double floor_time(void* f, int n, P* p, int64_t times) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int64_t k = 0; k < times; k++) floor_call(f, n, p);
  clock_gettime(CLOCK_MONOTONIC, &to);
  return 1e9 * (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec);
}
