"""Every wrong word, file and value: one message that says what is wrong and what to do, and the right exit code."""

import sqlite3
import subprocess
import unittest

import numpy

from fixture import POLYWEFT, SMALL, CliTest


def note_of(verb):
    return f"  note: see: polyweft{' ' + verb if verb else ''} --help"


class Words(CliTest):
    def test_verbs_and_options(self):
        cases = [
            ((), "error: polyweft: a verb is required [PW0008]\n" + note_of("")),
            (("tun",), "error: polyweft: no verb 'tun', did you mean 'tune'? [PW0008]\n" + note_of("")),
            (("db",), "error: polyweft db: a verb is required [PW0008]\n" + note_of("db")),
            (("db", "lst"), "error: polyweft db: no verb 'lst', did you mean 'list'? [PW0008]\n" + note_of("db")),
            (
                ("tune", "--bugdet", "3s", "x.weft"),
                "error: polyweft tune: no option --bugdet, did you mean '--budget'? [PW0008]\n" + note_of("tune"),
            ),
            (("tune",), "error: polyweft tune: FILE is required [PW0008]\n" + note_of("tune")),
            (
                ("run", "x", "--threads", "0"),
                "error: polyweft run: --threads: Value 0 not in range 1 to 1024 [PW0008]\n" + note_of("run"),
            ),
            (
                ("run", "x", "--numerics", "fast"),
                "error: polyweft run: --numerics: fast not in {strict,contract,reassoc} [PW0008]\n" + note_of("run"),
            ),
            (
                ("build", "x", "--emit", "elf", "-o", "x"),
                "error: polyweft build: --emit: elf not in {object,assembly,llvm,shared,static,header,c,artifact} [PW0008]\n"
                + note_of("build"),
            ),
        ]
        for words, message in cases:
            with self.subTest(words=words):
                self.refused(2, message, *words)

    def test_help_and_version_are_results(self):
        self.assertIn("Exit: 0 done", self.succeeds("--help"))
        self.assertTrue(self.succeeds("--version").startswith("polyweft "))
        self.assertEqual(self.succeeds("-V"), self.succeeds("--version"))
        self.assertEqual(self.polyweft("tune", "--help").stderr, "")
        self.assertEqual(self.succeeds("help", "tune"), self.succeeds("tune", "--help"))
        self.assertEqual(self.succeeds("help"), self.succeeds("--help"))
        self.refused(
            2, "error: polyweft: no verb 'tun', did you mean 'tune'? [PW0008]\n" + note_of(""), "help", "tun"
        )

    def test_values_of_their_own_form(self):
        small = self.small()
        cases = [
            (
                ("run", small, "-p", "N"),
                "error: -p N: expected NAME=VALUE with an integer value, e.g. -p M=512 [PW0003]",
            ),
            (("run", small, "-p", "N=4", "-p", "N=5"), "error: -p N=5: N is bound twice [PW0003]"),
            (
                ("run", small, "-p", "Q=4"),
                "error: Q: no such parameter in small [PW0120]\n  note: the parameters are N",
            ),
            (
                ("tune", small, "--budget", "soon"),
                "error: --budget soon: expected a duration, e.g. 60s, 500ms or 5m [PW0003]",
            ),
            (("run", small, "--input", "A"), "error: --input A: expected NAME=FILE.npy [PW0003]"),
            (("run", small, "--input", "X=a.npy"), "error: X is no input of small [PW0005]\n  note: it has: A, B"),
            (("run", small, "--output", "A=a.npy"), "error: A is no output of small [PW0005]\n  note: it has: C"),
            (
                ("explain", "PW9999"),
                "error: PW9999: no such message code [PW0007]\n  note: codes look like PW0204 and stand at the end of a message",
            ),
            (
                ("explain", small),
                "error: {folder}/small.weft: a file; codes of messages and records are explained [PW0007]\n"
                "  note: what it becomes: polyweft show {folder}/small.weft\n"
                "  note: what was found for its programs: polyweft db list, then polyweft explain NUMBER",
            ),
            (("tune", small, "--target", "riscv"), None),
        ]
        for words, message in cases:
            with self.subTest(words=words):
                if message:
                    self.refused(2, message, *words)
                else:
                    done = self.polyweft(*words)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("PW0510", done.stderr)


