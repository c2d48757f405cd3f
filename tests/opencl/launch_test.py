"""examples/launch/opencl.c with headers and modules that `polyweft build` makes, beside sums that Python computes.

launch_test.py ROOT POLYWEFT
"""

import os
import subprocess
import sys
import tempfile

PRODUCT = """program product(M = 60, N = 70, K = 40)
in A: f32[M, K]
in B: f32[K, N]
let C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]
out D[i: M, j: N] = C[i, j] + C[i, 0]
"""
STEPS = """program steps(T = 5, N = 300)
in X: f32[N]
let A[0, i: N] = X[i]
let A[t: 1..T+1, i: N] = (A[t-1, i-1] where i >= 1 else 0.0) + (A[t-1, i+1] where i + 1 < N else 0.0)
out R[i: N] = A[T, i]
"""


def values(count):
    return [i % 17 - 8 for i in range(count)]


def sum_of_product():
    m, n, k = 60, 70, 40
    a, b = values(m * k), values(k * n)
    total = 0
    for i in range(m):
        row = [sum(a[i * k + x] * b[x * n + j] for x in range(k)) for j in range(n)]
        total += sum(row) + n * row[0]
    return total


def sum_of_steps():
    line = values(300)
    for _ in range(5):
        line = [(line[i - 1] if i else 0) + (line[i + 1] if i + 1 < len(line) else 0) for i in range(len(line))]
    return sum(line)


def main():
    root, polyweft = sys.argv[1:3]
    told = subprocess.run([polyweft, "targets"], capture_output=True, text=True, check=True).stdout
    if not any(line.split()[:1] == ["opencl"] and "runs here" in line for line in told.splitlines()):
        if "opencl" in os.environ.get("POLYWEFT_REQUIRED", ""):
            sys.exit("opencl is required, and does not run here")
        print("skipped: opencl: no device")
        return
    for name, text, wanted in (("product", PRODUCT, sum_of_product()), ("steps", STEPS, sum_of_steps())):
        with tempfile.TemporaryDirectory() as folder:
            source, header, module, program = (
                os.path.join(folder, name + end) for end in (".weft", ".h", ".spv", "_launch")
            )
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            for emit, path in (("header", header), ("artifact", module)):
                subprocess.run(
                    [polyweft, "build", source, "--target", "opencl", "--emit", emit, "-o", path],
                    check=True,
                    capture_output=True,
                )
            subprocess.run(
                ["cc", "-Wall", "-Wextra", "-Werror", f'-DHEADER="{header}"', f"-DNAME={name}"]
                + [os.path.join(root, "examples/launch/opencl.c"), "-l:libOpenCL.so.1", "-lm", "-o", program],
                check=True,
            )
            out = subprocess.run([program, module], check=True, capture_output=True, text=True).stdout.split()
            assert float(out[1]) == wanted, f"{name}: {out} instead of {wanted}"
            print(f"{name}: {out[0]} sums to {out[1]}")


if __name__ == "__main__":
    main()
