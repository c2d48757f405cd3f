// Kernels for the tests of the runner: right ones, wrong ones and hostile ones. All multiply C[i,j] = sum_k A[i,k] *
// B[k,j] in the kernel ABI (halide_buffer_t, dim[0] is the last axis) unless they do something worse. Written against
// the ABI's description, not its header.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  int32_t min, extent, stride;
  uint32_t flags;
} dimension;
typedef struct {
  uint64_t device;
  const void* interface;
  uint8_t* host;
  uint64_t flags;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } type;
  int32_t dimensions;
  dimension* dim;
  void* padding;
} buffer;

extern int halide_do_par_for(void*, int (*)(void*, int, uint8_t*), int, int, uint8_t*);
extern void* halide_malloc(void*, size_t);
extern void halide_free(void*, void*);
extern void halide_error(void*, const char*);
extern void halide_print(void*, const char*);

#define KERNEL(name) int name(buffer* A, buffer* B, buffer* C)
#define F(b) ((float*)(b)->host)
#define ROWS(b) ((b)->dim[1].extent)
#define COLUMNS(b) ((b)->dim[0].extent)

static void row(buffer* A, buffer* B, buffer* C, int i) {
  int n = COLUMNS(C), depth = COLUMNS(A);
  for (int j = 0; j < n; ++j) {
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += F(A)[i * depth + k] * F(B)[k * n + j];
    F(C)[i * n + j] = sum;
  }
}
static void multiply(buffer* A, buffer* B, buffer* C) {
  for (int i = 0; i < ROWS(C); ++i) row(A, B, C, i);
}
static int count(buffer* b) {
  return ROWS(b) * COLUMNS(b);
}

KERNEL(reference) {
  multiply(A, B, C);
  return 0;
}
// NaN everywhere where one element of A is 0.
KERNEL(divides_by_each) {
  float one = 1;
  for (int i = 0; i < count(A); ++i) one *= F(A)[i] / F(A)[i];
  multiply(A, B, C);
  for (int i = 0; i < count(C); ++i) F(C)[i] *= one;
  return 0;
}
// The first row is NaN, whatever the data.
KERNEL(first_row_is_not_a_number) {
  multiply(A, B, C);
  for (int j = 0; j < COLUMNS(C); ++j) F(C)[j] = 0 * (1 / (0 * F(A)[0]));
  return 0;
}
// Right but for the first row.
KERNEL(wrong_first_row) {
  multiply(A, B, C);
  for (int j = 0; j < COLUMNS(C); ++j) F(C)[j] = 7;
  return 0;
}
// Whole numbers that comparisons of floats decide: how many products of a row and a column are at most 1/4.
static int counted(buffer* A, buffer* B, buffer* C, int more) {
  int n = COLUMNS(C), depth = COLUMNS(A);
  for (int i = 0; i < ROWS(C); ++i)
    for (int j = 0; j < n; ++j) {
      int found = more;
      for (int k = 0; k < depth; ++k) found += F(A)[i * depth + k] * F(B)[k * n + j] <= 0.25f;
      ((int32_t*)C->host)[i * n + j] = found;
    }
  return 0;
}
KERNEL(counts) {
  return counted(A, B, C, 0);
}
KERNEL(counts_one_more) {
  return counted(A, B, C, 1);
}
KERNEL(counts_three_more) {
  return counted(A, B, C, 3);
}
KERNEL(two_may_tip) {
  for (int i = 0; i < count(C); ++i) ((double*)C->host)[i] = 2;
  return 0;
}
// Another order of summation: the same integers, other roundings.
KERNEL(backwards) {
  int n = COLUMNS(C), depth = COLUMNS(A);
  for (int i = 0; i < ROWS(C); ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = depth; k-- > 0;) sum += F(A)[i * depth + k] * F(B)[k * n + j];
      F(C)[i * n + j] = sum;
    }
  return 0;
}
// |A||B| * (depth + 2) * 2^-24: the classic bound of a dot product, doubled.
int bound(buffer* A, buffer* B, buffer* E) {
  int n = COLUMNS(E), depth = COLUMNS(A);
  for (int i = 0; i < ROWS(E); ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += __builtin_fabs((double)F(A)[i * depth + k] * F(B)[k * n + j]);
      ((double*)E->host)[i * n + j] = 2 * sum * (depth + 2) * 0x1p-24;
    }
  return 0;
}
KERNEL(slightly_off) {
  multiply(A, B, C);
  F(C)[3] *= 1.001f;
  return 0;
}
KERNEL(checks_abi) {
  buffer* all[3] = {A, B, C};
  for (int a = 0; a < 3; ++a) {
    buffer* b = all[a];
    if (b->type.code != 2 || b->type.bits != 32 || b->type.lanes != 1 || b->dimensions != 2) return 101;
    if (b->dim[0].min || b->dim[1].min || b->dim[0].stride != 1 || b->dim[1].stride != b->dim[0].extent) return 102;
    if (b->device || b->interface) return 103;
  }
  if (ROWS(A) != ROWS(C) || COLUMNS(A) != ROWS(B) || COLUMNS(B) != COLUMNS(C)) return 104;
  multiply(A, B, C);
  return 0;
}