class Files(CliTest):
    def test_files_that_are_not_there(self):
        note = "  note: is the path right, and may you read it?"
        for verb in ("check", "tune", "run", "bench", "show"):
            with self.subTest(verb=verb):
                self.refused(2, f"error: none.weft: cannot be read [PW0001]\n{note}", verb, "none.weft")
        for verb in ("run", "bench", "show"):
            with self.subTest(verb=verb):
                self.refused(2, "error: {folder}: is a folder, not a file [PW0001]", verb, self.folder)
        for verb in ("check", "tune"):
            with self.subTest(verb=verb):
                self.refused(2, "error: {folder}: has no .weft file in it [PW0001]", verb, self.folder)
        self.refused(
            2, f"error: none.trace: cannot be read [PW0001]\n{note}", "run", self.small(), "--schedule", "none.trace"
        )

    def test_a_program_that_the_file_does_not_have(self):
        two = self.file("two.weft", SMALL + SMALL.replace("small", "other"))
        self.refused(
            2,
            "error: {folder}/two.weft has no program 'third' [PW0002]\n  note: it has: small, other",
            "run",
            f"{two}:third",
        )
        self.assertIn("C: f32[8, 8]", self.succeeds("run", f"{two}:other"))

    def test_a_program_that_does_not_parse_names_file_line_and_column(self):
        bad = self.file("bad.weft", SMALL.replace("sum[k: N]", "sun[k: N]"))
        for verb in ("check", "tune", "run", "bench", "show"):
            with self.subTest(verb=verb):
                done = self.polyweft(verb, bad)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(
                    done.stderr.replace(str(self.folder), ""), r"^/bad.weft:4:\d+: error: .*\[PW01\d\d\]\n"
                )

    def test_a_trace_that_does_not_parse_names_file_and_line(self):
        trace = self.file("bad.trace", "trace 1\n  tile C [k kc]\n")
        done = self.polyweft("run", self.small(), "--schedule", trace)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(
            done.stderr,
            r"/bad\.trace:2:13: error: trace: expected ':' \[PW0301\]\n      tile C \[k kc\]\n                \^\n",
        )

    def test_a_product_that_cannot_be_written(self):
        self.refused(
            3,
            "error: none/x.o: cannot be written [PW0004]\n  note: does the folder exist, is there space, and may you write there?",
            "build",
            self.small(),
            "-o",
            "none/x.o",
        )
        done = self.polyweft("run", self.small(), "--output", "C=none/c.npy")
        self.assertEqual((done.returncode, done.stderr), (3, "error: none/c.npy: cannot be written [PW0172]\n"))

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [POLYWEFT, "targets"], stdout=full, stderr=subprocess.PIPE, text=True, env=self.environment
            )
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output cannot be written [PW0004]", done.stderr)


class Arrays(CliTest):
    def array(self, name, value):
        numpy.save(self.folder / name, value)
        return self.folder / name

    def run_with(self, path):
        return self.polyweft("run", self.small(), "--input", f"A={path}")

    def test_wrong_shape_and_type(self):
        done = self.run_with(self.array("shape.npy", numpy.zeros((8, 9), numpy.float32)))
        self.assertEqual(done.returncode, 2)
        self.assertIn(
            "shape.npy: its shape [8, 9] is not the shape [8, 8] of A [PW0006]\n  note: bind the sizes with -p NAME=VALUE",
            done.stderr,
        )
        done = self.run_with(self.array("type.npy", numpy.zeros((8, 8), numpy.float64)))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"type\.npy.*<f8.*<f4.*\[PW0170\]")

    def test_files_that_are_no_arrays(self):
        good = self.array("good.npy", numpy.zeros((8, 8), numpy.float32)).read_bytes()
        for name, content in (
            ("empty", b""),
            ("text", b"hello\n"),
            ("short", good[:-1]),
            ("long", good + b"x"),
            ("header", good[:20]),
        ):
            with self.subTest(name=name):
                done = self.run_with(self.file(f"{name}.npy", content))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, rf"{name}\.npy.*\[PW0170\]")
        done = self.run_with("none.npy")
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                2,
                "error: none.npy: cannot be read [PW0171]\n  note: is the path right, and may you read it?\n",
            ),
        )

    def test_a_file_is_read_and_written(self):
        a = numpy.arange(64, dtype=numpy.float32).reshape(8, 8)
        self.succeeds(
            "run",
            self.small(),
            "--input",
            f"A={self.array('a.npy', a)}",
            "--input",
            f"B={self.array('b.npy', a.T.copy())}",
            "--output",
            "C=c.npy",
        )
        numpy.testing.assert_array_equal(numpy.load(self.folder / "c.npy"), a @ a.T)


