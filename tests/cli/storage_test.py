"""What `show --stage storage` says is what the compiled kernel asks for, and --max-workspace is kept or refused with
the least that was found."""

import re
import unittest

from fixture import CliTest

SMOOTH = """program smooth(T = 4, N = 80)
in A0: f64[N, N]
let A[0, i: N, j: N] = A0[i, j]
let B[t: 1..T+1, i: N, j: N] = A[t-1, i, N-1-j] * 0.5
let A[t: 1..T+1, i: N, j: N] = B[t, N-1-i, j] + 1.0
out R[i: N, j: N] = A[T, i, j]
"""


class Storage(CliTest):
    def shown(self, *words):
        lines = self.json_lines("show", *words, "--stage", "storage")
        self.assertEqual(len(lines), 1)
        return lines[0]

    def asked(self, *words):
        """Bytes of all calls of halide_malloc in the text of the kernel."""
        text = self.succeeds("show", *words, "--stage", "llvm")
        return sum(int(bytes) for bytes in re.findall(r"call .*@halide_malloc\(ptr null, i64 (\d+)\)", text))

    def test_the_report_is_what_the_code_asks_for(self):
        smooth = self.file("smooth.weft", SMOOTH)
        base = self.file("base.trace", "trace 1\n")
        shown = self.shown(smooth, "--schedule", base)
        self.assertEqual(self.asked(smooth, "--schedule", base), shown["workspace_bytes"])
        self.assertEqual(shown["single_assignment_bytes"], (5 + 4) * 80 * 80 * 8)
        kinds = {buffer["name"]: (buffer["kind"], buffer["bytes"]) for buffer in shown["buffers"]}
        self.assertEqual(kinds["A0"], ("argument", 51200))
        self.assertEqual(kinds["B"], ("workspace", 51200))
        self.assertLess(shown["workspace_bytes"], 2 * 51200 + 10000)
        self.assertIn(f"workspace: {shown['workspace_bytes']} bytes", shown["text"])

    def test_the_bound_is_kept_or_refused(self):
        smooth = self.file("smooth.weft", SMOOTH)
        need = self.shown(smooth, "--max-workspace", "100000000")["workspace_bytes"]
        done = self.polyweft("run", smooth, "--max-workspace", "1000")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("PW0821", done.stderr)
        least = int(re.search(r"(\d+) bytes is the least that was found", done.stderr)[1])
        self.assertGreater(least, 1000)
        self.assertLessEqual(least, need)
        for bound in (least, need):
            kept = self.shown(smooth, "--max-workspace", bound)
            self.assertLessEqual(kept["workspace_bytes"], bound)
            self.assertLessEqual(self.asked(smooth, "--max-workspace", bound), bound)
        self.succeeds("run", smooth, "--max-workspace", least, "--verify")
        self.assertEqual(self.polyweft("run", smooth, "--max-workspace", least - 1).returncode, 2)

    def test_a_search_keeps_it_too(self):
        smooth = self.file("smooth.weft", SMOOTH)
        refused = self.polyweft("tune", smooth, "--trials", "2", "--max-workspace", "1000")
        self.assertIn("PW0821", refused.stderr)
        least = int(re.search(r"(\d+) bytes is the least that was found", refused.stderr)[1])
        self.succeeds("tune", smooth, "--trials", "2", "--max-workspace", least)
        self.assertLessEqual(self.shown("1")["workspace_bytes"], least)

    def test_a_kernel_without_locals_takes_nothing(self):
        small = self.small()
        self.assertEqual(self.shown(small, "--max-workspace", "0")["workspace_bytes"], 0)
        self.succeeds("run", small, "--max-workspace", "0")


if __name__ == "__main__":
    unittest.main()
