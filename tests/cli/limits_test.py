"""The limits of the language (LANGUAGE.md, section 9): what takes one exactly is checked, run and built; what takes one
more is refused by all three with the same code."""

import unittest

from fixture import CliTest

HEAD = "program p(N = 3)\nin A: f32[N]\n"


def rank(n):
    ones = ", ".join(["N"] + ["1"] * (n - 1))
    slots = ", ".join(["a: N"] + [f"{'bcdefghijklm'[k]}: 1" for k in range(n - 1)])
    zeros = ", ".join(["a"] + ["0"] * (n - 1))
    return f"program p(N = 3)\nin A: f32[{ones}]\nout Y[{slots}]: f32 = A[{zeros}]\n"


def indices(n):
    ranges = ", ".join(f"k{k}: 2" for k in range(n - 1))
    return HEAD + f"out Y[i: N] = sum[{ranges}] A[i]\n"


def chained(n, step):
    """n equations, each of the one before."""
    lines = [f"let T0[i: N]: f32 = {step('A')}"] + [
        f"let T{k}[i: N]: f32 = {step(f'T{k - 1}')}" for k in range(1, n - 1)
    ]
    return HEAD + "\n".join(lines) + f"\nout Y[i: N]: f32 = T{n - 2}[i]\n"


def elementwise(n):
    return chained(n, lambda before: f"{before}[i] + 1.0")


def summed(n):
    return chained(n, lambda before: f"0.5 * (sum[k: 0..i+1] {before}[k]) - (max[k: N] {before}[k])")


def read_by_one(n):
    """n equations, the last of which reads all others."""
    lines = [f"let T{k}[i: N]: f32 = A[i] * {k}.0" for k in range(n - 1)]
    return HEAD + "\n".join(lines) + f"\nout Y[i: N]: f32 = {' + '.join(f'T{k}[i]' for k in range(n - 1))}\n"


def outputs(n):
    """Of few outputs, for calls in one process have at most 32 arguments."""
    lines = [f"out partial Y{k % 16}[{k // 16}, i: N]: f32 = A[i] + {k}.0" for k in range(n)]
    return HEAD + "\n".join(lines) + "\n"


# The brackets of A[i] are the innermost ones.
def brackets(n):
    return HEAD + f"out Y[i: N] = {'(' * (n - 1)}A[i] + 1.0{')' * (n - 1)}\n"


def calls(n):
    return HEAD + f"out Y[i: N] = {'abs(' * (n - 1)}A[i]{')' * (n - 1)}\n"


def minuses(n):
    return HEAD + f"out Y[i: N] = {'-' * (n - 1)}A[i]\n"


def negations(n):
    return HEAD + f"out Y[i: N]: f32 = A[i] where {'not (' * n}i == 1{')' * n} else 0.0\n"


def guards(n):
    text = "0.0"
    for _ in range(n - 1):
        text = f"(A[i] where i == 1 else {text})"
    return HEAD + f"out Y[i: N]: f32 = {text}\n"


def disjuncts(n):
    return f"program p(N = 300)\nin A: f32[N]\nout Y[i: N]: f32 = A[i] where {' or '.join(f'i == {3 * k}' for k in range(n))} else 0.0\n"


def source(n):
    text = HEAD + "out Y[i: N] = A[i]\n#"
    return text + "x" * (n - len(text) - 1) + "\n"


def parameter(n):
    return f"program p(N = {n})\nin A: f32[3]\nout Y[i: 3]: f32 = A[i] + f32(N)\n"


def range_of(n):
    return f"program p(N = 3)\nin A: f32[N]\nout Y: f32 = sum[k: {n} where k < N] A[k]\n"


# (limit, text, n, code of n + 1)
TABLE = [
    ("rank", rank, 8, "PW0801"),
    ("indices", indices, 12, "PW0802"),
    ("chained equations", elementwise, 256, "PW0803"),
    ("chained equations with sums", summed, 256, "PW0803"),
    ("equations that one reads", read_by_one, 256, "PW0803"),
    ("equations of outputs", outputs, 256, "PW0803"),
    ("brackets", brackets, 200, "PW0804"),
    ("calls", calls, 200, "PW0804"),
    ("prefix operators", minuses, 200, "PW0804"),
    ("negations", negations, 100, "PW0804"),
    ("guarded values", guards, 200, "PW0804"),
    ("disjuncts", disjuncts, 64, "PW0808"),
    ("source", source, 1 << 20, "PW0806"),
    ("value of a parameter", parameter, (1 << 31) - 1, "PW0809"),
    ("literal extent", range_of, (1 << 31) - 1, "PW0809"),
]

# What takes isl minutes where the machine is busy is checked, and neither run nor built here.
ONLY_CHECKED = ("chained equations with sums",)


class Limits(CliTest):
    def commands(self, path):
        yield "check", self.polyweft("check", path)
        yield "run", self.polyweft("run", path, "--verify")
        yield "build", self.polyweft("build", path, "-o", f"{path}.o")

    def test_what_takes_a_limit_is_taken_by_all(self):
        for name, text, n, _ in TABLE:
            path = self.file("exact.weft", text(n))
            verbs = [("check", self.polyweft("check", path))] if name in ONLY_CHECKED else self.commands(path)
            for verb, done in verbs:
                with self.subTest(limit=name, verb=verb):
                    self.assertEqual(done.returncode, 0, done.stderr[:2000])

    def test_one_more_is_refused_by_all(self):
        for name, text, n, code in TABLE:
            path = self.file("more.weft", text(n + 1))
            for verb, done in self.commands(path):
                with self.subTest(limit=name, verb=verb):
                    self.assertEqual(done.returncode, 2, done.stderr[:2000])
                    self.assertIn(f"[{code}]", done.stderr)


if __name__ == "__main__":
    unittest.main()