class Checks(CliTest):
    """`check` of several files, folders, one program of a file, standard input, and of some sizes."""

    NEEDS_4 = "program needs(N = 8)\nin A: f32[4]\nout C[i: N] = A[i]\n"

    def words_before_keys(self, *words, **options):
        return [
            line.split("   key ")[0].replace(str(self.folder) + "/", "")
            for line in self.succeeds("check", *words, **options).splitlines()
        ]

    def test_files_folders_and_programs(self):
        self.file("in/a.weft", SMALL)
        self.file("in/deep/b.weft", SMALL.replace("small", "other") + SMALL.replace("small", "third"))
        self.file("in/notes.txt", "no program")
        one = self.file("one.weft", SMALL.replace("small", "one"))
        self.assertEqual(self.words_before_keys(one), ["one: ok"])
        self.assertEqual(
            self.words_before_keys(self.folder / "in", one),
            ["in/a.weft: small: ok", "in/deep/b.weft: other: ok", "in/deep/b.weft: third: ok", "one.weft: one: ok"],
        )
        self.assertEqual(self.words_before_keys(f"{self.folder}/in/deep/b.weft:third"), ["third: ok"])
        self.refused(
            2,
            "error: {folder}/in/deep/b.weft has no program 'nope' [PW0002]\n  note: it has: other, third",
            "check",
            f"{self.folder}/in/deep/b.weft:nope",
        )

    def test_what_is_refused_does_not_hide_the_rest(self):
        bad, one = self.file("bad.weft", SMALL.replace("sum", "sun")), self.small()
        done = self.polyweft("check", bad, "none.weft", one)
        self.assertEqual(done.returncode, 2)
        self.assertIn("small.weft: small: ok", done.stdout)
        self.assertIn("bad.weft:4:", done.stderr)
        self.assertIn("none.weft: cannot be read [PW0001]", done.stderr)

    def test_sizes(self):
        needs = self.file("needs.weft", self.NEEDS_4)
        self.assertEqual(self.polyweft("check", needs).returncode, 2)
        self.assertEqual(self.words_before_keys(needs, "-p", "N=4"), ["needs: ok at N = 4"])
        self.assertEqual(
            self.words_before_keys(needs, self.small(), "-p", "N=3"),
            ["needs.weft: needs: ok at N = 3", "small.weft: small: ok at N = 3"],
        )
        done = self.polyweft("check", needs, "-p", "N=5")
        self.assertEqual((done.returncode, done.stderr.splitlines()[-2]), (2, "  note: with N = 5: C[4] reads A[4]"))
        self.refused_after("error: Q: no program here has such a parameter [PW0120]", needs, "-p", "N=4", "-p", "Q=4")
        self.refused(
            2,
            "error: needs: N = 0 is outside the assumption N > 0 [PW0120]\n  note: choose values that satisfy it",
            "check",
            needs,
            "-p",
            "N=0",
        )

    def refused_after(self, message, *words):
        done = self.polyweft("check", *words)
        self.assertEqual((done.returncode, done.stderr.rstrip()), (2, message))


class StandardStreams(CliTest):
    """`-` where a file is named."""

    def test_a_program_is_read(self):
        self.assertIn("small: ok", self.succeeds("check", "-", input=SMALL.encode()))
        self.assertIn("C: f32[8, 8]", self.succeeds("run", "-", input=SMALL.encode()))
        self.assertIn("for ", self.succeeds("show", "-", "--stage", "loops", input=SMALL.encode()))
        self.assertIn("small", self.succeeds("build", "-", "--emit", "header", "-o", "-", input=SMALL.encode()))

    def test_messages_name_it_and_show_its_lines(self):
        self.refused(
            2,
            "<stdin>:1:11: error: expected '(' but found 'q' [PW0102]\n    program p q\n              ^",
            "check",
            "-",
            input=b"program p q\n",
        )

    def test_a_trace_is_read(self):
        self.assertIn("C: f32[8, 8]", self.succeeds("run", self.small(), "--schedule", "-", input=b"trace 1\n"))
        self.refused(
            2,
            "<stdin>:1:1: error: trace: expected 'trace' [PW0301]\n    nothing\n    ^",
            "run",
            self.small(),
            "--schedule",
            "-",
            input=b"nothing\n",
        )

    def test_arrays_are_read_and_written(self):
        a = numpy.arange(64, dtype=numpy.float32).reshape(8, 8)
        numpy.save(self.folder / "a.npy", a)
        words = [POLYWEFT, "run", self.small(), "--input", "A=-", "--input", "B=a.npy", "--output", "C=-"]
        done = subprocess.run(
            words,
            input=(self.folder / "a.npy").read_bytes(),
            capture_output=True,
            cwd=self.folder,
            env=self.environment,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "c.npy").write_bytes(done.stdout)
        numpy.testing.assert_array_equal(numpy.load(self.folder / "c.npy"), a @ a)
        self.assertIn(b"C: f32[8, 8]", done.stderr)

    def test_standard_output_takes_one_thing(self):
        two = self.file("two.weft", SMALL + "out D[i: N, j: N] = A[i, j]\n")
        self.refused(
            2,
            "error: --output: standard output takes one array, not 2 [PW0003]",
            "run",
            two,
            "--output",
            "C=-",
            "--output",
            "D=-",
        )
        done = self.polyweft("run", two, "--output", "C=-", "--json")
        self.assertEqual((done.returncode, "PW0003" in done.stdout), (2, True))

    def test_a_target_is_read(self):
        description = self.succeeds("targets", "x86-64-v3")
        self.assertIn(
            "small",
            self.succeeds(
                "build", self.small(), "--target", "-", "--emit", "header", "-o", "-", input=description.encode()
            ),
        )


