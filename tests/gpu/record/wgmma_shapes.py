"""Writes wgmma_shapes.inc: one struct a shape and type of wgmma.mma_async, since each names all its registers.

python3 wgmma_shapes.py [recorded|measured] > wgmma_shapes.inc"""

import sys

K = {"f16": 16, "bf16": 16, "tf32": 8, "s8": 32, "u8": 32, "e4m3": 32, "e5m2": 32}
RECORDED = [(n, "f32", a, a) for a in ("bf16", "f16") for n in (8, 16, 32, 64, 128, 256)]
RECORDED += [(n, "f16", "f16", "f16") for n in (8, 16, 64)]
RECORDED += [(n, "f32", "tf32", "tf32") for n in (8, 16, 32)]
RECORDED += [(n, "s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8") for n in (8, 16, 32)]
RECORDED += [(n, "f32", a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for n in (8, 16)]
RECORDED += [(8, "f16", "e4m3", "e4m3")]
MEASURED = [(n, "f32", "bf16", "bf16") for n in (8, 16, 32, 64, 96, 128, 192, 256)]
MEASURED += [
    (n, d, a, a)
    for n in (64, 128, 256)
    for d, a in (("f32", "f16"), ("f16", "f16"), ("f32", "tf32"), ("s32", "s8"), ("f32", "e4m3"))
]


def registers(first, count):
    return "{" + ",".join(f"%{first + i}" for i in range(count)) + "}"


def words(d, n):
    """Registers of 32 bits for a thread's part of a 64 x n accumulator."""
    return n // 4 if d == "f16" else n // 2


def shape(n, d, a, b, from_registers):
    count = words(d, n)
    transposes = a in ("f16", "bf16")
    scales = d in ("f32", "f16")
    name = f"m64n{n}k{K[a]}.{d}.{a}.{b}"
    at = count
    a_text = registers(at, 4) if from_registers else f"%{at}"
    at += 4 if from_registers else 1
    immediates = ([f"%{at + 2}", f"%{at + 3}"] if scales else []) + (
        [f"%{at + 4 + i}" for i in range(1 if from_registers else 2)] if transposes else []
    )
    tail = "".join(", " + word for word in immediates)
    text = f"wgmma.mma_async.sync.aligned.{name} {registers(0, count)}, {a_text}, %{at}, p{tail};"
    outs = ", ".join(f'"+r"(d[{i}])' for i in range(count))
    ins = ['"r"(a[%d])' % i for i in range(4)] if from_registers else ['"l"(da)']
    ins += ['"l"(db)', '"r"(scale_d)']
    ins += ['"n"(scale_a)', '"n"(scale_b)'] if scales else []
    ins += (['"n"(transpose_b)'] if from_registers else ['"n"(transpose_a)', '"n"(transpose_b)']) if transposes else []
    kind = "Registers" if from_registers else "Shared"
    return f"""template <int scale_a, int scale_b, int transpose_a, int transpose_b>
struct N{n}{d}{a}{b}{kind} {{
  static constexpr const char* name = "wgmma.mma_async.sync.aligned.{name}";
  static constexpr int n = {n}, words = {count};
  static __device__ __forceinline__ void run(uint32_t* d, const uint32_t* a, uint64_t da, uint64_t db, int scale_d) {{
    (void)a, (void)da;
    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{at + 1}, 0; {text}}}" : {outs} : {", ".join(ins)});
  }}
}};"""


def main():
    shapes = MEASURED if sys.argv[1:] == ["measured"] else RECORDED
    print("// Written by wgmma_shapes.py.\n#pragma once\n#include <cstdint>\n")
    for n, d, a, b in shapes:
        for from_registers in (False, True):
            if not from_registers or n <= 64:
                print(shape(n, d, a, b, from_registers))


main()
