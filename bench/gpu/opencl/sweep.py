#!/usr/bin/env python3
"""Programs on the OpenCL device: threads that first choices launch, and what searches from an empty database end with.

bench/gpu/opencl/sweep.py [--suite examples ...] [--only NAME] [--budget 5] [--polyweft PATH] [--json FILE]

Each row: the program, the threads of its largest launch, the status of its search, its proof, the time of the untuned
first choice and of the record, trials. Needs a device of `polyweft run --target opencl`.
"""

import argparse
import functools
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sweeps

MOST_SECONDS = 300
sized = functools.partial(sweeps.sized, target="opencl")


def run(options, words):
    return sweeps.run(options.polyweft, words, MOST_SECONDS)


def row_of(case, options, folder):
    row = {"suite": case["suite"], "name": case["name"]}
    header = os.path.join(folder, "kernel.h")
    code, _, problem = run(options, ["build", *sized(case), "--emit", "header", "-o", header])
    if code != 0:
        return row | {"status": problem.splitlines()[0]}
    with open(header, encoding="utf-8") as f:
        row["threads"] = sweeps.threads_of(f.read())
    database = os.path.join(folder, case["suite"] + "_" + case["name"] + ".db")
    code, out, problem = run(
        options, ["tune", *sized(case), "--budget", str(options.budget), "--database", database, "--json"]
    )
    if code != 0:
        return row | {"status": (problem or out).splitlines()[0]}
    result = [json.loads(line) for line in out.splitlines() if '"result"' in line][-1]
    row |= {
        "status": "tuned",
        "ns": result.get("median_ns") or result.get("ns"),
        "proof": result.get("proof") or result.get("verdict"),
        "trials": result.get("measured") or result.get("trials"),
        "failed": result.get("failed"),
    }
    return row


def line_of(row):
    ns = row.get("ns")
    return (
        f"{row['suite']:12} {row['name']:22} {row.get('threads', 0):>10} {ns / 1e3 if ns else 0:>12.1f} us"
        f" {row.get('proof', ''):>9} {row.get('trials') or 0:>4} trials {row.get('failed') or 0:>3} failed"
        f"  {row['status']}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", choices=sweeps.SUITES + ["floor"])
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    parser.add_argument("--budget", default="5", help="of a search, in seconds")
    parser.add_argument("--polyweft", default=os.path.join(sweeps.ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--json", help="rows as JSON Lines, too")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in sweeps.cases(options.suite or ["examples", "language", "polybench"], options.only):
            row = row_of(case, options, folder)
            wrong += row["status"] != "tuned"
            print(line_of(row), flush=True)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as f:
                    f.write(json.dumps(row) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