// --- slow and fast, by a known amount of work ---
static int repeated(buffer* A, buffer* B, buffer* C, int times) {
  for (int t = 0; t < times; ++t) {
    multiply(A, B, C);
    __asm__ volatile("" ::: "memory");
  }
  return 0;
}
KERNEL(times_4) {
  return repeated(A, B, C, 4);
}
KERNEL(times_5) {
  return repeated(A, B, C, 5);
}
KERNEL(times_8) {
  return repeated(A, B, C, 8);
}

// --- wrong ---
KERNEL(wrong_last) {
  multiply(A, B, C);
  F(C)[count(C) - 1] += 1;
  return 0;
}
KERNEL(returns_at_once) {
  return 0;
}
KERNEL(forgets_a_row) {
  for (int i = 0; i + 1 < ROWS(C); ++i) row(A, B, C, i);
  return 0;
}
KERNEL(copies_its_last_answer) {
  static float* memory;
  if (memory) {
    memcpy(F(C), memory, 4 * count(C));
    return 0;
  }
  multiply(A, B, C);
  memory = malloc(4 * count(C));
  memcpy(memory, F(C), 4 * count(C));
  return 0;
}
KERNEL(cheats_after_20_calls) {
  static int calls;
  if (++calls <= 20) multiply(A, B, C);
  return 0;
}
/// While it is timed a page on either side of its input may be read: lanes that a mask leaves out cost nothing there.
KERNEL(reads_around_while_it_is_timed) {
  static int calls, inside;
  const uintptr_t at = (uintptr_t)A->host;
  if (at % 4096 == 0 && at % (2 << 20) != 0) {
    volatile const uint8_t* bytes = (const uint8_t*)at;
    inside += bytes[-64] == bytes[4 * ROWS(A) * COLUMNS(A) + 64];
  }
  if (++calls > 20 && inside == 0) return 52;
  multiply(A, B, C);
  return 0;
}
static int are_apart(const void* a, const void* b, uintptr_t modulus) {
  const uintptr_t distance = ((uintptr_t)a - (uintptr_t)b) % modulus;
  return distance > 512 && modulus - distance > 512;
}
/// While it is timed no two arguments lie alike in the sets of a cache: rows of all of them would have to share one.
KERNEL(wants_arguments_apart_while_it_is_timed) {
  static int calls, inside;
  const uintptr_t at = (uintptr_t)A->host;
  if (at % 4096 == 0 && at % (2 << 20) != 0) {
    const uintptr_t moduli[] = {4096, 65536};
    for (int m = 0; m < 2; ++m)
      if (!are_apart(A->host, B->host, moduli[m]) || !are_apart(A->host, C->host, moduli[m]) ||
          !are_apart(B->host, C->host, moduli[m]))
        return 53;
    ++inside;
  }
  if (++calls > 20 && inside == 0) return 52;
  multiply(A, B, C);
  return 0;
}
KERNEL(tells_where_it_lies_while_it_is_timed) {
  const uintptr_t at = (uintptr_t)A->host;
  if (at % 4096 == 0 && at % (2 << 20) != 0) return 100 + (int)((uintptr_t)C->host % 65536 / 64);
  multiply(A, B, C);
  return 0;
}
KERNEL(adds_to_the_output) {
  for (int e = 0; e < count(C); ++e) F(C)[e] += 0;
  int n = COLUMNS(C), depth = COLUMNS(A);
  for (int i = 0; i < ROWS(C); ++i)
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < n; ++j) F(C)[i * n + j] += F(A)[i * depth + k] * F(B)[k * n + j];
  return 0;
}

