#!/usr/bin/env python3
"""What the first answer to a program costs: processor seconds (helpers included) of `build --emit object` without a
record and without a cache, over all suites, and with --again of the same in a new process with the user's cache.

    bench/first_answer.py [--polyweft build/release/src/cli/polyweft] [--suite examples recurrences polybench language
                          strangers residues] [--only TEXT ...] [--again] [--stages] [--json FILE] [--target x86-64-v3]

--stages: a table by stage (`--timings`) over all programs. Slowest first.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import floor_cases
from examples import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "generators"))
import residue_programs  # noqa: E402

SUITES = ["examples", "recurrences", "polybench", "language", "strangers"]
RESIDUES = "residues"  # 20 generated programs with residue classes; not among the others


def cases_of(suite, folder):
    if suite == RESIDUES:
        out = []
        for seed in range(1, 21):
            path = os.path.join(folder, f"{seed}.weft")
            with open(path, "w", encoding="utf-8") as f:
                f.write(residue_programs.program(seed))
            out.append({"suite": suite, "name": f"residues{seed}", "path": path, "sizes": {}})
        return out
    if suite == "strangers":
        return [floor_cases.case(suite, p, {}) for p in floor_cases.files("bench/first_answer")]
    return floor_cases.suite(suite)


def words_of(case, options):
    out = [os.path.join(ROOT, case["path"])]
    for name, value in case["sizes"].items():
        out += ["-p", f"{name}={value}"]
    return out + (["--target", options.target] if options.target else [])


def one(case, options, home):
    """Processor and wall seconds, the stages, and what went wrong or an empty text."""
    environment = {**os.environ, "XDG_DATA_HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": home, "HOME": home}
    command = [options.polyweft, "build", *words_of(case, options), "--emit", "object", "-o", os.devnull]
    if options.stages:
        command += ["--timings", "--json"]
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0), err.seek(0)
        lines = out.read().decode(errors="replace").splitlines()
        problem = "" if child.returncode == 0 else (err.read().decode(errors="replace").strip() or lines[-1:])
    stages = {}
    for line in lines if options.stages else []:
        row = json.loads(line)
        if row.get("event") == "timings":
            stages = {s["stage"]: s["processor_ms"] / 1e3 for s in row["stages"]}
    return {
        "suite": case["suite"],
        "name": case["name"],
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": wall,
        "stages": stages,
        "problem": str(problem)[:200],
    }


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def report(rows, key, title):
    values = [row[key] for row in rows]
    print(
        f"{title}: {len(values)} programs, median {statistics.median(values):.3f} s, 95 % {percentile(values, .95):.3f},"
        f" most {max(values):.3f}, above 1 s: {sum(v > 1 for v in values)}, above 3 s: {sum(v > 3 for v in values)}"
    )


def print_stages(rows):
    names = sorted({s for row in rows for s in row["stages"]}, key=lambda s: -sum(r["stages"].get(s, 0) for r in rows))
    total = sum(row["cpu"] for row in rows)
    print(f"\n{'stage':34}{'all, s':>9}{'share':>8}{'median, ms':>12}{'most, s':>9}  of")
    for name in names:
        values = [row["stages"].get(name, 0) for row in rows]
        worst = max(rows, key=lambda row: row["stages"].get(name, 0))
        print(
            f"{name:34}{sum(values):9.2f}{sum(values) / total:8.1%}{1e3 * statistics.median(values):12.1f}"
            f"{max(values):9.2f}  {worst['name']}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--suite", nargs="+", default=SUITES, choices=[*SUITES, RESIDUES])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--target", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    rows = []
    folder = tempfile.TemporaryDirectory()
    for case in [c for s in options.suite for c in cases_of(s, folder.name)]:
        if options.only and not any(text in case["name"] or text in case["path"] for text in options.only):
            continue
        with tempfile.TemporaryDirectory() as home:
            row = one(case, options, home)
            if options.again:
                row["again"] = one(case, options, home)["cpu"]
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r{len(rows)} {row['name']:40}", end="", file=sys.stderr)
    rows.sort(key=lambda row: -row["cpu"])
    for row in rows:
        again = f"  again {row['again']:.3f}" if options.again else ""
        print(f"{row['cpu']:8.3f} s  {row['suite']:12} {row['name']:28}{again}  {row['problem']}")
    report(rows, "cpu", "first answer, processor time")
    if options.again:
        report(rows, "again", "the same in a new process")
    if options.stages:
        print_stages(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
