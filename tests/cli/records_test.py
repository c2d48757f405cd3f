"""What show, explain, bench and db say of records."""

import os
import re
import sqlite3
import subprocess
import unittest

from fixture import BUILD, SOURCE, CliTest

GEMM = os.path.join(SOURCE, "examples/01_gemm.weft")
DATABASE, SECRET = "data/polyweft/schedules.db", ".local/state/polyweft/secret"
SIZES = ("-p", "M=64", "-p", "N=64", "-p", "K=64")


class Records(CliTest):
    stored = None  # the database after one search and the secret of the host that made it, for all tests

    def setUp(self):
        super().setUp()
        if Records.stored is None:
            self.succeeds("tune", GEMM, *SIZES, "--trials", "4")
            Records.stored = [(self.folder / name).read_bytes() for name in (DATABASE, SECRET)]
        self.file(DATABASE, Records.stored[0])
        self.file(SECRET, Records.stored[1]).chmod(0o600)

    def test_show_record_is_a_card(self):
        card = self.succeeds("show", "1")
        for pattern in (
            r"^record 1   gemm [0-9a-f]{8}   x86-64/\d+/\d+K\+\d+K/reassoc, 1 thread   [\d.]+ [num]s \+-[\d.]+ %   tuned \d{4}-\d\d-\d\d, proof proven, origin local$",
            r"^sizes 64,64,64   measured by polyweft ",
            r"^trace 1$",
            r"^nest +trips +bytes$",
            r"fold into C",
        ):
            self.assertRegex(card, re.compile(pattern, re.M))

    def test_the_trace_of_a_record_is_a_schedule(self):
        trace = self.file("one.trace", self.succeeds("show", "1", "--stage", "trace"))
        self.assertIn("verified", self.succeeds("run", GEMM, *SIZES, "--schedule", trace, "--verify"))
        self.assertEqual(
            self.succeeds("show", "1", "--stage", "loops"),
            self.succeeds("show", GEMM, *SIZES, "--schedule", trace, "--stage", "loops"),
        )

    def test_a_schedule_has_the_tree_that_its_record_has(self):
        trace = self.file("one.trace", self.succeeds("show", "1", "--stage", "trace"))
        tree = self.succeeds("show", GEMM, *SIZES, "--schedule", trace).split("stages: ")[0]
        self.assertRegex(tree, r"^nest +trips +bytes\n")
        self.assertIn(tree, self.succeeds("show", "1"))
        line = self.json_lines("show", GEMM, *SIZES, "--schedule", trace)[0]
        self.assertEqual((line["stage"], line["outline"]), ("loops", tree))

    def test_dependences_come_in_pieces(self):
        for what in (("1",), (GEMM, *SIZES)):
            line = self.json_lines("show", *what, "--stage", "dependences")[0]
            self.assertEqual(
                line["dependences"], [{"kind": "order", "source": "C", "sink": "C", "reducer": "sum", "indices": ["k"]}]
            )
        two = self.file(
            "two.weft",
            "program p(N = 8)\nin X: f32[N]\nlet Y[i: N] = X[i] + 1.0\nout Z[i: N] = Y[i] + (Y[i-1] where i >= 1 else 0.0)\n",
        )
        line = self.json_lines("show", two, "--stage", "dependences")[0]
        flow = line["dependences"][0]
        self.assertEqual((flow["kind"], flow["source"], flow["sink"], len(line["dependences"])), ("flow", "Y", "Z", 1))
        self.assertIn("Y[i] -> Z[", flow["relation"])
        self.assertEqual(line["text"], f"flow Y -> Z\n  {flow['relation']}\n")

    def test_explain_record(self):
        text = self.succeeds("explain", "1")
        self.assertRegex(text, r"^record 1   gemm 64,64,64   [\d.]+ [num]s .*\ntried: \d+ timed")
        self.assertIn("second best: ", text)
        self.assertRegex(
            text,
            r"\nhot loop: \d+ multiply-adds, \d+ loads, \d+ stores, \d+ spills; [\d.]+ cycles an iteration, bound by [a-zA-Z0-9 ]+ \([-a-z0-9]+, every access in L1\)\n"
            r"spills: \d+ in all innermost loops\n"
            r"roofline: at least [\d.]+ [num]?s by arithmetic, [\d.e-]+ GFLOP at [\d.]+ GFLOP/s \(measured now\); in turns with it the kernel takes [\d.]+ [num]?s, [\d.]+ times that\n",
        )
        inside = self.json_lines("explain", "1")[0]["inside"]
        hot = [loop for loop in self.json_lines("show", "1", "--stage", "assembly")[0]["loops"] if loop["hot"]][0]
        self.assertEqual(
            {name: inside["hot"][name] for name in ("fmas", "loads", "spills", "cycles", "bound")},
            {name: hot[name] for name in ("fmas", "loads", "spills", "cycles", "bound")},
            "the same loop in both verbs",
        )
        self.assertEqual(inside["roofline"]["by"], "arithmetic")
        self.assertAlmostEqual(
            inside["roofline"]["gap"], inside["roofline"]["kernel_ns"] / inside["roofline"]["bound_ns"]
        )

    def test_why_not_gives_the_instance_pair_of_a_refusal(self):
        refused = self.succeeds("explain", "1", "--why-not", "parallel C k")
        self.assertRegex(refused, r"^parallel C k refused \(PW03\d\d\): ")
        self.assertIn("C[i=0, j=0, k=0] and C[i=0, j=0, k=1]", refused)
        kind = self.succeeds("explain", "1", "--why-not", "fuse")
        self.assertRegex(kind, r"^0 of \d+ candidates had a step 'fuse'; ")
        done = self.polyweft("explain", "1", "--why-not", "paralel C k")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("[PW0301]", done.stderr)

    def test_why_not_keeps_the_last_step_last(self):
        self.succeeds("tune", GEMM, *SIZES, "--schedule", self.file("auto.trace", "trace 1\n  autovectorize\n"))
        record = max(line["record"] for line in self.json_lines("db", "list") if line["event"] == "record")
        said = self.succeeds("explain", str(record), "--why-not", "parallel C i")
        self.assertRegex(said, r"^parallel C i (legal and proven; .*, before its step autovectorize|refused \(PW)")
        self.assertNotIn("the last step", said)

    def test_why_not_knows_the_steps(self):
        for word, guess in (("blah", ""), ("paralell", ", did you mean 'parallel'?")):
            done = self.polyweft("explain", "1", "--why-not", word)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(
                done.stderr,
                rf"^error: --why-not {word}: no such step{guess.replace('?', '[?]')} \[PW0301\]\n  note: the steps are tile permute .*\n$",
            )

    def test_bench_compares_with_records_and_traces(self):
        trace = self.file("one.trace", self.succeeds("show", "1", "--stage", "trace"))
        table = self.succeeds("bench", GEMM, *SIZES, "--milliseconds", "50", "--against", f"record:1,trace:{trace}")
        lines = table.splitlines()
        self.assertRegex(lines[0], r"^ +median +ratio +95 % interval +runs +\+- +GFLOP/s +of peak$")
        self.assertRegex(lines[1], r"^record #1 .* 1\.00 ")
        self.assertRegex(lines[2], r"^record:1 .* (tie|slower|faster|too noisy|too few pairs)$")
        self.assertIn("trace:", lines[3])
        self.assertRegex(lines[4], r"^base nest .* (slower|too noisy|too few pairs)$")
        self.assertRegex(lines[5], r"^peak: [\d.]+ GFLOP/s, f32 multiply-adds in registers, in turns with the kernel$")

    def test_columns_of_bench_never_meet(self):
        """Cells of a row are divided by two blanks, whatever the names and times are."""
        long = self.file("a_folder/whose_name_is_long/a_schedule_by_somebody.trace", "trace 1\n  vectorize C j 8\n")
        for sizes in (SIZES, ("-p", "M=1", "-p", "N=1", "-p", "K=1"), ("-p", "M=512", "-p", "N=512", "-p", "K=512")):
            against = f"trace:{long.relative_to(self.folder)}"
            lines = self.succeeds("bench", GEMM, *sizes, "--milliseconds", "20", "--against", against).splitlines()
            table = [line for line in lines if not line.startswith(("peak:", "clock:", "with empty"))]
            head = re.split(r"  +", table[0].strip())
            self.assertEqual(head, ["median", "ratio", "95 % interval", "runs", "+-", "GFLOP/s", "of peak"])
            ends = [table[0].index(word) + len(word) for word in head]
            for row in table[1:]:
                cells = row.ljust(ends[-1] + 2)
                self.assertGreaterEqual(len(re.split(r"  +", row)), 4, row)
                for end in ends:
                    self.assertEqual(cells[end : end + 2], "  ", row)

    def test_bench_times_what_a_search_refuses_and_says_so(self):
        spills = self.file(
            "spills.trace",
            "trace 1\n  tile C [j: nr, i: mr]\n  accumulate C at mr reg\n  unroll C i ; vectorize C j 4\ndecide mr = 32, nr = 64\n",
        )
        said = r"warning: {} does not fit the registers: \d+ vector registers are spilled; a search refuses it \(polyweft explain PW0506\)\n"
        kernel = self.polyweft("bench", GEMM, *SIZES, "--milliseconds", "50", "--schedule", spills)
        self.assertEqual(kernel.returncode, 0, kernel.stderr)
        self.assertRegex(kernel.stderr, said.format("trace"))
        self.assertRegex(kernel.stdout, r"(?m)^trace .* 1\.00 ")
        rival = self.polyweft("bench", GEMM, *SIZES, "--milliseconds", "50", "--against", f"trace:{spills}")
        self.assertEqual(rival.returncode, 0, rival.stderr)
        self.assertRegex(rival.stderr, said.format(f"trace:{spills}"))
        rows = self.json_lines("bench", GEMM, *SIZES, "--milliseconds", "200", "--against", f"trace:{spills}")
        self.assertRegex(rows[-1]["warnings"][0] + "\n", "^" + said.format(f"trace:{spills}").removeprefix("warning: "))
        self.assertEqual(rows[0]["name"], f"trace:{spills}")
        self.assertEqual(rows[0]["samples"], rows[-1]["samples"], "as many runs as the kernel")

    def test_bench_refuses_rivals_that_do_not_fit(self):
        self.refused(
            2,
            "error: --against record1: expected record:NUMBER or trace:FILE [PW0003]",
            "bench",
            GEMM,
            "--against",
            "record1",
        )
        self.refused(
            1,
            "error: record #9 is not in the database [PW0710]\n  note: list them with: polyweft db list",
            "bench",
            GEMM,
            *SIZES,
            "--against",
            "record:9",
        )
        self.refused(
            2,
            "error: record #1 is of another program, binding or class: gemm [PW0712]\n  note: give the same -p and --numerics, or another record",
            "bench",
            GEMM,
            "-p",
            "M=3",
            "-p",
            "N=64",
            "-p",
            "K=64",
            "--against",
            "record:1",
        )

    def test_db_stats_and_list(self):
        stats = self.succeeds("db", "stats")
        self.assertRegex(
            stats, r"schedules\.db   [\d.]+ KiB   schema 6   wal   1 programs   1 targets   \d+ measurements\n"
        )
        self.assertRegex(stats, r"\n  x86-64/\d+/\d+K\+\d+K/reassoc +1 +1 +0 +0 +\d+   \S")
        self.assertRegex(
            self.succeeds("db", "list"),
            r"^#1 +gemm +[0-9a-f]{8}  M=64 N=64 K=64 +reassoc +1 thr +[\d.]+ us +[\d.]+ GFLOP/s  \d{4}-\d\d-\d\d  proof proven\n$",
        )
        self.assertIn("1 records proven again, 0 problems", self.succeeds("db", "verify"))

    def test_a_list_of_nothing_says_so(self):
        done = self.polyweft("db", "list", "no_such_program")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "no record matches\n"))
        done = self.polyweft("db", "list", "no_such_program", "--json")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        with sqlite3.connect(self.folder / "data/polyweft/schedules.db") as connection:
            connection.execute("DELETE FROM probe")
        done = self.polyweft("db", "hosts")
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr),
            (0, "", "no host was probed: polyweft db probe measures this one\n"),
        )

    def test_a_damaged_row_is_found_and_not_served(self):
        with sqlite3.connect(self.folder / "data/polyweft/schedules.db") as connection:
            connection.execute("UPDATE record SET nest = replace(nest, '64', '65')")
        done = self.polyweft("db", "verify")
        self.assertIn(done.returncode, (1, 3), done.stderr)
        self.assertIn("digest", done.stdout + done.stderr)
        done = self.polyweft("show", "1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("[PW0708]", done.stderr)

    def test_a_forged_record_with_right_digests_is_proven_again_and_fails(self):
        database = self.folder / "data/polyweft/schedules.db"
        forged = subprocess.run(
            [os.path.join(BUILD, "tests/cli_forge"), database, "1"], capture_output=True, text=True, check=True
        ).stdout.strip()
        done = self.polyweft("db", "verify")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"record #{forged} is not served, its nest is not proven but refuted: PW040\d: ")
        self.assertNotIn("digest", done.stdout)
        self.assertRegex(done.stdout, r"\n1 records proven again, 1 problems\n$")
        self.assertIn('"event":"problem"', self.polyweft("db", "verify", "--json").stdout.replace(" ", ""))


if __name__ == "__main__":
    unittest.main()