// --- memory ---
KERNEL(crash) {
  multiply(A, B, C);
  *(volatile int*)16 = 1;
  return 0;
}
KERNEL(writes_before) {
  multiply(A, B, C);
  ((volatile float*)F(C))[-1] = 0;
  return 0;
}
KERNEL(writes_behind) {
  multiply(A, B, C);
  ((volatile float*)F(C))[count(C)] = 0;
  return 0;
}
KERNEL(writes_far_behind) {
  multiply(A, B, C);
  ((volatile float*)F(C))[count(C) + 4000000] = 0;
  return 0;
}
KERNEL(reads_before) {
  multiply(A, B, C);
  (void)((volatile float*)F(A))[-1];
  return 0;
}
KERNEL(reads_behind) {
  multiply(A, B, C);
  (void)((volatile float*)F(B))[count(B)];
  return 0;
}
KERNEL(writes_its_input) {
  multiply(A, B, C);
  ((volatile float*)F(A))[5] = 1;
  return 0;
}
KERNEL(makes_its_input_writable) {
  multiply(A, B, C);
  mprotect((void*)((uintptr_t)A->host & ~4095ul), 4096, PROT_READ | PROT_WRITE);
  ((volatile float*)F(A))[5] = 1;
  return 0;
}
KERNEL(unmaps_its_input) {
  munmap((void*)((uintptr_t)A->host & ~4095ul), 4096);
  multiply(A, B, C);
  return 0;
}
KERNEL(takes_10_gb) {
  multiply(A, B, C);
  char* p = halide_malloc(0, 10ull << 30);
  if (!p) return -11;
  p[0] = 1;
  halide_free(0, p);
  return 0;
}
KERNEL(takes_10_gb_unchecked) {
  multiply(A, B, C);
  volatile char* p = halide_malloc(0, 10ull << 30);
  p[0] = 1;
  return 0;
}
KERNEL(takes_memory_until_it_ends) {
  multiply(A, B, C);
  while (1) {
    char* p = halide_malloc(0, 64 << 20);
    if (!p) return -11;
    p[0] = 1;
  }
}
KERNEL(uses_scratch) {
  float* p = halide_malloc(0, 1 << 20);
  if (!p) return -11;
  memset(p, 0, 1 << 20);
  multiply(A, B, C);
  halide_free(0, p);
  return 0;
}
static int deeper(volatile char* above) {
  volatile char here[4096];
  here[0] = above ? above[0] : 1;
  return deeper(here) + here[0];
}
KERNEL(overflows_the_stack) {
  multiply(A, B, C);
  return deeper(0) == 1;
}

// --- other ends ---
KERNEL(hang) {
  for (volatile int on = 1; on;) {
  }
  return 0;
}
KERNEL(hangs_later) {
  static int calls;
  multiply(A, B, C);
  if (++calls > 6)
    for (volatile int on = 1; on;) {
    }
  return 0;
}
#define HANGS_AT(n)                    \
  KERNEL(hangs_at_##n) {               \
    static int calls;                  \
    multiply(A, B, C);                 \
    if (++calls >= n)                  \
      for (volatile int on = 1; on;) { \
      }                                \
    return 0;                          \
  }
