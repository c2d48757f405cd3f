"""Machines that somebody describes, instructions of their own, records of other targets, and kernels for all sizes."""

import os
import re
import unittest

from fixture import SOURCE, CliTest

GEMM = os.path.join(SOURCE, "examples/01_gemm.weft")
SIZES = ("-p", "M=24", "-p", "N=40", "-p", "K=16")
GEMMINI = os.path.join(SOURCE, "targets/descriptions/gemmini.toml")
BYTES = """program mm(M = 64, N = 64, K = 64)
in A: i8[M, K]
in B: i8[K, N]
out C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])
"""


class Targets(CliTest):
    def test_units_and_descriptions_are_listed(self):
        lines = self.json_lines("targets")
        units = {line["feature"]: line for line in lines if line["event"] == "unit"}
        self.assertEqual(
            units["unit-16x16x16-s8"]["product"], "D: i32[16, 16] += A: i8[16, 16] * B: i8[16, 16]", units.keys()
        )
        self.assertIn("gemmini", [line["name"] for line in lines if line["event"] == "target"])
        text = self.succeeds("targets")
        self.assertIn("\nunits that descriptions may name in `features`:\n", text)
        self.assertRegex(text, r"\nunit-8x8x32-s8 +D: i32\[8, 8\] \+= A: i8\[8, 32\] \* B: i8\[32, 8\]\n")

    def test_a_description_is_a_target_by_its_name(self):
        program = self.file("mm.weft", BYTES)
        by_name = self.succeeds("show", program, "--target", "gemmini", "--stage", "trace")
        self.assertIn("by unit_16x16x16_s8", by_name)
        self.assertEqual(by_name, self.succeeds("show", program, "--target", GEMMINI, "--stage", "trace"))

    def test_what_is_wrong_with_a_description_is_said(self):
        with open(GEMMINI, encoding="utf-8") as file:
            text = file.read()
        for name, change, message in (
            ("key.toml", ("copy_rows =", "copy_row ="), r"line \d+: there is no key 'copy_row'"),
            (
                "unit.toml",
                ("unit-16x16x16-s8", "unit-8x8x8-s8"),
                "features: there is no instruction of the unit 'unit-8x8x8-s8'",
            ),
        ):
            path = self.file(name, text.replace(*change))
            done = self.polyweft("show", self.small(), "--target", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, rf"^error: {re.escape(str(path))}: {message} \[PW0511\]\n  note: ")

    def test_instructions_come_from_a_folder(self):
        with open(os.path.join(SOURCE, "targets/instructions/unit_8x8x32_s8.instruction"), encoding="utf-8") as file:
            text = file.read().replace("unit_8x8x32_s8", "my_unit").replace("unit-8x8x32", "unit-mine")
        mine = self.file("mine/mine.instruction", text)
        line = next(
            line
            for line in self.json_lines("targets", "--instructions", "mine")
            if line["event"] == "unit" and line["feature"] == "unit-mine-s8"
        )
        self.assertEqual((line["instruction"], line["file"]), ("my_unit", "mine/mine.instruction"))
        with open(os.path.join(SOURCE, "tests/unit/made_up.toml"), encoding="utf-8") as file:
            description = file.read()
        machine = self.file("my.toml", description.replace("unit-8x8x32-s8", "unit-mine-s8"))
        program = self.file("mm.weft", BYTES)
        self.assertEqual(self.polyweft("show", program, "--target", machine).returncode, 2)
        words = ("show", program, "--target", machine, "--stage", "trace")
        self.assertIn("by my_unit", self.succeeds(*words, "--instructions", "mine"))
        self.assertIn("by my_unit", self.succeeds(*words, environment={"POLYWEFT_INSTRUCTIONS": "mine"}))
        self.file("polyweft.toml", 'instructions = "mine"\n')
        self.assertIn("by my_unit", self.succeeds(*words))
        self.file("polyweft.toml", "")
        mine.write_text("instruction 7\n", encoding="utf-8")
        note = "\n  note: see docs/add_an_instruction.md"
        self.refused(
            2,
            "error: --instructions mine/mine.instruction: instruction: only version 1 is known [PW0020]" + note,
            "targets",
            "--instructions",
            "mine",
        )
        self.refused(
            2,
            "error: --instructions none: cannot be read: No such file or directory [PW0020]" + note,
            "targets",
            "--instructions",
            "none",
        )

    def test_why_a_unit_computes_nothing_is_said(self):
        done = self.polyweft("show", self.small(), "--target", "gemmini", "--stage", "trace")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: target ", done.stderr)
        self.assertIn("its unit computes nothing of small: no sum of the program is D: i32[16, 16] += ", done.stderr)


class OtherRecords(CliTest):
    def test_a_record_is_shown_for_its_own_target(self):
        self.succeeds("tune", GEMM, *SIZES, "--trials", "2")
        self.assertEqual(
            self.succeeds("show", "1", "--stage", "assembly"),
            self.succeeds("show", "1", "--stage", "assembly", "--target", "x86-64"),
        )
        self.assertIn("hot loop: ", self.succeeds("explain", "1", "--target", "x86-64"))

    def test_without_that_target_code_is_refused(self):
        text = self.succeeds("targets", "host")
        mine = self.file("mine.toml", re.sub(r"cache_bytes = \[\d+", "cache_bytes = [12288", text))
        self.succeeds("tune", GEMM, *SIZES, "--trials", "2", "--target", mine)
        done = self.polyweft("show", "1", "--stage", "assembly")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^error: record #1 is of another target than host: x86-64/.* \[PW0540\]\n  note: name")
        self.assertIn("ret", self.succeeds("show", "1", "--stage", "assembly", "--target", mine))
        self.succeeds("show", "1", "--stage", "loops")
        explained = self.succeeds("explain", "1")
        self.assertRegex(explained, r"\nroofline: not known: record #1 is of another target than host: ")
        self.assertNotIn("hot loop", explained)
        self.assertIn("hot loop", self.succeeds("explain", "1", "--target", mine))


class AllSizes(CliTest):
    def test_a_kernel_for_all_sizes_is_called_with_these(self):
        for sizes in (SIZES, ("-p", "M=1", "-p", "N=1", "-p", "K=1"), ("-p", "M=33", "-p", "N=5", "-p", "K=7")):
            self.assertIn("verified: ", self.succeeds("run", GEMM, *sizes, "--symbolic", "--verify"))
            done = self.polyweft("run", GEMM, *sizes, "--symbolic")
            self.assertEqual((done.returncode, done.stderr), (0, "kernel: symbolic base order\n"))

    def test_what_does_not_go_with_it(self):
        done = self.polyweft("run", GEMM, "--symbolic", "-p", "M=0")
        self.assertEqual(done.returncode, 2, done.stderr)
        trace = self.file("one.trace", "trace 1\n")
        done = self.polyweft("run", GEMM, "--symbolic", "--schedule", trace)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("[PW0521]", done.stderr)


if __name__ == "__main__":
    unittest.main()
