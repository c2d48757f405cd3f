"""What this machine runs: targets above its level are built for and never run, and names that no symbol can have are
refused by every product."""

import unittest

from fixture import CliTest

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
EMITS = ("object", "assembly", "llvm", "shared", "static", "header", "c", "artifact")


def held(level):
    return {"POLYWEFT_HOST": level}


class Held(CliTest):
    def test_targets_above_the_level_are_for_building_only(self):
        def running(level):
            lines = self.json_lines("targets", environment=held(level))
            return {line["name"] for line in lines if line["event"] == "target" and line["runs_here"]}

        can = running(LEVELS[-1])  # whatever holds the suite
        for number, level in enumerate(LEVELS):
            runs = running(level)
            self.assertEqual(runs & {"host", *LEVELS}, can & {"host", *LEVELS[: number + 1]}, level)

    def test_nothing_runs_code_that_this_cpu_lacks_features_for(self):
        small, missing = self.small(), "avx avx2 bmi bmi2 f16c fma lzcnt movbe"
        message = (
            f"error: a kernel for x86-64-v3 needs {missing}, which this CPU, held to x86-64-v2, has not [PW0517]\n"
            "  note: use build, or --target host"
        )
        description = self.file("other.toml", 'features = ["sse2", "tail-wag"]\n')
        for words in (
            ("tune", small, "--trials", "2"),
            ("run", small),
            ("run", small, "--verify"),
            ("bench", small, "--milliseconds", "10"),
        ):
            with self.subTest(words=words):
                self.refused(2, message, *words, "--target", "x86-64-v3", environment=held("x86-64-v2"))
                self.assertIn("PW0511", self.polyweft(*words, "--target", description).stderr)
        for emit in EMITS:
            self.succeeds(
                "build", small, "--emit", emit, "-o", "out", "--target", "x86-64-v3", environment=held("x86-64-v2")
            )
        self.succeeds("show", small, "--stage", "assembly", "--target", "x86-64-v3", environment=held("x86-64-v2"))

    def test_kernels_of_the_level_run(self):
        for level in LEVELS[:2]:
            self.succeeds("run", self.small(), "--verify", environment=held(level))
            self.succeeds("tune", self.small(), "--trials", "2", environment=held(level))

    def test_what_is_no_level(self):
        self.refused(
            2,
            "error: environment POLYWEFT_HOST: 'haswell' is no level that the host can be held to [PW0009]\n"
            "  note: known: x86-64, x86-64-v2, x86-64-v3, x86-64-v4",
            "targets",
            environment=held("haswell"),
        )


class Names(CliTest):
    def test_every_product_refuses_what_no_symbol_can_be(self):
        small = self.small()
        reasons = {
            "int": "a word of C or C++",
            "9 b;ad": "no C identifier",
            "x-y": "no C identifier",
            "class": "a word of C or C++",
            "read": "a name of the C library",
            "halide_free": "a symbol of the runtime",
            "__x": "reserved for the compiler and its libraries",
        }
        for name, reason in reasons.items():
            for emit in EMITS:
                with self.subTest(name=name, emit=emit):
                    self.refused(
                        2,
                        f"error: the kernel's name '{name}' is {reason} [PW0513]\n  note: give the kernel another name with --name",
                        "build",
                        small,
                        "--emit",
                        emit,
                        "-o",
                        "out",
                        "--name",
                        name,
                    )
                    self.assertFalse((self.folder / "out").exists())

    def test_a_program_of_such_a_name_runs_and_is_built_under_another(self):
        program = self.file("printf.weft", "program printf(N = 8)\nin A: f32[N]\nout int[i: N] = 2.0 * A[i]\n")
        self.succeeds("run", program, "--verify")
        self.assertIn("PW0513", self.polyweft("build", program, "-o", "out").stderr)
        for emit in EMITS:
            self.succeeds("build", program, "--emit", emit, "-o", "out", "--name", "twice")


if __name__ == "__main__":
    unittest.main()
