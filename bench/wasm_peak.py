#!/usr/bin/env python3
"""Multiply-and-add loops in WebAssembly: the rate that kernels in Wasmtime are compared with.

Vectors of four f32 in 12 independent sums, each iteration a product and a sum of each. Prints GFLOP/s, the best of
several runs of a tenth of a second. Needs clang-22, lld and wasmtime (build/venv/bin/python3 bench/wasm_peak.py).
"""

import subprocess
import sys
import tempfile
import time

SUMS = 12
SOURCE = """
#include <wasm_simd128.h>
__attribute__((export_name("run"))) float run(int count, float x, float y) {
  v128_t a = wasm_f32x4_splat(x), b = wasm_f32x4_splat(y);
  %s
  for (int k = 0; k < count; ++k) {
    %s
    __asm__ volatile("" ::: "memory");
  }
  v128_t all = s0;
  %s
  return wasm_f32x4_extract_lane(all, 0);
}
""" % (
    "".join(f"v128_t s{n} = wasm_f32x4_splat({n});" for n in range(SUMS)),
    "".join(f"s{n} = wasm_f32x4_add(wasm_f32x4_mul(s{n}, a), b);" for n in range(SUMS)),
    "".join(f"all = wasm_f32x4_add(all, s{n});" for n in range(1, SUMS)),
)


def main():
    import wasmtime

    with tempfile.TemporaryDirectory() as folder:
        words = ["clang-22", "--target=wasm32", "-O2", "-msimd128", "-nostdlib", "-Wl,--no-entry", "-x", "c", "-"]
        subprocess.run(words + ["-o", folder + "/peak.wasm"], input=SOURCE.encode(), check=True)
        engine = wasmtime.Engine()
        store = wasmtime.Store(engine)
        module = wasmtime.Module.from_file(engine, folder + "/peak.wasm")
    run = wasmtime.Instance(store, module, []).exports(store)["run"]
    count, best = 10_000_000, 0.0
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        begin = time.perf_counter()
        run(store, count, 0.999, 0.001)
        best = max(best, 2 * 4 * SUMS * count / (time.perf_counter() - begin) / 1e9)
    print(f"{best:.1f} GFLOP/s")


if __name__ == "__main__":
    sys.exit(main())
