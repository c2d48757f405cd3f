"""Tuned kernels of awkward sizes: primes, 1, and below every tile. Inputs are whole numbers, so that numpy's answer is
the only right one."""

import unittest

import numpy as np

from fixture import CliTest

GEMM = """program gemm(M = 8, N = 8, K = 8)
in  A: f32[M, K]
in  B: f32[K, N]
out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]
"""
ROWS = """program rows(M = 8, N = 8)
in  X: f32[M, N]
let m[i: M] = max[j: N] X[i, j]
let s[i: M] = sum[j: N] (X[i, j] - m[i])
out Y[i: M, j: N] = (X[i, j] - m[i]) * 2.0 + s[i]
"""
STENCIL = """program blur(H = 8, W = 8)
in  X: f32[H, W]
out Y[y: H, x: W] = sum[r: 3, s: 3] (X[y + r - 1, x + s - 1] where 0 <= y + r - 1 < H and 0 <= x + s - 1 < W else 0)
"""


def rows(X):
    m = X.max(axis=1)
    return (X - m[:, None]) * 2 + (X - m[:, None]).sum(axis=1)[:, None]


def blur(X):
    wide = np.pad(X, 1)
    return sum(wide[r : r + X.shape[0], s : s + X.shape[1]] for r in range(3) for s in range(3))


class Sizes(CliTest):
    def tuned(self, text, sizes, inputs, expected, *words, trials=3):
        """Tunes, then runs what was stored on `inputs`."""
        bound = [word for name, value in sizes.items() for word in ("-p", f"{name}={value}")] + list(words)
        program = self.file("program.weft", text)
        self.succeeds("tune", program, *bound, "--budget", "60s", "--trials", trials)
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array.astype(np.float32))
        files = [word for name in inputs for word in ("--input", f"{name}={self.folder / name}.npy")]
        ((output, wanted),) = expected.items()
        done = self.polyweft("run", program, *bound, *files, "--output", f"{output}={self.folder / 'out.npy'}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernel: record", done.stderr, sizes)
        np.testing.assert_array_equal(
            np.load(self.folder / "out.npy"), wanted.astype(np.float32), err_msg=f"{sizes} {done.stderr}"
        )

    def gemm(self, m, n, k, *words, **options):
        random = np.random.default_rng(m * 7 + n * 3 + k)
        a, b = random.integers(-8, 9, (m, k)), random.integers(-8, 9, (k, n))
        self.tuned(GEMM, {"M": m, "N": n, "K": k}, {"A": a, "B": b}, {"C": a @ b}, *words, **options)

    def test_gemm_of_primes(self):
        self.gemm(509, 521, 503, trials=8)

    def test_gemm_of_primes_on_two_threads(self):
        self.gemm(127, 131, 113, "--threads", "2", trials=6)

    def test_gemm_below_a_tile(self):
        for sizes in ((1, 1, 1), (1, 521, 1), (1, 1, 64), (3, 2, 5), (7, 33, 3)):
            with self.subTest(sizes=sizes):
                self.gemm(*sizes)

    def test_rows_and_stencils(self):
        for m, n in ((1, 1), (1, 67), (5, 3)):
            x = np.random.default_rng(m + n).integers(-8, 9, (m, n))
            with self.subTest(rows=(m, n)):
                self.tuned(ROWS, {"M": m, "N": n}, {"X": x}, {"Y": rows(x)})
            with self.subTest(stencil=(m, n)):
                self.tuned(STENCIL, {"H": m, "W": n}, {"X": x}, {"Y": blur(x)})


if __name__ == "__main__":
    unittest.main()