class Codes(CliTest):
    def test_in_any_case(self):
        for code in ("pw0204", "Pw0204"):
            self.assertEqual(self.succeeds("explain", code), self.succeeds("explain", "PW0204"))


class Databases(CliTest):
    def test_files_that_are_no_databases(self):
        text = self.file("text.db", "hello, this is not a database at all\n" * 50)
        done = self.polyweft("db", "stats", "--database", text)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"text\.db: .*\[PW0706\]\n  note: ")
        foreign = self.folder / "foreign.db"
        with sqlite3.connect(foreign) as connection:
            connection.execute("CREATE TABLE invoice (id INTEGER)")
        done = self.polyweft("tune", self.small(), "--database", foreign)
        self.assertEqual(done.returncode, 3)
        self.assertIn("[PW0701]", done.stderr)

    def test_a_folder_and_a_path_below_a_file(self):
        for words in (("db", "stats"), ("tune", self.small())):
            self.refused(
                3,
                "error: database {folder}: is a folder, not a file [PW0727]\n"
                "  note: give the path of a file with --database",
                *words,
                "--database",
                self.folder,
            )
        done = self.polyweft("db", "stats", "--database", self.file("file", "") / "x.db")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"\[PW07\d\d\]")

    def mounted(self, options, *words):
        """The command in a name space of its own, where the folder `place` is a file system with these options."""
        (self.folder / "place").mkdir(exist_ok=True)
        script = f'mount -t tmpfs -o {options} none place && exec "$0" "$@"'
        words = ["unshare", "-rm", "sh", "-c", script, POLYWEFT, *map(str, words)]
        environment = dict(self.environment, XDG_DATA_HOME=str(self.folder / "place"))
        done = subprocess.run(words, capture_output=True, cwd=self.folder, env=environment, timeout=120, text=True)
        if "polyweft" not in done.stderr and "error: " not in done.stderr:
            self.skipTest("no file system can be mounted here: " + done.stderr)
        return done.returncode, done.stderr.replace(str(self.folder), "{folder}")

    def test_a_file_system_that_is_read_only(self):
        code, message = self.mounted("ro", "tune", self.small(), "--budget", "0")
        self.assertEqual(code, 3)
        self.assertEqual(
            message,
            "error: database {folder}/place/polyweft/schedules.db: its folder cannot be made: Read-only file system "
            "[PW0704]\n  note: give --database PATH, where you may write\n",
        )

    def test_a_disk_that_is_full_loses_no_schedule(self):
        code, message = self.mounted("size=8k", "tune", self.small(), "--trials", "1", "--database", "place/x.db")
        self.assertEqual(code, 3, message)
        self.assertIn("error: database place/x.db: the disk is full [PW0705]\n", message)
        found = 0
        for kib in range(100, 400, 20):
            code, message = self.mounted(
                f"size={kib}k", "tune", self.small(), "--trials", "1", "--database", "place/x.db"
            )
            if code == 0:
                break
            self.assertIn("the disk is full [PW0705]\n", message)
            found += "note: what was found is not lost: this is a schedule for --schedule\ntrace 1\n" in message
        self.assertGreater(found, 0)

    def test_a_record_that_is_not_there(self):
        for verb in ("show",):
            done = self.polyweft(verb, "17")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(
                done.stderr,
                "error: record #17 is not in the database [PW0710]\n  note: list them with: polyweft db list\n",
            )


