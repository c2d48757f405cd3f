"""Every place where a file is named, times every kind of thing that may lie there: a message and an exit code at once.
Nothing hangs, nothing fills the memory, nothing aborts. What must be refused is refused with a code."""

import os
import random
import socket
import subprocess
import unittest

import numpy

from fixture import BUILD, CRASH_CODES, CliTest

SEED = int(os.environ.get("PW_FUZZ_SEED", "20261128"))
HANGS_S = 60  # no measurement: what does not end is killed
RUNNER = os.path.join(BUILD, "src", "tools", "polyweft-runner")


def noise(size):
    return random.Random(SEED).randbytes(size)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def make_hole(path):
    path.write_bytes(b"")
    os.truncate(path, 40 << 30)


def make_unreadable(path):
    path.write_bytes(b"x")
    path.chmod(0)


# kind: how it is made, and whether every reader refuses it.
ODD = {
    "pipe": (os.mkfifo, True),
    "zeros": (lambda path: path.symlink_to("/dev/zero"), True),
    "folder": (lambda path: path.mkdir(), True),
    "hole": (make_hole, True),
    "socket": (make_socket, True),
    "dangling": (lambda path: path.symlink_to("nowhere"), True),
    "loop": (lambda path: path.symlink_to(path.name), True),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), True),
    "unreadable": (make_unreadable, False),
    "empty": (lambda path: path.write_bytes(b""), False),
    "noise": (lambda path: path.write_bytes(noise(3000)), False),
    "long line": (lambda path: path.write_bytes(b"a" * (2 << 20)), False),
    "name\nof two lines": (lambda path: path.write_bytes(noise(100)), False),
}

# place: the words, FILE where the odd thing is named.
READ = {
    "check": ("check", "FILE"),
    "tune": ("tune", "FILE", "--budget", "0"),
    "run": ("run", "FILE"),
    "bench": ("bench", "FILE"),
    "build": ("build", "FILE", "-o", "-"),
    "show": ("show", "FILE"),
    "program of a file": ("show", "FILE:small"),
    "explain": ("explain", "FILE"),
    "schedule": ("show", "SMALL", "--schedule", "FILE"),
    "rival": ("bench", "SMALL", "--against", "trace:FILE"),
    "input": ("run", "SMALL", "--input", "A=FILE"),
    "target": ("show", "SMALL", "--target", "FILE"),
    "description": ("targets", "FILE"),
    "references": ("tune", "SMALL", "--target", "sm_90a", "--propose", "1", "-o", "w", "--references", "FILE"),
    "import": ("db", "import", "FILE", "--database", "own.db"),
    "observe": ("tune", "--observe", "FILE", "--database", "own.db"),
    "work": ("measure", "FILE"),
    "seeds": ("tune", "SMALL", "--trials", "1", "--seeds", "FILE", "--database", "own.db"),
    "database": ("db", "stats", "--database", "FILE"),
    "database of a run": ("show", "SMALL", "--database", "FILE"),
}
# A file of a folder that is read, and what reads it.
FOUND = {
    "settings": ("polyweft.toml", ("targets", "host")),
    "settings of the user": ("config/polyweft/config.toml", ("targets", "host")),
    "trace of a folder": ("seeds/x.trace", ("tune", "SMALL", "--budget", "0", "--seeds", "seeds")),
    "program of a folder": ("programs/x.weft", ("check", "programs")),
    "completion": ("y.weft", ("__complete", "run", "y.weft", "-p", "")),
    "results of work": ("work.results", ("tune", "--observe", "work")),
    "results that go on": ("work.results", ("measure", "work")),
}
WRITTEN = {
    "build": ("build", "SMALL", "--emit", "c", "-o", "FILE"),
    "output": ("run", "SMALL", "--output", "C=FILE"),
    "export": ("db", "export", "--database", "known.db", "-o", "FILE"),
}
# Places that say nothing, or a warning, and go on.
LEAVES_OUT = ("completion", "trace of a folder")


