"""examples/launch/cuda.c with headers and PTX that `polyweft build` makes, on the driver of the tests, which has no
device: what is launched, what it says of a right and of a wrong result, and of each thing that fails.

launch_test.py ROOT POLYWEFT FOLDER_OF_THE_DRIVER
"""

import os
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT, POLYWEFT, DRIVER = sys.argv[1:4]
M, N, K = 128, 128, 96
LARGE = """trace 1
  tile C [i: 128, j: 128, k: 32, i: 64, j: 64, i: 16, j: 8, k: 16]
  permute C [i.1, j.1, i.2, j.2, k.1, k.2, i.3, j.3, i, j, k]
  bind C i.1 to block_y
  bind C j.1 to block_x
  bind C i.2 to thread_z
  bind C j.2 to thread_y
  accumulate C at j.2 tile
  promote A in C at k.1 shared vectors 8
  promote B in C at k.1 shared vectors 8
  pipeline C k.1 by 3
  tensorize C i, j, k by mma_m16n8k16_bf16
  unroll C i.3, j.3
"""


def values(count):
    return [i % 17 - 8 for i in range(count)]


def product():
    """Bytes of the right result."""
    a, b = values(M * K), values(K * N)
    columns = [b[j::N] for j in range(N)]
    rows = [a[i * K : i * K + K] for i in range(M)]
    return struct.pack(f"<{M * N}f", *(sum(x * y for x, y in zip(row, column)) for row in rows for column in columns))


class Launch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        with open(cls.path("large.trace"), "w", encoding="utf-8") as f:
            f.write(LARGE)
        with open(cls.path("result"), "wb") as f:
            f.write(product())
        cls.programs = {
            "bf16": cls.build("bf16", "examples/16_gpu_product.weft", "gpu_product", cls.path("large.trace")),
            "f32": cls.build("f32", "examples/01_gemm.weft", "gemm"),
        }

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def build(cls, name, source, program, trace=None):
        words = ["build", os.path.join(ROOT, source), "--target", "sm_80"]
        words += [word for size in (f"M={M}", f"N={N}", f"K={K}") for word in ("-p", size)]
        words += ["--schedule", trace] if trace else []
        environment = dict(os.environ, XDG_DATA_HOME=cls.folder)
        for emit, end in (("header", ".h"), ("artifact", ".ptx")):
            subprocess.run(
                [POLYWEFT, *words, "--emit", emit, "-o", cls.path(name + end)],
                check=True,
                capture_output=True,
                env=environment,
            )
        subprocess.run(
            ["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f'-DHEADER="{cls.path(name)}.h"']
            + [f"-DNAME={program}", f"-DM={M}", f"-DN={N}", f"-DK={K}"]
            + [os.path.join(ROOT, "examples/launch/cuda.c"), "-ldl", "-o", cls.path(name)],
            check=True,
        )
        return cls.path(name)

    def run_it(self, program, *words, driver=DRIVER, **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PW_CUDA_")}
        environment.update(settings, LD_LIBRARY_PATH=driver)
        words = words or (self.programs[program] + ".ptx",)
        done = subprocess.run([self.programs[program], *words], capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout, done.stderr

    def test_right_results_are_told(self):
        for program in self.programs:
            code, out, errors = self.run_it(program, PW_CUDA_RESULT=self.path("result"))
            self.assertEqual((code, errors), (0, ""))
            self.assertIn(f"a fake\nall {M * N} elements are right; ", out)

    def test_wrong_results_are_told(self):
        wrong = bytearray(product())
        wrong[4 * (3 * N + 5) : 4 * (3 * N + 5) + 4] = struct.pack("<f", float("nan"))
        wrong[-4:] = struct.pack("<f", 1e9)
        with open(self.path("wrong"), "wb") as f:
            f.write(wrong)
        code, out, errors = self.run_it("bf16", PW_CUDA_RESULT=self.path("wrong"))
        self.assertEqual((code, out), (1, "a fake\n"))
        self.assertRegex(errors, r"^C\[3, 5\] is -?nan, and -?\d+ is right\n")
        self.assertIn(f"2 of {M * N} elements are wrong\n", errors)

    def test_launches_have_the_sizes_of_the_header(self):
        log = self.path("log")
        code, _, _ = self.run_it("bf16", PW_CUDA_RESULT=self.path("result"), PW_CUDA_LOG=log)
        self.assertEqual(code, 0)
        with open(log, encoding="utf-8") as f:
            lines = f.read().splitlines()
        with open(self.programs["bf16"] + ".h", encoding="utf-8") as f:
            self.assertIn("{1, 1, 1}, {32, 2, 2}, 52736, 0, 52736}", f.read())
        self.assertEqual(lines, ["gpu_product_k0 <1 1 1> <32 2 2> 52736 of 3"] * 101)

    def test_what_fails_is_named(self):
        named = {
            "cuInit": "the driver's start: CUDA_ERROR_INVALID_VALUE (1)\n",
            "cuDeviceGetCount": "the driver has no device\n",
            "cuModuleLoadDataEx": "the driver refuses the module: line 1: nonsense\n"
            "the module: CUDA_ERROR_INVALID_VALUE (1)\n",
            "cuFuncSetAttribute": "its shared memory: CUDA_ERROR_INVALID_VALUE (1)\n",
            "cuMemAlloc_v2": "A: CUDA_ERROR_OUT_OF_MEMORY (2)\n",
            "cuLaunchKernel": "gpu_product_k0: CUDA_ERROR_INVALID_VALUE (1)\n",
        }
        for function, said in named.items():
            code, _, errors = self.run_it("bf16", PW_CUDA_REFUSES=function)
            self.assertEqual((code, errors), (1, said), function)

    def test_other_kernels_are_not_taken(self):
        code, _, errors = self.run_it("bf16", self.programs["f32"] + ".ptx")
        self.assertEqual((code, errors), (1, "gpu_product_k0: CUDA_ERROR_INVALID_VALUE (1)\n"))

    def test_files_and_words_are_told(self):
        code, _, errors = self.run_it("bf16", self.path("none.ptx"))
        self.assertEqual(code, 1)
        self.assertIn("none.ptx: No such file", errors)
        code, _, errors = self.run_it("bf16", "one", "two")
        self.assertEqual(code, 2)
        self.assertIn("KERNELS.ptx", errors)

    def test_a_machine_without_the_driver_is_told(self):
        code, _, errors = self.run_it("bf16", driver=self.folder)
        if "libcuda.so.1" not in errors:
            self.skipTest("this machine has NVIDIA's driver")
        self.assertEqual(code, 1)
        self.assertIn("no libcuda.so.1, which NVIDIA's driver has: ", errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
