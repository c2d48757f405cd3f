"""tune for a person, in a pipe, for a program; with Ctrl-C; what a second tune finds."""

import contextlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import sqlite3
import time
import unittest

import numpy

from fixture import POLYWEFT, SMALL, SOURCE, CliTest

GEMM = os.path.join(SOURCE, "examples/01_gemm.weft")
SIZES = ("-p", "M=64", "-p", "N=64", "-p", "K=64")


class Screen:
    """What a terminal of this width shows in the end. Lines that it had to break itself are counted."""

    def __init__(self, shown, width):
        self.lines, self.broken, column, row = [[]], 0, 0, 0
        for c in re.sub(r"\x1b\[[\d;]*m", "", shown):
            if c == "\r":
                column = 0
            elif c == "\n":
                row, column = row + 1, 0
            else:
                if column == width:
                    row, column, self.broken = row + 1, 0, self.broken + 1
                while len(self.lines) <= row:
                    self.lines.append([])
                line = self.lines[row]
                line.extend(" " * (column + 1 - len(line)))
                line[column] = c
                column += 1
        self.lines = ["".join(line).rstrip() for line in self.lines]


class Tune(CliTest):
    def on_terminal(self, *words, environment=None, keys=None, limit_s=120):
        """Runs on a terminal of its own; `keys` is typed once the text matches its pattern. Gives exit code and
        everything shown."""
        try:
            process, terminal = pty.fork()
        except OSError as error:  # a bare chroot has no /dev/pts: nothing on this machine is a terminal then
            print(f"skipped: {self.id()}: no pseudo-terminal here: {error}")
            self.skipTest(f"no pseudo-terminal here: {error}")
        arguments, settings = [POLYWEFT, *map(str, words)], self.environment | {"TERM": "xterm"} | (environment or {})
        if process == 0:
            try:
                os.chdir(self.folder)
                os.execve(POLYWEFT, arguments, settings)
            finally:
                os._exit(99)
        shown, deadline, asked = b"", time.monotonic() + limit_s, None
        while True:
            if not select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
                os.kill(process, signal.SIGKILL)
                self.fail(f"no end within {limit_s} s: {shown.decode(errors='replace')}")
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            shown += piece
            if keys and asked is None and re.search(keys[0], shown.decode(errors="replace")):
                os.write(terminal, keys[1])
                asked = time.monotonic()
        os.close(terminal)
        self.ended_after = time.monotonic() - asked if asked else None
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.decode(errors="replace").replace(
            "\r\n", "\n"
        )

    def test_a_pipe_gets_plain_lines_without_escapes(self):
        done = self.polyweft("tune", GEMM, *SIZES, "--trials", "3", "--seed", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertNotIn("\r", done.stdout + done.stderr)
        self.assertRegex(
            done.stderr.splitlines()[0], r"^begin program=gemm key=[0-9a-f]{8} target=host numerics=reassoc threads=1$"
        )
        doing = [line for line in done.stderr.splitlines() if line.startswith("doing ")]
        self.assertRegex(doing[0], r'^doing what="checking the program" wall_s=[\d.]+$')
        lines = [line for line in done.stderr.splitlines()[1:] if not line.startswith("doing ")]
        self.assertRegex(
            lines[0],
            r"^start program=gemm key=[0-9a-f]{8} target=host numerics=reassoc db=.* budget_s=0 seed=3 sketches=\d+ peak_gflops=[\d.]+$",
        )
        self.assertRegex(lines[1], r'^best trial=1 ns=\d+ gflops=[\d.]+ .*changed="first"$')
        self.assertRegex(
            done.stdout.splitlines()[0],
            r"^done program=gemm record=1 ns=\d+ ci=[\d.]+ .* proof=proven trials=\d+ failed=\d+ wall_s=[\d.]+ all_trials=3 all_s=[\d.]+ reason=trials$",
        )
        again = self.polyweft("tune", GEMM, *SIZES, "--trials", "3")
        self.assertRegex(
            again.stdout.splitlines()[0],
            r"^done program=gemm record=1 .* trials=0 failed=0 .* all_trials=3 .* reason=hit$",
        )

    def rate(self, line):
        return re.search(r" gflops=([\d.]+)", line).group(1)

    def test_a_larger_limit_goes_on_and_a_record_has_one_rate(self):
        first = self.polyweft("tune", GEMM, *SIZES, "--trials", "3").stdout.splitlines()[0]
        hit = self.polyweft("tune", GEMM, *SIZES, "--trials", "3").stdout.splitlines()[0]
        self.assertEqual(self.rate(hit), self.rate(first))
        more = self.polyweft("tune", GEMM, *SIZES, "--trials", "9")
        self.assertRegex(more.stderr, r"(?m)^continue before_trials=3 before_s=[\d.]+$")
        self.assertRegex(more.stdout.splitlines()[0], r" all_trials=9 .* reason=trials$")
        with contextlib.closing(sqlite3.connect(self.folder / "data/polyweft/schedules.db")) as rows:
            searched = [
                row[0]
                for row in rows.execute(
                    "SELECT nest_hash FROM measurement WHERE strategy = 'evolve' AND id NOT IN (SELECT measurement FROM record)"
                )
            ]
        self.assertEqual(len(searched), len(set(searched)), "nothing is measured twice")
        self.assertEqual(len(searched), 9)

    def test_the_speedup_is_over_a_warm_base_nest(self):
        """A first call of a short kernel is page faults: hundreds of times its time."""
        tuned = self.json_lines("tune", GEMM, *SIZES, "--trials", "3")[-1]
        rows = self.json_lines("bench", GEMM, *SIZES, "--milliseconds", "200")
        base = next(row for row in rows if row.get("name") == "base nest")
        self.assertLess(tuned["reference_ns"], 3 * base["median_ns"])
        self.assertGreater(tuned["reference_ns"], base["median_ns"] / 3)

    def test_data_of_the_user_are_what_is_compared_and_timed(self):
        """All of B is 0: the reference divides by it, and that is said once, by its equation."""
        program = self.file(
            "quotients.weft", "program q(N = 32)\nin A: f32[N]\nin B: f32[N]\nout Y[i: N] = A[i] / B[i]\n"
        )
        zeros = str(self.folder / "zeros.npy")
        numpy.save(zeros, numpy.zeros(32, numpy.float32))
        done = self.polyweft("tune", program, "--trials", "2", "--input", f"B={zeros}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"note: .* by the equation of Y in line 4; 0 % of the elements are finite and judged")
        self.assertEqual(self.polyweft("bench", program, "--input", f"B={zeros}").returncode, 0)
        wrong = self.polyweft("bench", program, "--input", f"Z={zeros}")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("Z is no input of q", wrong.stderr)
        verified = self.polyweft("run", program, "--verify", "--input", f"B={zeros}")
        self.assertEqual(verified.returncode, 1)
        self.assertRegex(verified.stdout, r"not tested: .* Y\[0\] is -?(nan|inf) in the reference")

    def test_data_that_break_a_promise_are_refused_at_once(self):
        program = self.file(
            "half.weft", "program half(N = 32)\nin x: f32[N] values 0.5..2.0\nout y[i: N] = x[i] * 0.5\n"
        )
        data = numpy.ones(32, numpy.float32)
        numpy.save(self.folder / "good.npy", data)
        data[3] = 3
        numpy.save(self.folder / "bad.npy", data)
        message = "error: x: element 3 is 3, outside the promised 0.5..2 [PW0161]"
        for words in (("run",), ("bench",), ("tune", "--trials", "1"), ("tune", "--budget", "0")):
            self.refused(2, message, words[0], program, "--input", "x=bad.npy", *words[1:])
        self.succeeds("tune", program, "--input", "x=good.npy", "--trials", "1")
        self.refused(2, message, "tune", program, "--input", "x=bad.npy", "--trials", "1")

    def test_timings_account_for_the_command(self):
        lines = self.json_lines("tune", GEMM, *SIZES, "--trials", "8", "--no-cache", "--timings", "--refresh")
        timings = lines[-1]
        self.assertEqual(timings["event"], "timings")
        stages = {row["stage"]: row["processor_ms"] for row in timings["stages"]}
        self.assertGreaterEqual(min(stages.values()), 0, stages)
        for stage in ("search: scoring candidates", "runner: comparing and timing kernels", "code to run"):
            self.assertGreater(stages[stage], 0, stages)
        self.assertGreater(sum(stages.values()), 0.75 * timings["whole_ms"], timings)
        self.assertLess(sum(stages.values()), 1.05 * timings["whole_ms"], timings)

    def test_explain_counts_the_trials_of_the_search(self):
        done = self.json_lines("tune", GEMM, *SIZES, "--trials", "8")[-1]
        record = self.json_lines("explain", "1")[0]
        failures = sum(each["count"] for each in record["failures"].values())
        base = int(done["reference_ns"] is not None)  # it may have a row: it is raced, too
        self.assertLessEqual(record["timed"] + record["slower"], done["measured"] + base)  # each candidate once
        self.assertEqual(failures, done["failed"])

    def test_what_explain_says_breaks_between_words(self):
        self.succeeds("tune", GEMM, *SIZES, "--trials", "4")
        for width in (60, 100):
            code, screen = self.on_screen(width, "explain", "1")
            self.assertEqual(code, 0)
            text = "\n".join(screen.lines)
            second = text[text.index("second best: ") : text.index("hot loop: ")].splitlines()
            self.assertLessEqual(max(map(len, second)), width, text)
        self.assertEqual(self.succeeds("explain", "1").count("\n  "), 0, "a pipe gets one line each")

    def test_nothing_is_measured_by_budget_0(self):
        for text in ("0", "0s", "0ms"):
            line = self.json_lines("tune", GEMM, *SIZES, "--budget", text)[-1]
            self.assertEqual(
                (line["reason"], line["record"], line["median_ns"], line["proof"], line["measured"]),
                ("nothing measured", 0, 0, "proven", 0),
            )
            self.assertEqual((line["peak_gflops"], line["reference_ns"]), (None, None))
        self.polyweft("tune", GEMM, *SIZES, "--trials", "1")
        self.assertTrue(self.json_lines("tune", GEMM, *SIZES, environment={"POLYWEFT_BUDGET": "0"})[-1]["hit"])
        self.refused(
            2,
            "error: polyweft tune: --trials: 0 is not a number from 1 to 2147483647; --budget 0 measures nothing [PW0008]\n  note: see: polyweft tune --help",
            "tune",
            GEMM,
            "--trials",
            "0",
        )

    def test_a_schedule_by_hand_is_measured_and_stored(self):
        trace = self.file("one.trace", "trace 1\n  vectorize C j 8\n")
        done = self.polyweft("tune", GEMM, *SIZES, "--schedule", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stdout,
            r"^done program=gemm record=1 ns=\d+ .* speedup=[\d.]+( verdict=\w+)? proof=proven trials=1 .* reason=schedule\ntrace 1\n  vectorize C j 8\n",
        )
        self.assertIn("record #1", self.succeeds("bench", GEMM, *SIZES, "--milliseconds", "20"))
        refused = self.polyweft("tune", GEMM, *SIZES, "--schedule", self.file("bad.trace", "trace 1\n  parallel C k\n"))
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("[PW03", refused.stderr)

    def test_a_budget_for_nothing_says_what_took_it(self):
        done = self.polyweft("tune", GEMM, *SIZES, "--budget", "1ms")
        if done.returncode == 0:  # a fast machine measures its first choice in the moment of grace
            self.assertRegex(done.stdout.splitlines()[0], r" reason=budget$")
            return
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(
            done.stderr.splitlines()[-2], r"^error: nothing was measured: the time was over while .* \[PW0839\]$"
        )

    def ends_with(self, message, *words):
        done = self.polyweft(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.splitlines()[-1], message.replace("{folder}", str(self.folder)))

    def test_it_begins_with_a_folder_of_traces(self):
        program = "".join(f"#| {line}\n" for line in pathlib.Path(GEMM).read_text().splitlines() if line[:1] != "#")
        self.file("mine/good.trace", program + "trace 1\n  tile C [j: 32, i: 3]\n  vectorize C j 8\n")
        bad = self.file("mine/bad.trace", "trace 1\n  vectorize C j 8\n")
        words = ("tune", GEMM, *SIZES, "--trials", "2")
        done = self.polyweft(*words, "--seeds", self.folder / "mine", "--no-library")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(
            f"warning: {bad}: left out: it holds no program in lines that begin with '#| ' [PW0011]\n", done.stderr
        )
        self.ends_with(
            "error: --seeds {folder}/none: cannot be read: No such file or directory [PW0010]",
            *words,
            "--refresh",
            "--seeds",
            self.folder / "none",
        )
        self.ends_with(
            "error: --seeds {folder}: has no file NAME.trace [PW0010]", *words, "--refresh", "--seeds", self.folder
        )

    def test_it_ends_at_a_share_of_the_roofline(self):
        done = self.polyweft("tune", GEMM, *SIZES, "--effort", "full", "--until", "0.0001-of-roofline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"budget_s=600 ")
        self.assertRegex(done.stdout.splitlines()[0], r"trials=1 failed=0 .* reason=share_of_the_roofline$")
        for word in ("0", "1.5", "x", "0.5-of-peak", "nan"):
            refused = self.polyweft("tune", GEMM, "--until", word)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(
                f"error: --until {word}: expected a share above 0 and at most 1, e.g. 0.9-of-roofline [PW0003]",
                refused.stderr,
            )
        self.assertEqual(self.polyweft("tune", GEMM, "--effort", "quick", "--budget", "3s").returncode, 2)

    def test_a_person_sees_header_table_and_result(self):
        code, shown = self.on_terminal("tune", GEMM, *SIZES, "--trials", "4", "--color", "never")
        self.assertEqual(code, 0, shown)
        self.assertNotIn("\x1b", shown)
        for pattern in (
            r"^gemm  M=64 N=64 K=64  reassoc   key [0-9a-f]{8}$",
            r"^target    host: \d+-bit vectors, \d+ registers, 1 thread$",
            r"^measured  peak \d+ GFLOP/s",
            r"^work      48.0 KiB in and out, 0.000524 GFLOP",
            r"^database  .*schedules\.db$",
            r"^space     \d+ sketches?, [\d,]+ points$",
            r"trial   best +of peak +predicted   what changed$",
            r"^ +1   .* GFLOP/s .* first$",
            r"measured, 0 failed.*\^C stops, keeps",
            r"^done in [\d.]+ s: trials ",
            r"proof: proven in \d+ ms$",
            r"^next: polyweft build ",
        ):
            self.assertRegex(shown.replace("\r", "\n"), re.compile(pattern, re.M))

    def test_colours_are_wished_or_forbidden(self):
        words = ("tune", GEMM, *SIZES, "--trials", "1")
        self.assertIn("\x1b[1m", self.on_terminal(*words)[1])
        self.assertNotIn("\x1b", self.on_terminal(*words, environment={"NO_COLOR": "1"})[1])
        self.assertNotIn("\x1b", self.on_terminal(*words, environment={"TERM": "dumb"})[1])
        self.assertIn("\x1b[1m", self.on_terminal(*words, "--color", "always", environment={"NO_COLOR": "1"})[1])
        bad = self.file("bad.weft", "progam x()\n")
        self.assertNotIn("\x1b", self.polyweft("check", bad).stderr)
        self.assertIn("\x1b[1;31merror:", self.polyweft("check", bad, environment={"CLICOLOR_FORCE": "1"}).stderr)

    def test_a_narrow_terminal_gets_short_lines(self):
        shown = self.on_terminal("tune", GEMM, *SIZES, "--trials", "3", environment={"COLUMNS": "60", "NO_COLOR": "1"})[
            1
        ]
        table = re.split(r"what changed\n", shown)[1].split("done in")[0]
        self.assertLessEqual(max(len(line) for line in re.split(r"[\r\n]", table)), 60)

    def on_screen(self, width, *words, **options):
        environment = {"COLUMNS": str(width)}
        code, shown = self.on_terminal(*words, "--color", "never", environment=environment, **options)
        return code, Screen(shown, width)

    def test_lines_break_between_words_at_every_width(self):
        """The path of the database is a word that no width holds; --database has a short one."""
        words = ("tune", GEMM, *SIZES, "--trials", "3", "--database", "t.db")
        for width in (40, 60, 80, 100):
            with self.subTest(width):
                code, screen = self.on_screen(width, *words, "--refresh")
                self.assertEqual(code, 0)
                head = [line for line in screen.lines if not line.startswith(("next:", "trace", "  "))]
                self.assertLessEqual(max(map(len, head)), width, "\n".join(screen.lines))
                text = " ".join(" ".join(screen.lines).split())
                for words_of_header in (
                    "gemm M=64 N=64 K=64 reassoc key ",
                    "1 thread",
                    "database t.db",
                    "in and out, 0.000524 GFLOP",
                    "what changed",
                    "done in ",
                ):
                    self.assertIn(words_of_header, text)
        hit = self.on_screen(60, *words)[1]
        self.assertLessEqual(max(len(line) for line in hit.lines if "budget" in line or "refresh" in line), 60)

    def test_what_is_stored_has_a_row(self):
        """The last row is the winner's: of a search whose final races chose another one, it says so."""
        for seed in range(1, 4):
            done = self.polyweft("tune", GEMM, *SIZES, "--trials", "4", "--seed", seed, "--refresh")
            rows = [line for line in done.stderr.splitlines() if line.startswith("best ")]
            self.assertTrue(rows, done.stderr)
            for row in rows:
                changed = re.search(r'changed="(.*)"$', row)[1]
                self.assertLessEqual(len(changed), 60)
                self.assertEqual("final race: " in changed, "trial=final" in row)
        plain = self.file("plain.weft", "program plain(N = 8)\nin A: f32[N]\nout B[i: N]: f32 = A[i]\n")
        trace = self.file("one.trace", "trace 1\n")
        done = self.polyweft("tune", plain, "--schedule", trace)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_control_c_leaves_no_status_line(self):
        for width in (60, 100):
            with self.subTest(width):
                code, screen = self.on_screen(
                    width, "tune", GEMM, *SIZES, "--budget", "100s", "--refresh", keys=(r"[1-9]\d* measured", b"\x03")
                )
                self.assertEqual(code, 130)
                left = [line for line in screen.lines if "stops, keeps" in line or "[##" in line or "^C" in line]
                self.assertEqual(left, [], "\n".join(screen.lines))

    def test_control_c_keeps_the_best(self):
        code, shown = self.on_terminal(
            "tune", GEMM, *SIZES, "--budget", "100s", "--color", "never", keys=(r"[1-9]\d* measured", b"\x03")
        )
        self.assertEqual(code, 130, shown)
        self.assertRegex(shown, r"done in [\d.]+ s: interrupted")
        self.assertLess(self.ended_after, 20)
        hit = self.json_lines("tune", GEMM, *SIZES, "--budget", "0")
        self.assertEqual([line["event"] for line in hit], ["result"])
        self.assertTrue(hit[0]["hit"])
        tried = hit[0]["effort_trials"]
        on = self.json_lines("tune", GEMM, *SIZES, "--trials", tried + 2)
        on = [line for line in on if line["event"] not in ("begin", "doing")]
        self.assertEqual(
            (on[0]["event"], on[0]["before_trials"], on[-1]["effort_trials"]),
            ("start", tried, tried + 2),
            "an interrupted search is no answer to a larger one",
        )

    def test_a_second_control_c_ends_at_once(self):
        code, shown = self.on_terminal("tune", GEMM, *SIZES, "--budget", "100s", keys=(r"1 measured", b"\x03\x03"))
        self.assertEqual(code, 130, shown)

    def test_events_are_json_lines(self):
        lines = self.json_lines("tune", GEMM, *SIZES, "--trials", "3")
        events = [line["event"] for line in lines]
        self.assertEqual(events[:2], ["begin", "doing"])
        self.assertIn("start", events)
        self.assertEqual(lines[-1]["event"], "result")
        self.assertEqual(sum(line["event"] == "trial" for line in lines), 3)
        self.assertEqual({line["schema"] for line in lines}, {"polyweft.tune/1"})
        best = [line for line in lines if line["event"] == "best"]
        self.assertEqual(best[0]["changed"], "first")
        self.assertGreater(lines[-1]["median_ns"], 0, "timed once more, in turns with the peak")

    def test_a_bad_file_among_good_ones_does_not_stop_the_others(self):
        done = self.polyweft("tune", self.file("bad.weft", "program"), self.small(), "--trials", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("done program=small ", done.stdout)
        self.assertIn("bad.weft:1:", done.stderr)

    def test_programs_of_a_folder_share_a_budget(self):
        folder = self.folder / "net"
        (folder / "deep").mkdir(parents=True)
        (folder / "one.weft").write_text(SMALL)
        (folder / "deep" / "two.weft").write_text(
            "program first(N = 300)\nin A: f32[N]\nout Y[i: N]: f32 = 2.0 * A[i]\n"
            "program second(N = 300)\nin A: f32[N]\nout S: f32 = sum[i: N] A[i]\n"
        )
        database = self.folder / "net.db"
        command = ["tune", str(folder), "--total", "6s", "--calls", "second=100", "--database", str(database)]
        lines = self.json_lines(*command)
        results = {line["program"]: line for line in lines if line["event"] == "result"}
        self.assertEqual(set(results), {"small", "first", "second"})
        for line in results.values():
            self.assertEqual(line["proof"], "proven")
            self.assertGreater(line["record"], 0)
        again = [line for line in self.json_lines(*command) if line["event"] == "result"]
        spent = sum(line["effort_s"] for line in results.values())
        if spent >= 6:  # else final races took the rest, and searches go on where they stopped
            self.assertEqual({line["reason"] for line in again}, {"hit"})
        self.assertEqual({line["program"] for line in again}, set(results))
        for line in again:
            self.assertEqual(line["proof"], "proven")
            self.assertGreaterEqual(line["effort_s"], results[line["program"]]["effort_s"])

    def test_what_a_shared_budget_refuses(self):
        small = self.small()
        for words, code, text in (
            (("--total", "5s", "--budget", "5s"), 2, "excludes"),
            (("--total", "5s", "--effort", "quick"), 2, "excludes"),
            (("--calls", "small=2"), 2, "--total"),
            (("--total", "x"), 2, "--total"),
            (("--total", "5s", "--calls", "small=-1"), 2, "a number above 0"),
            (("--total", "5s", "--calls", "small=nan"), 2, "a number above 0"),
            (("--total", "5s", "--calls", "small"), 2, "a number above 0"),
            (("--total", "5s", "--calls", "other=2"), 2, "no program here has this name"),
        ):
            with self.subTest(words):
                done = self.polyweft("tune", small, *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