class OddFiles(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["TERM"] = "dumb"
        self.small()

    def ends(self, place, kind, words, **options):
        path = self.folder / kind
        done = self.polyweft(
            *[word.replace("FILE", str(path)).replace("SMALL", "small.weft") for word in words],
            timeout=HANGS_S,
            **options,
        )
        self.assertIn(done.returncode, (0, 1, 2, 3), f"{place}, {kind}: {done.stderr}")
        if done.returncode != 0:
            self.assertRegex(done.stderr + done.stdout, r"PW\d{4}|problem", f"{place}, {kind}")
        self.assertNotIn("\x1b", done.stderr)
        return done

    def made(self, kind, name=None):
        path = self.folder / (name or kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        make, is_refused = ODD[kind]
        make(path)
        self.addCleanup(lambda: path.exists() and not path.is_dir() and path.chmod(0o600))
        return is_refused

    def test_where_files_are_read(self):
        for kind in ODD:
            is_refused = self.made(kind)
            for place, words in READ.items():
                with self.subTest(place=place, kind=kind, seed=SEED):
                    done = self.ends(place, kind, words, input=b"")
                    if is_refused:
                        self.assertNotEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")

    def test_where_files_are_found(self):
        self.succeeds("tune", "small.weft", "--propose", "1", "-o", "work", "--budget", "0")
        for place, (name, words) in FOUND.items():
            for kind in ODD:
                with self.subTest(place=place, kind=kind, seed=SEED):
                    is_refused = self.made(kind, name)
                    done = self.ends(place, kind, words)
                    if is_refused and place not in LEAVES_OUT:
                        self.assertNotEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
                    path = self.folder / name
                    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    def test_where_files_are_written(self):
        self.succeeds("tune", "small.weft", "--trials", "1", "--database", "known.db")
        for kind in ODD:
            self.made(kind)
            for place, words in WRITTEN.items():
                with self.subTest(place=place, kind=kind, seed=SEED):
                    done = self.ends(place, kind, words)
                    if kind in ("pipe", "folder", "socket", "loop"):
                        self.assertNotEqual(done.returncode, 0, done.stderr)

    def test_what_runners_read(self):
        for kind in ODD:
            self.made(kind)
            with self.subTest(kind=kind, seed=SEED):
                words = [RUNNER, "--batch", str(self.folder / kind)]
                done = subprocess.run(words, capture_output=True, timeout=HANGS_S, env=self.environment)
                self.assertNotIn(done.returncode, CRASH_CODES, done.stderr)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(b"work file", done.stderr)

    def test_standard_input_has_an_end(self):
        with open("/dev/zero", "rb") as zeros:
            for words in (("check", "-"), ("run", "small.weft", "--input", "A=-"), ("targets", "host", "--target", "-")):
                with self.subTest(words=words):
                    done = self.polyweft(*words, timeout=HANGS_S, stdin=zeros)
                    self.assertIn(done.returncode, (0, 2, 3), done.stderr)

    def test_the_deadline_runs_before_settings_are_read(self):
        self.file("polyweft.toml", "threads = 0\n")
        self.refused(
            2,
            "error: --deadline soon: expected a duration, e.g. 60s, 500ms or 5m [PW0003]",
            "show",
            "small.weft",
            "--deadline",
            "soon",
        )


class Messages(CliTest):
    def test_say_what_lies_there(self):
        os.mkfifo(self.folder / "pipe")
        make_hole(self.folder / "hole")
        small = self.small()
        cases = [
            (("check", "pipe"), 2, "error: pipe: is a pipe, not a file [PW0001]"),
            (("show", "/dev/zero"), 2, "error: /dev/zero: is a device, not a file [PW0001]"),
            (("check", "hole"), 2, "error: hole: has 42949672960 bytes, the limit is 16777216 [PW0001]"),
            (("show", small, "--target", "/dev/zero"), 2, "error: /dev/zero: is a device, not a file [PW0511]"),
            (("run", small, "--input", "A=pipe"), 2, "error: pipe: is a pipe, not a file [PW0171]"),
            (("tune", "--observe", "pipe"), 3, "error: work file pipe: it is a pipe, not a file [PW0614]"),
            (("db", "stats", "--database", "pipe"), 3, "error: database pipe: is a pipe, not a file [PW0727]"),
        ]
        for words, code, message in cases:
            with self.subTest(words=words):
                done = self.polyweft(*words, timeout=HANGS_S)
                self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (code, message))
        self.file("polyweft.toml", 'target = "/dev/zero"\n')
        done = self.polyweft("show", small, timeout=HANGS_S)
        self.assertEqual(done.stderr, "error: /dev/zero: is a device, not a file [PW0511]\n")

    def test_a_large_array_of_another_shape_is_not_read(self):
        numpy.save(self.folder / "a.npy", numpy.zeros((8, 8), numpy.float32))
        header = (self.folder / "a.npy").read_bytes()[:128].replace(b"(8, 8), }         ", b"(8, 1342177280), }")
        self.file("large.npy", header)
        os.truncate(self.folder / "large.npy", len(header) + 4 * 8 * 1342177280)
        done = self.polyweft("run", self.small(), "--input", "A=large.npy", timeout=HANGS_S)
        self.assertIn("large.npy: its shape [8, 1342177280] is not the shape [8, 8] of A [PW0006]", done.stderr)

    def test_names_of_work_files_are_names(self):
        self.succeeds("targets", "x86-64-v3")
        description = self.file("other.toml", self.succeeds("targets", "x86-64-v3"))
        self.succeeds(
            "tune", self.small(), "--target", description, "--propose", "1", "-o", "work", "--budget", "0"
        )
        done = self.polyweft("tune", "--observe", "work", "--database", "own.db")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(
            done.stderr.replace(str(self.folder) + "/", ""),
            "error: work file work is for target other.toml, which has no name here [PW0616]\n"
            "  note: give the description that it was proposed with by --target\n",
        )


if __name__ == "__main__":
    unittest.main()
