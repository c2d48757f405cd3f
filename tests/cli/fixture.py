"""What the tests of the command line share: the program, an environment of its own, files to give it."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

POLYWEFT, SOURCE, BUILD = (os.environ[name] for name in ("PW_POLYWEFT", "PW_SOURCE", "PW_BUILD"))
CRASH_CODES = {4, 134, 136, 137, 139, -4, -6, -7, -8, -9, -11}

SMALL = """program small(N = 8)
in  A: f32[N, N]
in  B: f32[N, N]
out C[i: N, j: N] = sum[k: N](A[i, k] * B[k, j])
"""


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="polyweft-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        keep = {
            name: os.environ[name]
            for name in (
                "PATH",
                "LD_LIBRARY_PATH",
                "POLYWEFT_HELPERS",
                "POLYWEFT_HOST",
                "ASAN_OPTIONS",
                "LSAN_OPTIONS",
                "TSAN_OPTIONS",
            )
            if name in os.environ
        }
        self.environment = dict(
            keep,
            HOME=str(self.folder),
            XDG_DATA_HOME=str(self.folder / "data"),
            XDG_CONFIG_HOME=str(self.folder / "config"),
            LC_ALL="C.UTF-8",
        )

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def small(self):
        return self.file("small.weft", SMALL)

    def polyweft(self, *words, environment=None, timeout=120, **options):
        done = subprocess.run(
            [POLYWEFT, *map(str, words)],
            capture_output=True,
            timeout=timeout,
            cwd=self.folder,
            env=dict(self.environment, **(environment or {})),
            **options,
        )
        done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        self.assertNotIn(done.returncode, CRASH_CODES, f"{words}\n{done.stdout}{done.stderr}")
        return done

    def succeeds(self, *words, **options):
        done = self.polyweft(*words, **options)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def refused(self, exit_code, message, *words, **options):
        """The command ends with this code and its standard error is `message`, verbatim; {folder} is this test's
        folder."""
        done = self.polyweft(*words, **options)
        self.assertEqual(
            done.stderr.replace(str(self.folder), "{folder}").rstrip("\n"),
            message.rstrip("\n"),
            f"{words}: exit {done.returncode}",
        )
        self.assertEqual(done.returncode, exit_code, f"{words}\n{done.stderr}")
        self.assertEqual(done.stdout, "")

    def json_lines(self, *words, exit_code=0, **options):
        done = self.polyweft(*words, "--json", **options)
        self.assertEqual(done.returncode, exit_code, f"{words}\n{done.stdout}{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]
