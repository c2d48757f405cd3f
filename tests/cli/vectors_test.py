"""What `show --stage vectors` prints is a nest of its own: behind each pass of code generation, and behind all."""

import unittest

from fixture import CliTest

SUMS = """program sums(N = 40)
in X: f64[4, N]
let S[i: 4, j: N]: f64 = X[i, j] + S[i, j-1] where j >= 1 else X[i, j]
out R[i: 4, j: N] = S[i, j]
"""
PASSES = ["split_loops", "scalar_replacement"]


class Vectors(CliTest):
    def vectors(self, *words):
        sums = self.file("sums.weft", SUMS)
        base = self.file("base.trace", "trace 1\n")
        return self.succeeds("show", sums, "--numerics", "strict", "--schedule", base, "--stage", "vectors", *words)

    def test_each_pass_is_seen_by_what_it_does(self):
        split, replaced = (self.vectors("--after", name) for name in PASSES)
        self.assertTrue(split.startswith("nest 1 sums"), split)
        self.assertNotIn(" reg ", split)
        self.assertIn(" reg ", replaced)
        self.assertEqual(self.vectors(), replaced)

    def test_a_pass_that_is_none_is_refused_with_the_names_of_all(self):
        done = self.polyweft("show", self.file("sums.weft", SUMS), "--stage", "vectors", "--after", "unroll")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("error: code generation has no pass 'unroll' [PW0524]", done.stderr)
        self.assertIn("its passes, in their order: " + ", ".join(PASSES), done.stderr)

    def test_a_pass_without_its_stage_is_refused(self):
        for words in ([], ["--stage", "loops"]):
            done = self.polyweft("show", self.file("sums.weft", SUMS), "--after", PASSES[0], *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--after split_loops: only --stage vectors has passes", done.stderr)


if __name__ == "__main__":
    unittest.main()
