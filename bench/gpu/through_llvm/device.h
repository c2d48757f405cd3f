// What the kernels need of the GPU, as clang's C for NVPTX spells it.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef u32 uint4v __attribute__((ext_vector_type(4)));

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
/// clang's C has no launch bounds for NVPTX: build.sh adds them to the IR.
#define KERNEL __attribute__((nvptx_kernel))
#define INLINE static inline __attribute__((always_inline))

INLINE u32 thread_x(void) {
  return __nvvm_read_ptx_sreg_tid_x();
}
INLINE u32 block_x(void) {
  return __nvvm_read_ptx_sreg_ctaid_x();
}
INLINE u32 block_y(void) {
  return __nvvm_read_ptx_sreg_ctaid_y();
}
INLINE void barrier(void) {
  __nvvm_bar_sync(0);
}

/// Two f32 as bf16, the first in the low half.
INLINE u32 pack_bf16(float low, float high) {
  u32 out;
  __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