class Values(CliTest):
    def test_not_a_number_has_no_sign(self):
        nans = self.file("nans.weft", "program nans(N = 4)\nin A: f32[N]\nout C[i: N] = -log(-1 - abs(A[i]))\n")
        self.assertIn("C: f32[4]  sum nan  [nan, nan, nan, nan]", self.succeeds("run", nans))
        self.assertNotIn("-nan", self.succeeds("run", nans))

    def test_memory_that_is_not_there_is_named(self):
        """A kernel that keeps 2^40 bytes."""
        big = self.file(
            "big.weft",
            "program big(N = 524288)\nin A: f32[N]\nlet B[i: N, j: N] = A[i] * A[j] + 1\n"
            "let c[j: N] = sum[i: N] B[i, j]\nout C[i: N] = sum[k: N] B[i, k] * c[k]\n",
        )
        plain = self.file("plain.trace", "trace 1\n")
        done = self.polyweft("run", big, "--schedule", plain, "--deadline", "60s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(
            done.stderr,
            "error: there is no memory for what a call keeps: B of 1099511627776 bytes, the largest of 2 arrays that "
            "take 1099513726144 together [PW0659]\n"
            "  note: choose smaller sizes, or a schedule that keeps less: --max-workspace BYTES\n",
        )


class Settings(CliTest):
    def value(self, name, environment=None, *words):
        lines = self.json_lines("config", environment=environment)
        return next((line["value"], line["origin"]) for line in lines if line["name"] == name)

    def test_precedence(self):
        user = self.folder / "config/polyweft/config.toml"
        self.assertEqual(self.value("threads"), ("1", "default"))
        self.file("config/polyweft/config.toml", "numerics = \"strict\"\nthreads = 2\n")
        self.assertEqual(self.value("threads"), ("2", f"{user}:2"))
        self.file("polyweft.toml", "\nthreads = 3\n")
        self.assertEqual(self.value("threads"), ("3", "./polyweft.toml:2"))
        self.assertEqual(self.value("numerics"), ("strict", f"{user}:1"))
        self.assertEqual(self.value("threads", {"POLYWEFT_THREADS": "4"}), ("4", "environment POLYWEFT_THREADS"))

    def test_verbs_take_them(self):
        self.file("polyweft.toml", "numerics = \"fast\"\n")
        self.refused(
            2,
            "error: ./polyweft.toml:1: numerics = 'fast': --numerics: fast not in {strict,contract,reassoc} [PW0009]",
            "run",
            self.small(),
        )
        self.assertIn("C: f32", self.succeeds("run", self.small(), "--numerics", "strict"))
        self.file("polyweft.toml", "database = \"mine/own.db\"\n")
        self.assertIn("mine/own.db: there is no such file [PW0724]", self.polyweft("db", "stats").stderr)
        (self.folder / "mine").mkdir()
        self.succeeds("tune", self.small(), "--trials", "1")
        self.assertIn("mine/own.db", self.succeeds("db", "stats"))

    def test_malformed_files(self):
        names = "  note: the settings are budget, color, database, instructions, numerics, seeds, target, threads, trials"
        cases = [
            (
                "thread = 2\n",
                f"error: ./polyweft.toml:1: unknown setting 'thread', did you mean 'threads'? [PW0009]\n{names}",
            ),
            ("\n[tune]\nbudget = 3\n", f"error: ./polyweft.toml:2: unknown setting 'tune' [PW0009]\n{names}"),
            (
                "threads = true\n",
                "error: ./polyweft.toml:1: threads is neither a text nor an integer [PW0009]\n  note: e.g. threads = 2, budget = \"60s\"",
            ),
        ]
        for text, message in cases:
            with self.subTest(text=text):
                self.file("polyweft.toml", text)
                self.refused(2, message, "targets")
        for text, message in (
            ("budget = \"soon\"\n", "budget = 'soon': expected a duration, e.g. 60s, 500ms or 5m"),
            ("threads = 0\n", "threads = '0': --threads: Value 0 not in range 1 to 1024"),
            ("numerics = \"fast\"\n", "numerics = 'fast': --numerics: fast not in {strict,contract,reassoc}"),
        ):
            self.file("polyweft.toml", text)
            for words in (("config",), ("tune", self.small())):
                with self.subTest(text=text, words=words):
                    done = self.polyweft(*words)
                    self.assertEqual(
                        (done.returncode, done.stderr), (2, f"error: ./polyweft.toml:1: {message} [PW0009]\n")
                    )
        self.file("polyweft.toml", "target = \"nope\"\n")
        done = self.polyweft("config")
        self.assertEqual(done.returncode, 2)
        self.assertIn("./polyweft.toml:1: target = 'nope': target 'nope' is unknown", done.stderr)
        self.assertIn("threads", done.stdout)
        self.file("polyweft.toml", "threads = = 2\n")
        done = self.polyweft("targets")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^error: \./polyweft\.toml:1: not TOML: .*\[PW0009\]\n")


if __name__ == "__main__":
    unittest.main()
