#!/usr/bin/env python3
"""kill -9 of tuning processes: nothing acknowledged is lost, nothing is damaged, nobody stays behind.

    bench/kill_tuners.py [--polyweft build/release/src/cli/polyweft] [--kills 100] [--tuners 3]

Keeps TUNERS `polyweft tune` processes at work in one database, each with sizes of its own, and kills one of them at a
random moment, again and again. A record is acknowledged when its process has printed `done ... record=N`. In the end
every acknowledged record must be there and the database must verify; no helper process may have outlived its tuner by
more than some seconds, and no temporary file may be left.
"""

import argparse
import glob
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Tuner:
    """One process that tunes program after program; `said` collects what it acknowledged."""

    number = 0

    def __init__(self, options, folder, database):
        Tuner.number += 1
        self.database = database
        self.log = os.path.join(folder, f"{Tuner.number}.log")
        size = 16 + 8 * (Tuner.number % 37)
        # Batches of several tasks: kills fall into starts, searches, proofs and commits alike.
        files = [
            os.path.join(ROOT, "examples", name) for name in ("01_gemm.weft", "05_softmax.weft", "13_unsharp.weft")
        ]
        command = [
            options.polyweft,
            "tune",
            files[Tuner.number % 3],
            "--trials",
            str(1 + Tuner.number % 4),
            "--database",
            database,
        ]
        parameters = re.findall(
            r"(\w+)\s*=",
            re.search(r"program \w+\(([^)]*)\)", open(files[Tuner.number % 3], encoding="utf-8").read()).group(1),
        )
        command += [word for name in parameters for word in ("-p", f"{name}={size}")]
        self.environment = dict(os.environ, TMPDIR=folder)
        with open(self.log, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=self.environment)

    def acknowledged(self):
        text = open(self.log, encoding="utf-8").read()
        return [int(n) for n in re.findall(r"^done .*\brecord=(\d+)", text, re.M)]


def children_left(polyweft):
    """Helpers of this build whose parent is gone."""
    folder, left = os.path.dirname(os.path.realpath(polyweft)), []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            name, rest = re.match(r"\d+ \((.*)\) (.*)", open(path, encoding="utf-8").read()).groups()
            if (
                name.startswith("polyweft-")
                and rest.split()[1] == "1"
                and folder[:12] in os.path.realpath(os.path.join(os.path.dirname(path), "exe"))
            ):
                left.append(path.split("/")[2])
        except (OSError, AttributeError):
            continue
    return left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--tuners", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance, done, finished = random.Random(options.seed), set(), 0
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "shared.db")
        tuners = [Tuner(options, folder, database) for _ in range(options.tuners)]
        for _ in range(options.kills):
            time.sleep(chance.uniform(0.05, 1.2))
            for k, tuner in enumerate(tuners):
                if tuner.process.poll() is not None:
                    finished += 1
                    done.update(tuner.acknowledged())
                    tuners[k] = Tuner(options, folder, database)
            victim = chance.randrange(len(tuners))
            tuners[victim].process.kill()
            tuners[victim].process.wait()
            done.update(tuners[victim].acknowledged())
            tuners[victim] = Tuner(options, folder, database)
        for tuner in tuners:
            if tuner.process.wait(120) not in (0, -signal.SIGKILL):
                print(
                    "a tuner ended with",
                    tuner.process.returncode,
                    open(tuner.log, encoding="utf-8").read(),
                    file=sys.stderr,
                )
                return 1
            finished += 1
            done.update(tuner.acknowledged())
        verified = subprocess.run(
            [options.polyweft, "db", "verify", "--database", database], capture_output=True, text=True
        )
        connection = sqlite3.connect(database)
        there = {row[0] for row in connection.execute("SELECT id FROM record")}
        intact = connection.execute("PRAGMA integrity_check").fetchone()[0]
        connection.close()
        deadline = time.time() + 10
        while children_left(options.polyweft) and time.time() < deadline:
            time.sleep(0.2)
        orphans = children_left(options.polyweft)
        files = [f for f in os.listdir(folder) if not f.endswith(".log") and not f.startswith("shared.db")]
        lost = sorted(done - there)
        if verified.returncode:
            print(verified.stdout, verified.stderr, file=sys.stderr)
        print(
            f"{options.kills} kills of {options.tuners} tuners: {finished} searches ended, {len(done)} records acknowledged, {len(lost)} lost; integrity {intact}; "
            f"db verify: {verified.stdout.strip().splitlines()[-1] if verified.stdout.strip() else verified.stderr.strip()}; "
            f"{len(orphans)} helpers and {len(files)} files left behind"
        )
        return (
            0 if not lost and intact == "ok" and verified.returncode == 0 and not orphans and not files and done else 1
        )


if __name__ == "__main__":
    sys.exit(main())
