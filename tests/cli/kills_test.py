"""Three real `polyweft tune` into one database, killed at random moments: what was acknowledged is there, the file is
sound, nobody and nothing is left over.

PW_KILLS says how many kills (10), PW_KILLS_SEED with which moments."""

import glob
import os
import random
import re
import signal
import sqlite3
import subprocess
import time
import unittest

from fixture import POLYWEFT, SOURCE, CliTest

GEMM = os.path.join(SOURCE, "examples/01_gemm.weft")
KILLS = int(os.environ.get("PW_KILLS", "10"))
WRITERS = 3


def files_of_links():
    return set(glob.glob("/dev/shm/polyweft-*")) | set(glob.glob("/tmp/polyweft-??????"))


class Writer:
    """One `polyweft tune` after the other, each of its own small size, so that each one ends with a record of its
    own."""

    def __init__(self, number, test):
        self.number, self.test, self.runs, self.acknowledged = number, test, 0, {}
        self.log = test.folder / f"writer{number}.out"
        self.start()

    def start(self):
        self.runs += 1
        sizes = ("-p", f"M={16 + self.number}", "-p", f"N={16 + self.runs}", "-p", "K=16")
        with open(self.log, "wb") as out:
            words = [
                POLYWEFT,
                "tune",
                GEMM,
                *sizes,
                "--budget",
                "60s",
                "--trials",
                "2",
                "--database",
                str(self.test.database),
            ]
            self.process = subprocess.Popen(
                words,
                stdout=out,
                stderr=subprocess.DEVNULL,
                cwd=self.test.folder,
                env=self.test.environment,
                start_new_session=True,
            )
        self.test.sessions.add(self.process.pid)

    def collect(self):
        """Every record that this run said was stored, with the time that it said."""
        for record, ns in re.findall(
            r"^done .*?record=(\d+) ns=(\d+) ", self.log.read_text(errors="replace"), re.MULTILINE
        ):
            self.acknowledged[int(record)] = int(ns)

    def go_on(self):
        code = self.process.poll()
        if code is None:
            return
        self.test.assertEqual(code, 0, f"a tune that nobody killed ended with {code}")
        self.collect()
        self.start()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.collect()


class Kills(CliTest):
    def setUp(self):
        super().setUp()
        self.database, self.sessions = self.folder / "killed.db", set()
        self.environment["TMPDIR"] = str(self.folder / "tmp")
        os.mkdir(self.environment["TMPDIR"])

    def left_over(self):
        """Living processes of our sessions: the helpers of killed tunes, and theirs."""
        found = []
        for status in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(status) as text:
                    name, fields = text.read().rsplit(")", 1)
            except OSError:
                continue
            state, _, _, session = fields.split()[:4]
            if int(session) in self.sessions and state not in "ZX":
                found.append(name)
        return found

    def waits_until_nobody_is_left(self):
        deadline = time.monotonic() + 20
        while self.left_over() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.left_over(), [], "processes outlive the tune that started them")

    def stored(self):
        with sqlite3.connect(self.database) as rows:
            self.assertEqual(rows.execute("pragma integrity_check").fetchall(), [("ok",)])
        listed = self.json_lines("db", "list", "--limit", "100000", "--database", self.database)
        return {row["record"]: row["median_ns"] for row in listed if "record" in row}

    def test_kills_lose_no_acknowledged_record(self):
        seed = int(os.environ.get("PW_KILLS_SEED", "1"))
        random_moment = random.Random(seed)
        before = files_of_links()
        self.succeeds("tune", GEMM, "-p", "M=8", "-p", "N=8", "-p", "K=8", "--trials", "2", "--database", self.database)
        writers = [Writer(number, self) for number in range(WRITERS)]
        kills = 0
        while kills < KILLS:
            time.sleep(random_moment.uniform(0.02, 1.2))
            for writer in writers:
                writer.go_on()
            victim = writers[random_moment.randrange(WRITERS)]
            victim.kill()
            victim.start()
            kills += 1
        for writer in writers:  # one of each lives to its end: the database still takes records
            self.assertEqual(writer.process.wait(timeout=200), 0)
            writer.collect()
        self.waits_until_nobody_is_left()
        self.assertEqual(sorted(os.listdir(self.environment["TMPDIR"])), [])
        self.assertEqual(sorted(files_of_links() - before), [])
        stored = self.stored()
        acknowledged = {record: ns for writer in writers for record, ns in writer.acknowledged.items()}
        self.assertGreaterEqual(len(acknowledged), WRITERS)
        for record, ns in acknowledged.items():
            self.assertIn(record, stored, f"record {record} was acknowledged and is lost; seed {seed}")
            self.assertAlmostEqual(stored[record], ns, delta=1.0)
        self.succeeds("db", "verify", "--database", self.database, timeout=600)
        print(
            f"{kills} kills, {sum(w.runs for w in writers)} tunes, {len(acknowledged)} records acknowledged, {len(stored)} stored, seed {seed}"
        )


if __name__ == "__main__":
    unittest.main()