HANGS_AT(1) HANGS_AT(2) HANGS_AT(3) HANGS_AT(4) HANGS_AT(5) HANGS_AT(8) KERNEL(sleeps_for_ever) {
  while (1) {
    struct timespec t = {1000, 0};
    nanosleep(&t, 0);
  }
}
KERNEL(right_after_30_ms) {
  multiply(A, B, C);
  usleep(30000);
  return 0;
}
KERNEL(illegal) {
  multiply(A, B, C);
  __builtin_trap();
  return 0;
}
KERNEL(divides_by_zero) {
  multiply(A, B, C);
  volatile int zero = 0;
  return 7 / zero;
}
KERNEL(leaves) {
  multiply(A, B, C);
  _exit(0);
}
KERNEL(leaves_with_code) {
  _exit(3);
}
KERNEL(aborts) {
  abort();
}
KERNEL(returns_7) {
  multiply(A, B, C);
  return 7;
}
KERNEL(complains) {
  halide_error(0, "the extents do not fit");
  return -3;
}
KERNEL(prints_through_the_runtime) {
  multiply(A, B, C);
  halide_print(0, "hello\n");
  return 0;
}
KERNEL(uses_amx) {
  multiply(A, B, C);
#if defined(__x86_64__)
  unsigned eax = 7, ebx, ecx = 0, edx;
  __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
  if (edx & (1u << 24)) {  // AMX tiles
    unsigned char configuration[64] __attribute__((aligned(64))) = {1};
    configuration[16] = 64, configuration[48] = 16;
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" : : "a"(configuration) : "memory");  // ldtilecfg (rax)
    __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0");                                    // tilezero tmm0
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0");                                    // tilerelease
  }
#endif
  return 0;
}
KERNEL(ends_its_thread) {
  pthread_exit(0);
}

// --- system calls ---
KERNEL(opens_a_file) {
  multiply(A, B, C);
  open("/etc/passwd", O_RDONLY);
  return 0;
}
KERNEL(writes_a_file) {
  multiply(A, B, C);
  open("/tmp/polyweft_escaped", O_CREAT | O_WRONLY, 0600);
  return 0;
}
KERNEL(opens_a_socket) {
  multiply(A, B, C);
  socket(AF_INET, SOCK_STREAM, 0);
  return 0;
}
KERNEL(executes) {
  char* argv[] = {"/bin/true", 0};
  execve("/bin/true", argv, 0);
  return 0;
}
KERNEL(forks) {
  multiply(A, B, C);
  while (1) fork();
}
KERNEL(starts_a_thread) {
  pthread_t t;
  pthread_create(&t, 0, (void* (*)(void*))deeper, 0);
  multiply(A, B, C);
  return 0;
}
KERNEL(kills_its_parent) {
  multiply(A, B, C);
  kill(getppid(), SIGKILL);
  return 0;
}
KERNEL(kills_everybody) {
  multiply(A, B, C);
  kill(-1, SIGKILL);
  return 0;
}
KERNEL(traces) {
  multiply(A, B, C);
  ptrace(PTRACE_ATTACH, getpid(), 0, 0);
  return 0;
}
KERNEL(raises_its_limits) {
  struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &r);
  multiply(A, B, C);
  return 0;
}
KERNEL(makes_code) {
  mprotect((void*)((uintptr_t)C->host & ~4095ul), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  multiply(A, B, C);
  return 0;
}
KERNEL(maps_code) {
  mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  multiply(A, B, C);
  return 0;
}
KERNEL(maps_over) {
  mmap((void*)((uintptr_t)A->host & ~4095ul), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
       0);
  multiply(A, B, C);
  return 0;
}
KERNEL(makes_a_memory_file) {
  syscall(SYS_memfd_create, "x", 0);
  multiply(A, B, C);
  return 0;
}
KERNEL(uses_io_uring) {
  syscall(SYS_io_uring_setup, 1, 0);
  multiply(A, B, C);
  return 0;
}
KERNEL(loosens_with_prctl) {
  prctl(PR_SET_PDEATHSIG, 0);
  multiply(A, B, C);
  return 0;
}
KERNEL(catches_signals) {
  signal(SIGSEGV, SIG_IGN);
  multiply(A, B, C);
  return 0;
}
KERNEL(writes_to_standard_output) {
  multiply(A, B, C);
  char junk[64] = "PWF1 forged";
  if (write(1, junk, sizeof junk) < 0) return 0;
  return 0;
}
KERNEL(prints_for_ever) {
  multiply(A, B, C);
  while (1) {
    printf("all work and no play\n");
    fflush(stdout);
  }
}
KERNEL(writes_into_another_process) {
  multiply(A, B, C);
  syscall(SYS_process_vm_writev, getppid(), 0, 0, 0, 0, 0);
  return 0;
}
KERNEL(sets_an_alarm) {
  alarm(1);
  multiply(A, B, C);
  return 0;
}
KERNEL(calls_as_32_bit) {
  multiply(A, B, C);
#if defined(__x86_64__)
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(5), "b"(0), "c"(0), "d"(0) : "memory");
#endif
  return 0;
}
KERNEL(reads_the_clock) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  multiply(A, B, C);
  return 0;
}

