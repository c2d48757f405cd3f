"""Search and measurement apart: candidates are proposed, measured by polyweft-runner --batch, and observed; the record
then serves as one of a search."""

import os
import subprocess
import unittest

from fixture import BUILD, CliTest

PRODUCT = """program product(M = 48, N = 64, K = 40)
in  A: f32[M, K]
in  B: f32[K, N]
out C[i: M, j: N] = sum[k: K](A[i, k] * B[k, j])
"""


class Batches(CliTest):
    def setUp(self):
        super().setUp()
        self.program = self.file("product.weft", PRODUCT)
        self.work = self.folder / "work"

    def batch(self, *words, exit_code=0):
        done = self.polyweft("measure", self.work, *words, timeout=240)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_it_is_what_the_runner_does(self):
        """On a machine that has the runner alone: the same file, the same rows, and one goes on where the other ended."""
        self.propose(4)
        helpers = os.environ.get("POLYWEFT_HELPERS", os.path.join(BUILD, "src", "tools"))
        runner = [os.path.join(helpers, "polyweft-runner"), "--batch", str(self.work)]
        self.assertIn("the winner is number", subprocess.run(runner, capture_output=True, text=True, check=True).stdout)
        results = self.folder / "work.results"
        whole = results.read_bytes()
        results.write_bytes(whole[: len(whole) * 9 // 10])
        self.assertRegex(self.batch(), r"(?s)^\d+ of \d+ were measured before\n.*the winner is number \d+\nnext: ")
        by_command = self.polyweft("measure", self.work, "--runner", runner[0])
        self.assertEqual((by_command.returncode, by_command.stderr), (0, ""))

    def test_measure_says_what_it_cannot(self):
        cases = [
            (("none",), 3, "error: work file none: it cannot be read [PW0614]\n"),
            ((".",), 3, "error: work file .: it is a folder, not a file [PW0614]\n"),
            (("/dev/zero",), 3, "error: work file /dev/zero: it is a device, not a file [PW0614]\n"),
            (("x", "--runner", "/nowhere/runner"), 3, "error: /nowhere/runner cannot be started: "),
            (("x", "--deadline", "soon"), 2, "error: --deadline soon: expected a duration"),
            ((), 2, "error: polyweft measure: WORK is required [PW0008]\n"),
        ]
        for words, code, message in cases:
            done = self.polyweft("measure", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), f"{words} {done.stderr}")
            self.assertTrue(done.stderr.startswith(message), f"{words}: {done.stderr}")

    def test_a_deadline_ends_the_measuring_too(self):
        self.propose(8)
        done = self.polyweft("measure", self.work, "--deadline", "50ms")
        self.assertEqual(done.returncode, 2)
        self.assertIn("[PW0836]", done.stderr)
        while "another process measures this work" in self.polyweft("measure", self.work, timeout=240).stderr:
            pass  # it ends with its parent, some moments later
        self.assertEqual(self.observe()["event"], "observed")

    def propose(self, count, *words):
        return self.json_lines("tune", self.program, "--propose", count, "-o", self.work, *words)[-1]

    def observe(self, *words, **options):
        return self.json_lines("tune", "--observe", self.work, *words, **options)[-1]

    def traces(self):
        return [line for line in self.succeeds("db", "export").splitlines()]

    def test_the_next_commands_are_polyweft_s(self):
        done = self.polyweft("tune", self.program, "--propose", 1, "-o", self.work)
        self.assertIn(f"next: polyweft measure {self.work} · polyweft tune --observe {self.work}\n", done.stderr)

    def test_a_record_comes_of_it(self):
        proposed = self.propose(6)
        self.assertEqual(proposed["event"], "proposed")
        self.assertGreaterEqual(proposed["candidates"], 6)
        said = self.batch()
        self.assertIn("the winner is number", said)
        observed = self.observe()
        self.assertEqual(observed["measured"], proposed["candidates"])
        self.assertEqual(observed["times"], "measured")
        self.assertGreater(observed["record"], 0)
        self.assertTrue(observed["is_new"])
        self.assertGreater(observed["median_ns"], 0)
        again = self.observe()
        self.assertEqual((again["rows"], again["is_new"], again["record"]), (0, False, observed["record"]))
        self.assertIn(f"record #{observed['record']}", self.polyweft("build", self.program, "-o", "k.o").stderr)
        self.assertIn("verified", self.succeeds("run", self.program, "--verify"))

    def test_the_next_candidates_are_others(self):
        self.propose(5)
        self.batch()
        first = self.observe()
        second = self.propose(5)
        self.assertGreaterEqual(second["candidates"], 5)
        (self.folder / "work.results").unlink()
        self.batch()
        observed = self.observe()
        # the record that is served and the first choice are measured again, the others are new
        self.assertGreaterEqual(observed["rows"], 5)
        self.assertGreater(observed["record"], 0)
        stats = self.json_lines("db", "stats")[-1]
        self.assertGreaterEqual(stats["measurements"], first["rows"] + 5)

    def test_half_of_it_is_no_record(self):
        self.propose(6)
        self.batch()
        results = self.folder / "work.results"
        whole = results.read_bytes()
        results.write_bytes(whole[: len(whole) // 3])
        part = self.observe()
        self.assertLess(part["measured"], part["candidates"])
        self.assertEqual(part["record"], 0)
        self.batch()
        rest = self.observe()
        self.assertEqual(rest["measured"], rest["candidates"])
        self.assertGreater(rest["record"], 0)

    def test_for_a_machine_that_is_emulated(self):
        self.propose(3, "--target", "emulated:sm_80")
        self.batch()
        observed = self.observe()
        self.assertEqual(observed["times"], "expected")
        self.assertGreater(observed["record"], 0)

    def test_references_are_for_other_cpus_than_this(self):
        self.propose(2, "--target", "sm_90a")
        said = self.batch(exit_code=3)
        self.assertIn("[PW0517]", said)

    def test_refusals(self):
        self.refused(
            2,
            "error: --propose: the file is missing [PW0003]\n  note: give -o WORK",
            "tune",
            self.program,
            "--propose",
            3,
        )
        self.refused(
            2,
            "error: --observe takes no program: its file has one [PW0003]",
            "tune",
            self.program,
            "--observe",
            self.work,
        )
        self.refused(
            2,
            "error: --propose takes one program, and a file for it [PW0003]",
            "tune",
            self.program,
            self.program,
            "--propose",
            3,
            "-o",
            self.work,
        )
        self.propose(1)
        self.refused(
            3,
            "error: results {folder}/work.results: there are none [PW0615]\n"
            "  note: polyweft measure {folder}/work makes them",
            "tune",
            "--observe",
            self.work,
        )
        self.batch()
        done = self.polyweft("tune", "--observe", self.work, "--target", "sm_80")
        self.assertIn("[PW0616]", done.stderr)
        self.assertIn("is for target host (", done.stderr)
        self.work.write_bytes(self.work.read_bytes()[:-5])
        self.refused(
            3,
            "error: work file {folder}/work: its end is missing or damaged [PW0614]\n"
            "  note: polyweft tune FILE --propose N -o WORK makes one",
            "tune",
            "--observe",
            self.work,
        )


if __name__ == "__main__":
    unittest.main()
