"""Domains of residue classes, whose unions isl takes long to simplify: always an answer, and the right one. How long it
takes: bench/first_answer.py --suite residues."""

import pathlib
import sys
import unittest

from fixture import SOURCE, CliTest

sys.path.insert(0, str(pathlib.Path(SOURCE) / "tests" / "generators"))
from residue_programs import program  # noqa: E402


class Residues(CliTest):
    def test_generated_programs_are_answered_and_right(self):
        for seed in range(1, 13):
            with self.subTest(seed=seed):
                path = self.file(f"{seed}.weft", program(seed))
                done = self.polyweft("run", path, "-p", "N=13", "-p", "T=3", "--verify")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("verified", done.stdout + done.stderr)

    def test_two_colours_in_three_dimensions_with_borders(self):
        reads = {0: "t-1", 1: "t"}
        places = ("i-1, j, k", "i+1, j, k", "i, j-1, k", "i, j+1, k", "i, j, k-1", "i, j, k+1")
        equations = [
            f"let U[t: 1..T+1, i: 1..N-1, j: 1..N-1, k: 1..N-1] where (i + j + k) % 2 == {c} =\n  ("
            + " + ".join(f"U[{t}, {p}]" for p in places)
            + ") / 6"
            for c, t in reads.items()
        ]
        edge = " or ".join(f"{n} == 0 or {n} == N-1" for n in "ijk")
        text = "\n".join(
            [
                "program colours(T = 10, N = 32)",
                "in A: f64[N, N, N]",
                "let U[0, i: N, j: N, k: N] = A[i, j, k]",
                *equations,
                f"let U[t: 1..T+1, i: N, j: N, k: N] where {edge} = U[t-1, i, j, k]",
                "out R[i: N, j: N, k: N] = U[T, i, j, k]",
            ]
        )
        done = self.polyweft("run", self.file("colours.weft", text + "\n"), "--verify")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
