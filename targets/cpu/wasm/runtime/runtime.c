/* What a kernel's module has beside the kernel: memory and tasks of Halide's runtime, without threads. Compiled to
   WebAssembly at build time (targets/CMakeLists.txt). */
#include <stdint.h>

typedef unsigned long size;

enum { kPage = 65536, kAlignment = 64 };

/* A block has its head before its address. Blocks lie on top of each other; one that was given back below others goes
   with them. */
struct head {
  struct head* below;
  int is_free;
};

extern unsigned char __heap_base;
static struct head* top;
static size top_end;

static size aligned(size at) {
  return (at + kAlignment - 1) / kAlignment * kAlignment;
}

/* 0 where memory cannot grow so far. */
static size reserved(uint64_t bytes) {
  size begin = aligned((top ? top_end : (size)&__heap_base) + sizeof(struct head));
  uint64_t end = begin + bytes, has = (uint64_t)__builtin_wasm_memory_size(0) * kPage;
  if (bytes > UINT32_MAX - kPage || end > UINT32_MAX - kPage) return 0;
  if (end > has && __builtin_wasm_memory_grow(0, (size)((end - has + kPage - 1) / kPage)) == (size)-1) return 0;
  return begin;
}

__attribute__((export_name("polyweft_allocate"))) void* polyweft_allocate(uint64_t bytes) {
  size begin = reserved(bytes);
  struct head* head;
  if (!begin) return 0;
  head = (struct head*)begin - 1;
  head->below = top;
  head->is_free = 0;
  top = head;
  top_end = begin + (size)bytes;
  return (void*)begin;
}

void* halide_malloc(void* user, uint64_t bytes) {
  (void)user;
  return polyweft_allocate(bytes);
}

void halide_free(void* user, void* block) {
  (void)user;
  if (!block) return;
  ((struct head*)block - 1)->is_free = 1;
  while (top && top->is_free) {
    top_end = (size)top;
    top = top->below;
  }
}

int halide_do_par_for(void* user, int (*task)(void*, int, unsigned char*), int first, int count,
                      unsigned char* closure) {
  int k, code;
  for (k = first; k < first + count; ++k)
    if ((code = task(user, k, closure)) != 0) return code;
  return 0;
}

/* Arithmetic of 128 bits, as the compiler's own library has it: exact sums and products ask for it. */
typedef union {
  unsigned __int128 all;
  struct {
    uint64_t low, high;
  } half;
} wide;

unsigned __int128 __ashlti3(unsigned __int128 value, int by) {
  wide in, out;
  in.all = value;
  if (by == 0) return value;
  out.half.low = by < 64 ? in.half.low << by : 0;
  out.half.high = by < 64 ? in.half.high << by | in.half.low >> (64 - by) : in.half.low << (by - 64);
  return out.all;
}

unsigned __int128 __lshrti3(unsigned __int128 value, int by) {
  wide in, out;
  in.all = value;
  if (by == 0) return value;
  out.half.high = by < 64 ? in.half.high >> by : 0;
  out.half.low = by < 64 ? in.half.low >> by | in.half.high << (64 - by) : in.half.high >> (by - 64);
  return out.all;
}

__int128 __ashrti3(__int128 value, int by) {
  wide in, out;
  in.all = (unsigned __int128)value;
  if (by == 0) return value;
  out.half.high = (uint64_t)((int64_t)in.half.high >> (by < 64 ? by : 63));
  out.half.low =
      by < 64 ? in.half.low >> by | in.half.high << (64 - by) : (uint64_t)((int64_t)in.half.high >> (by - 64));
  return (__int128)out.all;
}

unsigned __int128 __multi3(unsigned __int128 left, unsigned __int128 right) {
  wide a, b, out;
  uint64_t mask = 0xFFFFFFFFu, low, first, second;
  a.all = left;
  b.all = right;
  low = (a.half.low & mask) * (b.half.low & mask);
  first = (a.half.low >> 32) * (b.half.low & mask) + (low >> 32);
  second = (a.half.low & mask) * (b.half.low >> 32) + (first & mask);
  out.half.low = second << 32 | (low & mask);
  out.half.high = (a.half.low >> 32) * (b.half.low >> 32) + (first >> 32) + (second >> 32) + a.half.low * b.half.high +
                  a.half.high * b.half.low;
  return out.all;
}
