#!/usr/bin/env python3
"""Programs on the CUDA device: whether each gives the right results, what first choices take, what searches end with.

bench/gpu/cuda/sweep.py [--phase verify ...] [--suite examples ...] [--only NAME] [--target cuda] [--jobs 16]
    [--verify-seconds 100] [--bench-seconds 150] [--tune-seconds 150] [--budget 20] [--sanitize SUITE/NAME ...]
    [--polyweft PATH] [--out FOLDER] [--databases FOLDER]

Three phases, each with a limit of wall time; what it does not reach is told:

verify: `run --verify` of every program, `jobs` processes at a time.
bench:  `bench` of first choices, one at a time.
tune:   searches from an empty database, one at a time: those of --tuned, or some.

--sanitize runs programs under compute-sanitizer, after the first phase. A program that fails is a row that says why.
In the folder: rows.jsonl, a row as soon as it is there; table.txt; databases of the searches.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sweeps

PHASES = ["verify", "bench", "tune"]
TUNED = """products/bf16_product products/f32_product examples/gemm examples/conv_bias_relu examples/softmax
examples/layernorm examples/attention examples/jacobi2d examples/quantized_gemm polybench/syrk products/bf16_layer
examples/batched_gemm""".split()
SANITIZED = ["examples/gemm", "examples/softmax", "products/bf16_layer"]
LONGEST = 120


def name_of(case):
    return case["suite"] + "/" + case["name"]


class Sweep:
    def __init__(self, options):
        self.options = options
        self.rows = []
        os.makedirs(options.out, exist_ok=True)
        os.makedirs(options.databases, exist_ok=True)
        self.file = open(os.path.join(options.out, "rows.jsonl"), "a", encoding="utf-8")

    def add(self, row):
        self.rows.append(row)
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        print(line_of(row), flush=True)

    def command(self, case, words, seconds, before=()):
        """The row of a command: its status, how long it took, what it said where it failed; and its output."""
        started = time.monotonic()
        program, *rest = [*before, self.options.polyweft, *words]
        try:
            code, out, problem = sweeps.run(program, rest, max(1, min(LONGEST, seconds)))
        except OSError as failed:
            code, out, problem = 127, "", str(failed)
        row = {"suite": case["suite"], "name": case["name"], "seconds": round(time.monotonic() - started, 2)}
        if code != 0:
            said = [line for line in problem.splitlines() + out.splitlines()[-3:] if line.strip()]
            row |= {"status": "failed", "code": code, "message": "\n".join(said)[:2000]}
        return row | {"status": row.get("status", "ok")}, out

    def verify(self, case, end):
        left = end - time.monotonic()
        if left < 1:
            return {"phase": "verify", "suite": case["suite"], "name": case["name"], "status": "not reached"}
        row, out = self.command(case, ["run", *self.sized(case), "--verify"], left)
        if "verified: " in out:
            row["verified"] = out[out.index("verified: ") :].splitlines()[0]
        elif row["status"] == "ok":
            row |= {"status": "failed", "message": "no word of a comparison: " + out[-500:]}
        return {"phase": "verify"} | row

    def sized(self, case):
        return sweeps.sized(case, self.options.target)

    def verify_all(self, cases):
        end = time.monotonic() + self.options.verify_seconds
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for row in concurrent.futures.as_completed([pool.submit(self.verify, case, end) for case in cases]):
                self.add(row.result())

    def sanitize(self, cases):
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        for case in cases:
            if name_of(case) not in self.options.sanitize:
                continue
            for check in ("memcheck", "racecheck"):
                before = [tool, "--tool", check, "--target-processes", "all", "--error-exitcode", "99"]
                row, out = self.command(case, ["run", *self.sized(case)], LONGEST, before)
                said = [line for line in out.splitlines() if line.startswith("=========")]
                self.add({"phase": check} | row | {"said": said[-6:]})

    def timed(self, phase, cases, seconds, words, numbers):
        """Commands that print JSON Lines, whose last result has the numbers."""
        end = time.monotonic() + seconds
        for case in cases:
            left = end - time.monotonic()
            if left < 2:
                self.add({"phase": phase, "suite": case["suite"], "name": case["name"], "status": "not reached"})
                continue
            row, out = self.command(case, words(case), left)
            results = [json.loads(line) for line in out.splitlines() if '"result"' in line]
            if results:
                row |= {key: results[-1][key] for key in numbers if key in results[-1]}
            self.add({"phase": phase} | row)

    def bench(self, cases):
        def words(case):
            return ["bench", *self.sized(case), "--milliseconds", "400", "--json"]

        numbers = ["median_ns", "ci_rel", "gflops", "origin", "cold_ns", "clock_mhz"]
        self.timed("bench", cases, self.options.bench_seconds, words, numbers)

    def tune(self, cases):
        def words(case):
            database = os.path.join(self.options.databases, f"{case['suite']}_{case['name']}.db")
            return ["tune", *self.sized(case), "--budget", str(self.options.budget), "--database", database, "--json"]

        wanted = self.options.tuned or TUNED
        some = [case for case in cases if name_of(case) in wanted]
        numbers = ["median_ns", "measured", "failed", "proof", "trace", "gflops", "reason"]
        self.timed("tune", some, self.options.tune_seconds, words, numbers)


def line_of(row):
    text = f"{row['phase']:9} {row['suite']:12} {row['name']:22} {row['status']:11} {row.get('seconds', 0):7.1f} s"
    if row.get("median_ns"):
        text += f" {row['median_ns'] / 1e3:12.1f} us {row.get('gflops', 0):9.1f} GFLOP/s"
    if row.get("measured"):
        text += f" {row['measured']:4} trials, {row.get('failed', 0)} failed"
    if row.get("message"):
        text += "  " + row["message"].splitlines()[0][:160]
    if row.get("said"):
        text += "  " + row["said"][-1]
    return text


def table(rows):
    lines = []
    for phase in sorted({row["phase"] for row in rows}):
        of_phase = [row for row in rows if row["phase"] == phase]
        right = sum(row["status"] == "ok" for row in of_phase)
        lines += [f"{phase}: {right} of {len(of_phase)} ok"]
        lines += ["  " + line_of(row) for row in sorted(of_phase, key=lambda r: (r["suite"], r["name"]))]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phase", action="append", choices=PHASES)
    parser.add_argument("--suite", action="append", choices=sweeps.SUITES + ["floor"])
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verify-seconds", type=float, default=100)
    parser.add_argument("--bench-seconds", type=float, default=150)
    parser.add_argument("--tune-seconds", type=float, default=150)
    parser.add_argument("--budget", type=int, default=20, help="of a search, in seconds")
    parser.add_argument("--tuned", action="append", metavar="SUITE/NAME", help="a program to search for")
    parser.add_argument("--sanitize", nargs="*", default=None, metavar="SUITE/NAME")
    parser.add_argument("--polyweft", default=os.path.join(sweeps.ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--out", default="build/cuda_sweep")
    parser.add_argument("--databases", help="of the searches; default: in the folder")
    options = parser.parse_args()
    options.databases = os.path.abspath(options.databases or os.path.join(options.out, "databases"))
    options.out, options.polyweft = os.path.abspath(options.out), os.path.abspath(options.polyweft)
    sweep = Sweep(options)
    cases = sweeps.cases(options.suite or sweeps.SUITES, options.only)
    phases = options.phase or PHASES
    try:
        if "verify" in phases:
            sweep.verify_all(cases)
        if options.sanitize is not None:
            options.sanitize = options.sanitize or SANITIZED
            sweep.sanitize(cases)
        if "bench" in phases:
            sweep.bench(cases)
        if "tune" in phases:
            sweep.tune(cases)
    finally:
        with open(os.path.join(options.out, "table.txt"), "w", encoding="utf-8") as f:
            f.write(table(sweep.rows))
    return 1 if any(row["status"] == "failed" for row in sweep.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
