"""Writes wgmma_call.inc: products m64nNk16 of bf16 as C functions, for clang."""


def function(n):
    count = n // 2
    names = ",".join(f"%{i}" for i in range(count))
    outs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return f"""INLINE void wgmma_{n}(float* d, u64 a, u64 b) {{
  __asm__ volatile("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 {{{names}}}, %{count}, %{count + 1}, 1, 1, 1, 0, 0;"
    : {outs} : "l"(a), "l"(b));
}}"""


print("// Written by wgmma_call.py.\n#pragma once\n")
print("\n\n".join(function(n) for n in (128, 192, 256)))
