#!/usr/bin/env python3
"""How far apart searches end that differ in their seed alone: each program is tuned so often, from empty databases, and
the kernels are called in turns in one process, one thread.

    bench/spread.py [--polyweft build/release/src/cli/polyweft] [--suite floor examples recurrences polybench
                    language] [--only TEXT ...] [--tune 10s] [--seeds 5] [--no-library] [--measure-with 'chrt -r 10']
                    [--json FILE]

The spread of a program is the slowest kernel's time over the fastest one's, less 1.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

import ablation
import floor
import floor_cases
from examples import ROOT


def tuned(case, seed, options, path):
    words = [*floor.words_of(case, options), "--database", path + ".db"]
    command = [options.polyweft, "tune", *words, "--budget", options.tune, "--seed", str(seed)]
    floor.run([*shlex.split(options.measure_with), *command, *(["--no-library"] if options.no_library else [])])
    return floor.shared_library(options.polyweft, words, path)


def row_of(case, options, host):
    row = {k: case[k] for k in ("suite", "name", "sizes")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            paths, codes = {}, []
            for seed in range(1, options.seeds + 1):
                path = os.path.join(folder, f"{seed}.so")
                code = tuned(case, seed, options, path)
                if code not in codes:
                    paths[str(seed) if codes else ablation.ALL] = path
                codes.append(code)
            row["kernels"] = len(paths)
            if len(paths) == 1:
                return dict(row, spread=0.0)
            job = dict(case, folder=folder, symbol=floor.SYMBOL, libraries=paths, host=host)
            floor.add_plain(job, options)
            measured = ablation.measured(job, options)
            if measured["wrong"]:
                return dict(row, problem=f"wrong: {measured['wrong']}")
            times = [1.0, *(ratio[0] for ratio in measured["ratio"].values())]
            return dict(row, spread=max(times) / min(times) - 1, ns=measured["ns"])
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
            return dict(row, problem=str(problem))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--suite", nargs="*", choices=floor_cases.SUITES[:5], default=floor_cases.WITHOUT_A_FOLDER)
    parser.add_argument("--only", nargs="*", help="programs whose suite/name holds one of these texts")
    parser.add_argument("--tune", default="10s", help="budget of a search")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--no-library", action="store_true", help="searches do not begin with the library's schedules")
    parser.add_argument("--target", help="of the kernels")
    parser.add_argument("--measure-with", default="", help="words before what measures")
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        host = os.path.join(folder, "host.so")
        floor.run(["gcc", "-O2", "-shared", "-fPIC", "-o", host, os.path.join(ROOT, "bench", "floor", "host.c")])
        for case in [c for s in options.suite for c in floor_cases.suite(s)]:
            if options.only and not any(text in case["suite"] + "/" + case["name"] for text in options.only):
                continue
            row = row_of(case, options, host)
            rows.append(row)
            said = row.get("problem") or f"{100 * row['spread']:>6.1f} %  {row['kernels']} kernels"
            print(f"{case['suite'] + '/' + case['name']:<36}{said}"[:160], flush=True)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    spreads = [row["spread"] for row in rows if "spread" in row]
    if spreads:
        print(
            f"\n{len(spreads)} programs: median {100 * statistics.median(spreads):.1f} %, most {100 * max(spreads):.1f} %"
        )
    return 1 if any("problem" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