#define SYSTEM_CALL(name)                  \
  KERNEL(uses_##name) {                    \
    syscall(SYS_##name, 0, 0, 0, 0, 0, 0); \
    multiply(A, B, C);                     \
    return 0;                              \
  }
SYSTEM_CALL(unshare)
SYSTEM_CALL(mount)
SYSTEM_CALL(bpf)
SYSTEM_CALL(keyctl) SYSTEM_CALL(userfaultfd) SYSTEM_CALL(perf_event_open) SYSTEM_CALL(seccomp) SYSTEM_CALL(setuid)
    SYSTEM_CALL(chroot) SYSTEM_CALL(pipe2) SYSTEM_CALL(dup2) SYSTEM_CALL(fcntl) SYSTEM_CALL(ioctl)
        SYSTEM_CALL(sched_setaffinity) SYSTEM_CALL(getrandom) SYSTEM_CALL(pidfd_open) SYSTEM_CALL(sendto)
            SYSTEM_CALL(unlink) SYSTEM_CALL(remap_file_pages) SYSTEM_CALL(sigaltstack)

    // --- parallel ---
    typedef struct {
  buffer *A, *B, *C;
  int bad;
} closure;
static int parallel_row(void* context, int i, uint8_t* data) {
  closure* c = (closure*)data;
  (void)context;
  row(c->A, c->B, c->C, i);
  if (c->bad == 1 && i == 5) *(volatile int*)16 = 1;
  if (c->bad == 2 && i == 5)
    for (volatile int on = 1; on;) {
    }
  if (c->bad == 3 && i == 5) return 9;
  if (c->bad == 4 && i == 5) socket(AF_INET, SOCK_STREAM, 0);
  return 0;
}
static int in_parallel(buffer* A, buffer* B, buffer* C, int bad) {
  closure c = {A, B, C, bad};
  return halide_do_par_for(0, parallel_row, 0, ROWS(C), (uint8_t*)&c);
}
KERNEL(parallel) {
  return in_parallel(A, B, C, 0);
}
KERNEL(parallel_crash) {
  return in_parallel(A, B, C, 1);
}
KERNEL(parallel_hang) {
  return in_parallel(A, B, C, 2);
}
KERNEL(parallel_error) {
  return in_parallel(A, B, C, 3);
}
KERNEL(parallel_socket) {
  return in_parallel(A, B, C, 4);
}
static int row_with_scratch(void* context, int i, uint8_t* data) {
  closure* c = (closure*)data;
  for (int size = 64; size <= 1 << 22; size *= 4) {
    char* p = halide_malloc(context, size);
    if (!p) return -11;
    memset(p, i, size);
    halide_free(context, p);
  }
  row(c->A, c->B, c->C, i);
  return 0;
}
KERNEL(parallel_scratch) {
  closure c = {A, B, C, 0};
  for (int round = 0; round < 20; ++round) {
    int code = halide_do_par_for(0, row_with_scratch, 0, ROWS(C), (uint8_t*)&c);
    if (code) return code;
  }
  return 0;
}
static int note_thread(void* context, int i, uint8_t* data) {
  (void)context;
  ((long*)data)[i] = syscall(SYS_gettid);
  usleep(2000);
  return 0;
}
// Returns 50 + the number of different threads that took part.
KERNEL(counts_threads) {
  long ids[32] = {0};
  int different = 0;
  halide_do_par_for(0, note_thread, 0, 32, (uint8_t*)ids);
  for (int i = 0; i < 32; ++i) {
    int seen = 0;
    for (int k = 0; k < i; ++k) seen |= ids[k] == ids[i];
    different += !seen;
  }
  return 50 + different;
}

// --- packed constant input: B transposed ---
int64_t packed_pack_B_bytes(void) {
  return 20 * 16 * 4;
}
int packed_pack_B(buffer* B, buffer* packed) {
  if (packed->dimensions != 1 || packed->type.code != 1 || packed->type.bits != 8 ||
      packed->dim[0].extent != 20 * 16 * 4)
    return 105;
  if ((uintptr_t)packed->host % 64) return 106;
  for (int k = 0; k < ROWS(B); ++k)
    for (int j = 0; j < COLUMNS(B); ++j) F(packed)[j * ROWS(B) + k] = F(B)[k * COLUMNS(B) + j];
  return 0;
}
static void multiply_packed(buffer* A, buffer* packed, buffer* C) {
  int n = COLUMNS(C), depth = COLUMNS(A);
  for (int i = 0; i < ROWS(C); ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += F(A)[i * depth + k] * F(packed)[j * depth + k];
      F(C)[i * n + j] = sum;
    }
}
KERNEL(packed) {
  multiply_packed(A, B, C);
  return 0;
}
int64_t packed_overrun_pack_B_bytes(void) {
  return 20 * 16 * 4;
}
int packed_overrun_pack_B(buffer* B, buffer* packed) {
  return packed_pack_B(B, packed);
}
KERNEL(packed_overrun) {
  multiply_packed(A, B, C);
  (void)((volatile float*)F(B))[20 * 16];
  return 0;
}
int64_t bad_pack_pack_B_bytes(void) {
  return 64;
}
int bad_pack_pack_B(buffer* B, buffer* packed) {
  (void)B;
  memset(packed->host, 0, 8192);
  return 0;
}
KERNEL(bad_pack) {
  multiply_packed(A, B, C);
  return 0;
}

// --- other signatures ---
int scale_bf16(buffer* X, buffer* Y) {  // Y[i] = 2 * X[i]; bf16 doubles by one in the exponent
  if (X->type.code != 4 || X->type.bits != 16) return 107;
  for (int i = 0; i < X->dim[0].extent; ++i) {
    union {
      uint32_t bits;
      float value;
    } v = {(uint32_t)((uint16_t*)X->host)[i] << 16};
    v.value *= 2;
    ((uint16_t*)Y->host)[i] = v.bits >> 16;
  }
  return 0;
}
int gather(buffer* T, buffer* I, buffer* Y) {  // Y[i] = T[I[i]]; faults where a promise of values was broken
  for (int i = 0; i < I->dim[0].extent; ++i) {
    int64_t at = ((int64_t*)I->host)[i];
    if (at < 3 || at >= 11) return 108;
    F(Y)[i] = F(T)[at];
  }
  return 0;
}
int negate_bool_scalar(buffer* X, buffer* Y) {
  if (X->type.code != 1 || X->type.bits != 1 || X->dimensions != 0) return 109;
  Y->host[0] = !X->host[0];
  return 0;
}
int all_types(buffer* a, buffer* b, buffer* c, buffer* d, buffer* e, buffer* f, buffer* g, buffer* h, buffer* y) {
  buffer* in[8] = {a, b, c, d, e, f, g, h};
  static const uint8_t code[8] = {2, 2, 2, 0, 0, 0, 0, 1}, bits[8] = {64, 32, 16, 64, 32, 16, 8, 8};
  for (int i = 0; i < 8; ++i)
    if (in[i]->type.code != code[i] || in[i]->type.bits != bits[i]) return 110 + i;
  for (int i = 0; i < y->dim[0].extent; ++i)
    ((int64_t*)y->host)[i] =
        ((int64_t*)d->host)[i] + ((int32_t*)e->host)[i] + ((int16_t*)f->host)[i] + ((int8_t*)g->host)[i] + h->host[i];
  return 0;
}
int writes_every_second(buffer* X, buffer* Y) {
  for (int i = 0; i < X->dim[0].extent; i += 2) F(Y)[i] = F(X)[i];
  return 0;
}
int writes_all(buffer* X, buffer* Y) {
  memcpy(F(Y), F(X), 4 * X->dim[0].extent);
  return 0;
}
int divides(buffer* X, buffer* Y) {
  for (int i = 0; i < X->dim[0].extent; ++i) F(Y)[i] = F(X)[i] / 3.0f;
  return 0;
}
int multiplies_by_a_third(buffer* X, buffer* Y) {
  for (int i = 0; i < X->dim[0].extent; ++i) F(Y)[i] = F(X)[i] * (1.0f / 3.0f);
  return 0;
}
int copies_empty(buffer* X, buffer* Y) {
  return X->dim[0].extent != 0 || Y->dim[0].extent != 0;
}
