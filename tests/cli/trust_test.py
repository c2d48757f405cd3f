"""Rows of others: forged ones, ones of another host, bytes for the terminal, files that are mistyped or cannot be
written; and their way from file to file."""

import json
import os
import re
import sqlite3
import subprocess
import unittest

from fixture import BUILD, POLYWEFT, SOURCE, CliTest

GEMM = os.path.join(SOURCE, "examples/01_gemm.weft")
SIZES = ("-p", "M=64", "-p", "N=64", "-p", "K=64")
DATABASE, SECRET = "data/polyweft/schedules.db", ".local/state/polyweft/secret"
MISTYPED = "error: database {path}: there is no such file [PW0724]\n  note: polyweft tune makes one; check the path of --database"


class Trust(CliTest):
    stored = None

    def setUp(self):
        super().setUp()
        if Trust.stored is None:
            self.succeeds("tune", GEMM, *SIZES, "--trials", "4")
            Trust.stored = [(self.folder / name).read_bytes() for name in (DATABASE, SECRET)]
        self.database = self.file(DATABASE, Trust.stored[0])
        self.file(SECRET, Trust.stored[1]).chmod(0o600)

    def execute(self, sql, *values):
        with sqlite3.connect(self.database) as connection:
            connection.execute(sql, values)
        connection.close()

    def forge(self):
        forged = subprocess.run(
            [os.path.join(BUILD, "tests/cli_forge"), self.database, "1"], capture_output=True, text=True, check=True
        )
        return forged.stdout.strip()

    # --- verdicts

    def test_a_forged_nest_is_refused_by_every_verb(self):
        forged = self.forge()
        for words in (
            ("run", GEMM, *SIZES),
            ("build", GEMM, *SIZES, "-o", self.folder / "gemm.o"),
            ("tune", GEMM, *SIZES, "--trials", "1"),
            ("bench", GEMM, *SIZES),
            ("show", GEMM, *SIZES),
            ("show", forged),
            ("show", forged, "--stage", "loops"),
            ("show", forged, "--stage", "assembly"),
            ("bench", GEMM, *SIZES, "--schedule", self.trace(), "--against", f"record:{forged}"),
        ):
            with self.subTest(words=words):
                done = self.polyweft(*words)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertRegex(
                    done.stderr,
                    rf"error: record #{forged} is not served, its nest is not proven but refuted: PW04\d\d: .* \[PW0720\]\n"
                    rf"  note: it was changed, or comes from elsewhere; remove it: polyweft db delete {forged}\n$",
                )
        self.assertFalse((self.folder / "gemm.o").exists())
        self.assertEqual(self.succeeds("db", "delete", forged), f"record #{forged} deleted\n")
        self.assertIn("kernel: record #1", self.polyweft("run", GEMM, *SIZES).stderr)

    def trace(self):
        return self.file("one.trace", self.succeeds("show", "1", "--stage", "trace"))

    def test_hosts_that_share_a_file_prove_for_themselves_and_keep_each_others_word(self):
        other = {"XDG_STATE_HOME": str(self.folder / "other")}
        first = self.polyweft("run", GEMM, *SIZES, environment=other)
        self.assertRegex(
            first.stderr,
            r"^note: record #1 was proven again in \d+ ms and attested: this host had not proven it\nkernel: record #1\n$",
        )
        for environment in (other, {}, other):
            self.assertEqual(self.polyweft("run", GEMM, *SIZES, environment=environment).stderr, "kernel: record #1\n")
        self.assertIn(
            "proof unattested", self.succeeds("db", "list", environment={"XDG_STATE_HOME": str(self.folder / "third")})
        )
        secret = self.folder / "other/polyweft/secret"
        self.assertEqual((secret.stat().st_mode & 0o777, secret.stat().st_size), (0o600, 32))
        self.assertNotEqual(secret.read_bytes(), Trust.stored[1])

    def test_a_secret_that_others_know_counts_for_nothing(self):
        (self.folder / SECRET).chmod(0o644)
        done = self.polyweft("run", GEMM, *SIZES)
        self.assertRegex(
            done.stderr,
            r"note: record #1 was proven again in \d+ ms, and will be by every process: secret of this host, .*/secret: others may read or "
            r"write it; its mode must be 0600\nkernel: record #1\n$",
        )

    def test_run_and_build_need_no_home(self):
        nowhere = {
            "HOME": "/proc/nowhere",
            "XDG_DATA_HOME": "/proc/nowhere/data",
            "XDG_CONFIG_HOME": "/proc/nowhere/config",
        }
        self.assertIn("kernel: analytic model", self.polyweft("run", GEMM, *SIZES, environment=nowhere).stderr)
        self.succeeds("build", GEMM, *SIZES, "-o", self.folder / "gemm.o", environment=nowhere)
        done = self.polyweft("run", GEMM, *SIZES, "--database", self.database, environment=nowhere)
        self.assertRegex(
            done.stderr,
            r"^note: record #1 was proven again in \d+ ms, and will be by every process: secret of this host, /proc/nowhere/\.local/state/"
            r"polyweft/secret: .*\nkernel: record #1\n$",
        )
        without = {
            name: value
            for name, value in self.environment.items()
            if name not in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
        }
        done = subprocess.run(
            [POLYWEFT, "run", GEMM, *SIZES, "--database", self.database],
            capture_output=True,
            text=True,
            env=without,
            cwd=self.folder,
        )
        self.assertIn("no file for a secret of this host is known", done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_verify_finds_what_hides_a_record_or_was_changed_since_it_was_proven(self):
        self.execute("UPDATE record SET key = zeroblob(16)")
        self.assertIn("kernel: analytic model", self.polyweft("run", GEMM, *SIZES).stderr)
        done = self.polyweft("db", "verify")
        self.assertEqual(done.returncode, 1)
        self.assertIn("record #1 has another task's key\n", done.stdout)
        self.file(DATABASE, Trust.stored[0])
        self.execute("UPDATE program SET source = source || '\n# changed\n'")
        done = self.polyweft("run", GEMM, *SIZES)
        self.assertRegex(
            done.stderr,
            r"and will be by every process: the row was changed after this host had proven it; see: polyweft db verify\nkernel: record #1\n$",
        )
        self.assertIn(
            "record #1 was changed after this host had proven it; its nest is still proven\n",
            self.polyweft("db", "verify").stdout,
        )

    # --- bytes

    def test_bytes_of_rows_are_shown_escaped_everywhere(self):
        evil = "g\x1b[2J\u202em\nerror: no"
        for sql, value in (
            ("UPDATE program SET name = ?", evil),
            ("UPDATE program SET name = CAST(? AS TEXT)", b"g\xff\xfe"),
            ("UPDATE target SET fingerprint = ?", evil),
            ("UPDATE program SET source = CAST(? AS TEXT)", b"program g\xff"),
            ("UPDATE program SET canonical = CAST(? AS TEXT)", b"\xff\x1b"),
            ("UPDATE program SET key = ?", evil),
            ("UPDATE binding SET parameters = ?", evil),
            ("UPDATE record SET origin = ?", evil),
            ("UPDATE record SET toolchain = CAST(? AS TEXT)", b"\xff\x1b[31m"),
            ("UPDATE record SET trace_text = CAST(? AS TEXT)", b"trace 1\n\xff\x1b"),
            ("UPDATE record SET nest = CAST(? AS TEXT)", b"nest 1 \xff\x1b"),
            ("UPDATE measurement SET detail = CAST(? AS TEXT), status = 2", b"\xff\x1b[1m"),
            ("UPDATE measurement SET toolchain = CAST(? AS TEXT)", b"\xff\x1b"),
            ("UPDATE trace SET text = CAST(? AS TEXT) WHERE id = 1", b"\xff\x1b"),
        ):
            self.file(DATABASE, Trust.stored[0])
            self.execute(sql, value)
            for words in (
                ("db", "list"),
                ("db", "stats"),
                ("db", "verify"),
                ("db", "export"),
                ("show", "1"),
                ("show", "1", "--stage", "trace"),
                ("show", "1", "--stage", "program"),
                ("explain", "1"),
                ("run", GEMM, *SIZES),
                ("bench", GEMM, *SIZES, "--milliseconds", "1"),
            ):
                with self.subTest(sql=sql, words=words):
                    for form in ((), ("--json",)):
                        done = self.polyweft(*words, *form)
                        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
                        text = done.stdout + done.stderr
                        for byte in ("\x1b", "\u202e", "\x07"):
                            self.assertNotIn(byte, text)
                        self.assertNotRegex(text, r"(?m)^error: no")
                        if form:
                            for line in done.stdout.splitlines():
                                json.loads(line)

    def test_a_file_name_that_is_not_utf8_is_a_file_name(self):
        path = os.path.join(os.fsencode(self.folder), b"g\xff.weft")
        with open(GEMM, "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        for words in (("check", path), ("run", path, *SIZES)):
            done = subprocess.run([POLYWEFT, *words], capture_output=True, env=self.environment, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)

    # --- paths

    def test_a_mistyped_path_is_an_error_and_makes_nothing(self):
        before = sorted(self.folder.rglob("*"))
        for path in ("nope.db", "no/such/folder/nope.db"):
            for words in (
                ("run", GEMM, *SIZES),
                ("build", GEMM, *SIZES, "-o", "gemm.o"),
                ("bench", GEMM, *SIZES),
                ("show", GEMM),
                ("show", "1"),
                ("explain", "1"),
                ("db", "list"),
                ("db", "stats"),
                ("db", "verify"),
                ("db", "export"),
                ("db", "delete", "1"),
            ):
                self.refused(2, MISTYPED.format(path=path), *words, "--database", path)
        self.refused(
            2,
            "error: database no/such/nope.db: there is no folder no/such [PW0724]\n  note: make the folder, or check the path of --database",
            "tune",
            GEMM,
            *SIZES,
            "--trials",
            "1",
            "--database",
            "no/such/nope.db",
        )
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_who_only_looks_makes_no_database(self):
        fresh = {"XDG_DATA_HOME": str(self.folder / "fresh")}
        self.succeeds("run", GEMM, *SIZES, environment=fresh)
        self.refused(2, MISTYPED.format(path="{folder}/fresh/polyweft/schedules.db"), "db", "list", environment=fresh)
        self.assertFalse((self.folder / "fresh").exists())
        self.succeeds("tune", GEMM, *SIZES, "--trials", "1", environment=fresh)
        self.assertTrue((self.folder / "fresh/polyweft/schedules.db").exists())

    def test_a_database_that_cannot_be_written_is_read_and_refused_before_a_search(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become somebody who may not write")
        self.folder.chmod(0o755)
        folder = self.folder / "shared"
        folder.mkdir()
        (folder / "s.db").write_bytes(Trust.stored[0])
        (folder / "s.db").chmod(0o444)
        folder.chmod(0o555)
        nobody = dict(user=65534, group=65534, extra_groups=[])
        done = self.polyweft("run", GEMM, *SIZES, "--database", folder / "s.db", **nobody)
        self.assertRegex(
            done.stderr,
            r"^note: record #1 was proven again in \d+ ms, and will be by every process: .*\nkernel: record #1\n$",
        )
        self.assertIn("read-only", self.succeeds("db", "stats", "--database", folder / "s.db", **nobody))
        self.refused(
            3,
            "error: database {folder}/shared/s.db: cannot be written [PW0704]\n  note: check the rights of the file and of its folder, or give --database",
            "tune",
            GEMM,
            "-p",
            "M=32",
            "--trials",
            "1",
            "--database",
            folder / "s.db",
            **nobody,
        )
        self.assertEqual([path.name for path in folder.iterdir()], ["s.db"])

    # --- from file to file

    def test_records_go_from_file_to_file_proven_and_timed_again(self):
        lines = self.file("all.jsonl", self.succeeds("db", "export"))
        self.assertEqual(json.loads(lines.read_text())["binding"], [64, 64, 64])
        other = ("--database", "other.db")
        done = self.succeeds("db", "import", lines, *other)
        self.assertRegex(
            done,
            r"^record #1   gemm   adopted   [\d.]+ us, measured here\n1 adopted, 0 imported, 0 here already, 0 refused\n$",
        )
        self.assertEqual(self.polyweft("run", GEMM, *SIZES, *other).stderr, "kernel: record #1\n")
        self.assertEqual(
            self.succeeds("db", "import", lines, *other), "0 adopted, 0 imported, 1 here already, 0 refused\n"
        )
        again = self.succeeds("db", "export", *other)
        for field in ("key", "binding", "numerics", "target", "threads", "text", "trace", "nest"):
            self.assertEqual(json.loads(again)[field], json.loads(lines.read_text())[field])
        self.assertEqual(
            self.succeeds("db", "import", "-", *other, input=lines.read_bytes()),
            "0 adopted, 0 imported, 1 here already, 0 refused\n",
        )

    def test_what_is_imported_must_be_true(self):
        good = json.loads(self.succeeds("db", "export"))
        loop = re.search(r"for k\S* in 0 \.\. (\d+)", good["nest"])
        lies = {
            "nest": (good["nest"][: loop.start(1)] + str(int(loop[1]) - 1) + good["nest"][loop.end(1) :], "PW0720"),
            "key": ("0" * 32, "PW0711"),
            "binding": ([64, 64], "PW0711"),
            "text": ("program gemm", "PW0711"),
            "trace": ("trace 9", "PW0"),
            "threads": (0, "PW0711"),
            "abi": (7, "PW0711"),
            "numerics": ("fast", "PW0726"),
            "schema": ("polyweft.db.export/9", "PW0726"),
            "median_ns": ("soon", "PW0726"),
        }
        text = (
            "".join(json.dumps(dict(good, **{field: value})) + "\n" for field, (value, _) in lies.items())
            + "not JSON\n[1]\n"
        )
        done = self.polyweft("db", "import", self.file("lies.jsonl", text), "--database", "other.db")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, f"0 adopted, 0 imported, 0 here already, {len(lies) + 2} refused\n")
        for number, (_, code) in enumerate(lies.values(), 1):
            self.assertRegex(done.stderr, rf"(?m)^\S*lies\.jsonl:{number}: .*\[{code}")
        self.assertEqual(self.succeeds("db", "list", "--database", "other.db"), "")

    def test_imported_times_are_those_of_a_clock(self):
        good = json.loads(self.succeeds("db", "export"))
        figures = [("median_ns", ns) for ns in (0, 5e-324, 1e-4, -1, 1e308)] + [("min_ns", 1e308), ("ci_rel", -1)]
        text = "".join(json.dumps(dict(good, **{field: ns})) + "\n" for field, ns in figures)
        text += json.dumps(good).replace(str(good["median_ns"]), "1e999") + "\n"
        done = self.polyweft("db", "import", self.file("times.jsonl", text), "--database", "other.db")
        self.assertEqual(done.stdout, f"0 adopted, 0 imported, 0 here already, {len(figures) + 1} refused\n")
        self.assertEqual(done.stderr.count("[PW0728]"), len(figures), done.stderr)

    def test_a_record_of_another_target_is_kept_and_not_served(self):
        self.succeeds("tune", GEMM, *SIZES, "--trials", "1", "--target", "x86-64", "--database", "other.db")
        lines = self.file("v3.jsonl", self.succeeds("db", "export", "--database", "other.db"))
        self.assertIn("0 adopted, 1 imported, 0 here already, 0 refused", self.succeeds("db", "import", lines))
        self.assertIn("kernel: analytic model", self.polyweft("run", GEMM, *SIZES, "--target", "x86-64").stderr)
        self.assertRegex(self.succeeds("db", "list", "--origin", "imported"), r"^#2 .* proof proven, imported\n$")
        self.assertIn("1 adopted", self.succeeds("db", "import", lines, "--target", "x86-64", "--database", "third.db"))

    def test_list_takes_what_its_filters_say(self):
        for option in (("-p", "M=32"), ("--numerics", "strict")):
            self.succeeds("tune", GEMM, *SIZES[2 if option[0] == "-p" else 0 :], *option, "--trials", "1")
        numbers = lambda *words: [line.split()[0] for line in self.succeeds("db", "list", *words).splitlines()]
        self.assertEqual(numbers(), ["#1", "#2", "#3"])
        self.assertEqual(numbers("gemm", "-p", "M=64"), ["#1", "#3"])
        self.assertEqual(numbers("-p", "M=64", "-p", "K=64", "--numerics", "reassoc"), ["#1"])
        self.assertEqual(numbers("--numerics", "strict"), ["#3"])
        self.assertEqual(numbers("--threads", "2"), [])
        self.assertEqual(numbers("--target", "host", "--limit", "1", "--offset", "1"), ["#2"])
        self.assertEqual(numbers("nothing"), [])
        self.assertEqual(numbers("--proof", "not_proven"), [])
        self.file("polyweft.toml", "numerics = \"strict\"\nthreads = 2\n")
        self.assertEqual(numbers(), ["#1", "#2", "#3"], "settings choose kernels, not rows")
        line = self.json_lines("db", "list", "-p", "M=32")[0]
        self.assertEqual((line["parameters"], line["standing"]), ({"M": 32, "N": 64, "K": 64}, "attested"))
        self.assertGreater(line["gflops"], 0)

    def test_delete_says_what_is_not_there(self):
        self.assertEqual(self.succeeds("db", "delete", "1", "--measurements"), "record #1 deleted\n")
        self.assertIn("0 measurements", self.succeeds("db", "stats"))
        self.refused(
            1,
            "error: record #1 is not in the database [PW0710]\n  note: list them with: polyweft db list",
            "db",
            "delete",
            "1",
        )


if __name__ == "__main__":
    unittest.main()
