"""PW_WITHOUT leaves abilities out (src/support/abilities.cpp): each name that the sources ask about is known, kernels
stay right without any of them, and other names are refused."""

import pathlib
import re
import unittest

from fixture import SOURCE, CliTest

FOLDERS = ("src", "schedules", "search", "cost_models", "targets")
PROGRAMS = (
    "examples/01_gemm.weft",
    "examples/05_softmax.weft",
    "examples/08_jacobi2d.weft",
    "examples/10_cholesky.weft",
    "examples/12_smith_waterman.weft",
    "examples/14_quantized_gemm.weft",
    "bench/floor/inverse_3x3.weft",
    "bench/floor/running_sum.weft",
)


def names():
    text = (pathlib.Path(SOURCE) / "src/support/abilities.cpp").read_text(encoding="utf-8")
    return re.findall(r'^    \{"([a-z_.]+)", "', text, re.M)


class Abilities(CliTest):
    def test_each_is_asked_about_and_has_a_line(self):
        asked = set()
        for folder in FOLDERS:
            for path in (pathlib.Path(SOURCE) / folder).rglob("*.cpp"):
                if path.name != "abilities.cpp":
                    asked |= set(
                        re.findall(
                            r'"((?:normalize|rule|sketch|code|model|mutation)\.[a-z_]+)"',
                            path.read_text(encoding="utf-8"),
                        )
                    )
        self.assertEqual(asked, set(names()))
        self.assertEqual(names(), sorted(set(names())))

    def test_results_are_right_without_all_of_them(self):
        for program in PROGRAMS:
            small = (
                ("-p", "N=64") if "inverse" in program else ("-p", "R=5", "-p", "N=300") if "running" in program else ()
            )
            for without in (
                names(),
                [n for n in names() if n.startswith("rule.")],
                [n for n in names() if not n.startswith("rule.")],
            ):
                with self.subTest(program=program, without=without[0]):
                    done = self.polyweft(
                        "run",
                        pathlib.Path(SOURCE) / program,
                        *small,
                        "--verify",
                        environment={"PW_WITHOUT": ",".join(without)}
                    )
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_is_left_out_is_missing(self):
        def trace(without):
            return self.polyweft(
                "show",
                pathlib.Path(SOURCE) / "examples/12_smith_waterman.weft",
                "--stage",
                "trace",
                environment={"PW_WITHOUT": without},
            ).stdout

        self.assertNotEqual(trace(""), trace("rule.diagonals"))
        self.assertEqual(trace(""), trace("rule.packing"))

    def test_unknown_names_are_refused(self):
        done = self.polyweft("run", self.small(), environment={"PW_WITHOUT": "rule.packing,rule.nothing"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no 'rule.nothing' to leave out", done.stderr)


if __name__ == "__main__":
    unittest.main()
