"""Completion and manual page come from the program's own table; shells really run the scripts where they are
installed."""

import pathlib
import shutil
import subprocess
import unittest

from fixture import BUILD, POLYWEFT, CliTest

VERBS = ["check", "tune", "measure", "run", "build", "bench", "show", "explain", "db", "targets", "config"]
VERBS += ["completion", "man"]


class Completion(CliTest):
    def candidates(self, *words):
        return self.succeeds("__complete", *words).splitlines()

    def bash(self, *words):
        """What bash offers for the last of these words. Like readline, = stands as a word of its own."""
        script = self.file("completion.bash", self.succeeds("completion", "bash"))
        quoted = " ".join(f"'{word}'" for word in (POLYWEFT, *words))
        call = f"source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _polyweft; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(
            ["bash", "-c", call], capture_output=True, text=True, cwd=self.folder, env=self.environment, timeout=60
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_completes_verbs_in_the_order_of_help(self):
        self.assertEqual(self.candidates(""), VERBS)
        self.assertEqual(self.candidates("b"), ["build", "bench"])
        self.assertEqual(
            self.candidates("db", ""), ["stats", "list", "verify", "export", "import", "delete", "hosts", "probe"]
        )

    def test_completes_options_of_the_verb(self):
        self.assertEqual(self.candidates("tune", "--bu"), ["--budget"])
        self.assertEqual(self.candidates("run", "x.weft", "--ver"), ["--verify"])
        self.assertEqual(self.candidates("db", "list", "--li"), ["--limit"])

    def test_completes_closed_values_and_files(self):
        self.assertEqual(self.candidates("run", "--numerics", "con"), ["contract"])
        self.assertEqual(self.candidates("build", "--emit", "s"), ["shared", "static"])
        self.assertEqual(self.candidates("run", "--schedule", ""), [":files"])
        self.assertIn("x86-64-v3", self.candidates("tune", "--target", "x86"))

    def test_completes_parameters_and_tensors_of_the_given_program(self):
        small = self.small()
        self.assertEqual(self.candidates("run", small, "-p", ""), ["N="])
        self.assertEqual(self.candidates("run", small, "--input", ""), ["A=", "B="])
        self.assertEqual(self.candidates("run", small, "--output", ""), ["C="])

    def test_a_program_that_does_not_parse_completes_to_nothing(self):
        self.assertEqual(self.candidates("run", self.file("bad.weft", "progam\x00"), "-p", ""), [])

    def test_bash_runs_the_script(self):
        self.small()
        self.assertEqual(self.bash("tu"), ["tune"])
        self.assertEqual(self.bash("run", "small.weft", "-p", "N"), ["N="])
        self.assertEqual(self.bash("run", "sma"), ["small.weft"])

    def test_scripts_are_sound_in_their_shells(self):
        for shell, flag in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            with self.subTest(shell=shell):
                script = self.file(f"completion.{shell}", self.succeeds("completion", shell))
                self.assertIn("__complete", script.read_text())
                if shutil.which(shell):
                    done = subprocess.run([shell, flag, str(script)], capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_manual_has_every_verb_and_option_and_no_warning(self):
        page = self.succeeds("man")
        self.assertEqual(page, pathlib.Path(BUILD, "src/cli/pages/polyweft.1").read_text(encoding="utf-8"))
        for verb in VERBS:
            self.assertIn(f".SS polyweft {verb}\n", page)
            for option in self.candidates(verb, "--"):
                self.assertIn(
                    f"\\fB\\-\\-{option[2:]}\\fR".replace(
                        "\\-\\-" + option[2:], "\\-\\-" + option[2:].replace("-", "\\-")
                    ),
                    page,
                )
        if shutil.which("man"):
            done = subprocess.run(
                ["man", "-l", "--warnings", "-E", "UTF-8", f"{BUILD}/src/cli/pages/polyweft.1"],
                capture_output=True,
                text=True,
                timeout=60,
                env=self.environment,
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("polyweft tune", done.stdout)


if __name__ == "__main__":
    unittest.main()
