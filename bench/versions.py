#!/usr/bin/env python3
"""Two builds of polyweft side by side: what each makes of the same programs and of the traces of schedules/library,
called in turns in one process, one thread.

    bench/versions.py --before OLD/polyweft [--polyweft build/release/src/cli/polyweft]
                      [--suite floor examples recurrences polybench language random library] [--only TEXT ...]
                      [--tune 20s] [--target x86-64-v3] [--random FOLDER] [--library FOLDER] [--json FILE]
                      [--measure-with 'chrt -r 10']
    bench/versions.py --by-hand --tune 20s --library FOLDER [--draw 48 --seed TEXT] [--keep FOLDER]

Without --tune first choices are compared; with it each build tunes so long, from an empty database.
The second form asks how good the search is: before is each trace of schedules/library as it stands, after is what a
search of so long finds that begins without these. --draw: as many of the programs, chosen by the seed. --keep: a folder
for the databases.

Kernels of the same bytes are not timed and count as 1. A ratio above 1: the new build's kernel is faster. What only one
of the two builds makes is listed; what neither makes (a trace for a unit that this machine lacks) is counted as
refused.
"""

import argparse
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

import ablation
import floor
import floor_cases
from examples import ROOT

SLOWER = 0.92


def kernel_of(name, case, options, path):
    """Makes the library of a side; gives its bytes, or a text that says why there is none."""
    binary = options.before if name == "before" else options.polyweft
    try:
        if options.tune and not (options.by_hand and name == "before"):
            database = (
                os.path.join(options.keep, case["name"] + ".db") if options.keep and name != "before" else path + ".db"
            )
            words = [*floor.words_of(case, options), "--database", database]
            command = [binary, "tune", *words, "--budget", options.tune, *(["--no-library"] if options.by_hand else [])]
            floor.run([*shlex.split(options.measure_with), *command])
            return floor.shared_library(binary, words, path)
        return ablation.kernel_of(binary, case, options, path)
    except (RuntimeError, subprocess.TimeoutExpired) as problem:
        return str(problem)


def row_of(case, options, host):
    row = {k: case[k] for k in ("suite", "name", "sizes")}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name + ".so") for name in ("before", ablation.ALL)}
        made = {name: kernel_of(name, case, options, paths[name]) for name in paths}
        missing = [name for name, code in made.items() if isinstance(code, str)]
        if missing:
            row["refused" if len(missing) == 2 else "problem"] = made[missing[0]]
            return row
        if made["before"] == made[ablation.ALL]:
            return dict(row, ratio=[1.0, 1.0, 1.0], same=True)
        job = dict(case, folder=folder, symbol=floor.SYMBOL, libraries=paths, host=host)
        try:
            floor.add_plain(job, options)
            measured = ablation.measured(job, options)
            if "before" not in measured["ratio"]:
                return dict(row, problem=f"wrong: {measured['wrong']}")
            return dict(row, ratio=measured["ratio"]["before"], ns=measured["ns"])
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
            return dict(row, problem=str(problem))


def table(rows):
    lines = [f"{'suite':<14}{'programs':>9}{'same code':>11}{'geomean':>9}{'least':>8}{'refused':>9}{'problems':>10}"]
    for suite in [*dict.fromkeys(row["suite"] for row in rows), "all"]:
        some = [row for row in rows if suite in (row["suite"], "all")]
        ratios = [row["ratio"][0] for row in some if "ratio" in row]
        count = lambda key: sum(key in row for row in some)
        mean, least = (statistics.geometric_mean(ratios), min(ratios)) if ratios else (1, 1)
        lines.append(
            f"{suite:<14}{len(ratios):>9}{count('same'):>11}{mean:>9.3f}{least:>8.2f}{count('refused'):>9}{count('problem'):>10}"
        )
    slower = [
        f"{row['suite']}/{row['name']} {row['ratio'][0]:.2f}"
        for row in rows
        if "ratio" in row and row["ratio"][2] < SLOWER
    ]
    return "\n".join([*lines, f"below {SLOWER}: " + (", ".join(slower) or "none")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    before = parser.add_mutually_exclusive_group(required=True)
    before.add_argument("--before")
    before.add_argument("--by-hand", action="store_true", help="before is schedules/library")
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--suite", nargs="*", choices=floor_cases.SUITES, default=floor_cases.WITHOUT_A_FOLDER)
    parser.add_argument("--only", nargs="*", help="programs whose suite/name holds one of these texts")
    parser.add_argument("--tune", help="a search of so long by each build first, such as 20s")
    parser.add_argument("--target", help="of the kernels")
    parser.add_argument("--random", help="folder of the suite random")
    parser.add_argument("--library", help="folder of programs, by bench_library --programs, for the suite library")
    parser.add_argument("--measure-with", default="", help="words before the process that measures")
    parser.add_argument("--draw", type=int, help="as many of the programs")
    parser.add_argument("--seed", default="1", help="of the draw")
    parser.add_argument("--keep", help="folder for the databases of the new build")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.by_hand:
        options.before, options.suite = options.polyweft, ["library"]
    if options.by_hand and not (options.tune and options.library):
        parser.error("--by-hand needs --tune and --library")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        host = os.path.join(folder, "host.so")
        floor.run(["gcc", "-O2", "-shared", "-fPIC", "-o", host, os.path.join(ROOT, "bench", "floor", "host.c")])
        cases = [c for s in options.suite for c in floor_cases.suite(s, options.random, options.library)]
        if options.draw:
            cases = random.Random(options.seed).sample(cases, min(options.draw, len(cases)))
        for case in cases:
            if options.only and not any(text in case["suite"] + "/" + case["name"] for text in options.only):
                continue
            row = row_of(case, options, host)
            rows.append(row)
            said = (
                "same code"
                if row.get("same")
                else f"{row['ratio'][0]:.2f}" if "ratio" in row else row.get("problem") or "refused: " + row["refused"]
            )
            print(f"{case['suite'] + '/' + case['name']:<60}{said}"[:200], flush=True)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    print("\n" + table(rows))
    return 1 if any("problem" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
