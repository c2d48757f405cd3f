#!/usr/bin/env python3
"""How long `tune` goes on beyond its budget, and beyond Ctrl-C at random moments, beside busy loops.

    bench/overshoot.py [--polyweft build/release/src/cli/polyweft] [--budgets 1 5 15] [--programs 40] [--loops 8]
                       [--signals 20] [--seed 1]

Wall seconds from the start of the process to its end, less the budget; with Ctrl-C, from the signal to the end. Asked:
at most the larger of 1 s and 5 % of the budget; 1 s after the signal.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import floor_cases
from examples import ROOT

SUITES = ["examples", "recurrences", "polybench"]


def started(polyweft, case, budget, home):
    words = [os.path.join(ROOT, case["path"])]
    for name, value in case["sizes"].items():
        words += ["-p", f"{name}={value}"]
    environment = {**os.environ, "XDG_DATA_HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": home, "HOME": home}
    database = os.path.join(home, "tuned.db")
    command = [polyweft, "tune", *words, "--budget", f"{budget}s", "--database", database]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def beyond_budget(polyweft, case, budget):
    with tempfile.TemporaryDirectory() as home:
        start = time.monotonic()
        code = started(polyweft, case, budget, home).wait()
        return time.monotonic() - start - budget, code


def beyond_signal(polyweft, case, budget, after):
    with tempfile.TemporaryDirectory() as home:
        child = started(polyweft, case, budget, home)
        time.sleep(after)
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        code = child.wait()
        return time.monotonic() - start, code


def report(title, rows, most):
    values = [seconds for _, seconds, _ in rows]
    worst = max(rows, key=lambda row: row[1])
    codes = sorted({code for _, _, code in rows})
    print(
        f"{title}: {len(rows)} runs, median {statistics.median(values):+.2f} s, most {worst[1]:+.2f} ({worst[0]}),"
        f" above {most:.2f} s: {[f'{name} {seconds:.2f}' for name, seconds, _ in rows if seconds > most]}, exit {codes}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--budgets", nargs="*", type=float, default=[1, 5, 15])
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--loops", type=int, default=8)
    parser.add_argument("--signals", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    cases = [case for suite in SUITES for case in floor_cases.suite(suite)]
    cases = draw.sample(cases, min(options.programs, len(cases)))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.loops)]
    try:
        for budget in options.budgets:
            rows = [(case["name"], *beyond_budget(options.polyweft, case, budget)) for case in cases]
            report(f"budget {budget:g} s", rows, max(1, 0.05 * budget))
        if options.signals:
            moments = [draw.uniform(0.1, 6) for _ in range(options.signals)]
            rows = [
                (case["name"], *beyond_signal(options.polyweft, case, 30, moment))
                for case, moment in zip(draw.choices(cases, k=options.signals), moments)
            ]
            report("Ctrl-C", rows, 1)
    finally:
        for loop in loops:
            loop.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
