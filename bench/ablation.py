#!/usr/bin/env python3
"""What each pass, rule and part of code generation is worth: every program's first choice without a record, with all
abilities and with each of them left out (PW_WITHOUT, src/support/abilities.cpp), called in turns in one process, one
thread.

    bench/ablation.py [--polyweft build/dev/src/cli/polyweft] [--abilities build/dev/bench/bench_abilities]
                      [--suite floor examples recurrences polybench language random library] [--only TEXT]
                      [--ability PART.NAME ...] [--target x86-64-v3] [--random FOLDER] [--library FOLDER]
                      [--json FILE] [--measure-with 'chrt -r 10'] [--until-kept] [--jobs 16 --measure-jobs 4]

Kernels of the same bytes are not timed. `helps`: programs that take 1.03 times as long or more without it, the 95 %
interval of the median of the turns' ratios above 1; `hurts`: the other way round. What helps fewer than three programs
of two families (suites; each random program is one) is a candidate for removal. Results are compared with those of the
plain C first.
"""

import argparse
import concurrent.futures
import ctypes
import itertools
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import floor
import floor_cases
from examples import ROOT

LEAST = 1.03
PROGRAMS, SUITES = 3, 2
ALL = "all"


def abilities(options):
    known = [line.split("\t")[0] for line in floor.run([options.abilities]).splitlines()]
    unknown = set(options.ability or []) - set(known)
    if unknown:
        sys.exit(f"there is no ability {', '.join(sorted(unknown))}: {', '.join(known)}")
    return options.ability or known


def kernel_of(polyweft, case, options, path, without=""):
    """Makes the library, of the first choice or of the case's trace; gives its bytes."""
    words = floor.words_of(case, options) + (["--schedule", case["trace"]] if "trace" in case else [])
    return floor.shared_library(polyweft, words, path, ["PW_WITHOUT=" + without])


def library_without(case, group, options, folder):
    path = os.path.join(folder, "+".join([group[0], str(len(group))]) + ".so" if group else ALL + ".so")
    return path, kernel_of(options.polyweft, case, options, path, ",".join(group))


def built(case, options, folder):
    job = dict(case, folder=folder, symbol=floor.SYMBOL, libraries={}, problems={})
    floor.add_plain(job, options)
    job["libraries"][ALL], with_all = library_without(case, [], options, folder)
    asked = [a for a in options.abilities_asked if a not in options.passed]
    if "trace" in case:
        asked = [a for a in asked if a.startswith("code.")]  # of a given schedule only the code may differ
    for _, part in itertools.groupby(asked, lambda ability: ability.split(".")[0]):
        add_differing(job, list(part), with_all, options)
    return job


def add_differing(job, group, with_all, options):
    """Libraries without one of `group`, where their bytes differ. What changes nothing when a whole group is left out
    is taken to change nothing alone, so a program takes some 15 builds and not one an ability."""
    try:
        path, code = library_without(job, group, options, job["folder"])
        if code == with_all:
            return
        if len(group) == 1:
            job["libraries"][group[0]] = path
    except (RuntimeError, subprocess.TimeoutExpired) as problem:
        if len(group) == 1:
            job["problems"][group[0]] = str(problem)
    if len(group) > 1:
        add_differing(job, group[: len(group) // 2], with_all, options)
        add_differing(job, group[len(group) // 2 :], with_all, options)


# ---- measuring: in a process of its own, which a wrong kernel may end ----


def interval(ratios):
    """Median, and the 95 % interval of it by ranks."""
    ratios = sorted(ratios)
    reach = 0.98 * math.sqrt(len(ratios))
    low, high = max(0, int(len(ratios) / 2 - reach)), min(len(ratios) - 1, math.ceil(len(ratios) / 2 + reach))
    return [statistics.median(ratios), ratios[low], ratios[high]]


def measure(job):
    host = ctypes.CDLL(job["host"])
    host.floor_time.restype = ctypes.c_double
    host.floor_time.argtypes = host.floor_call.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    host.floor_time.argtypes += [ctypes.c_int64]
    rng, text = np.random.default_rng(1), floor_cases.text_of(job["path"])
    inputs = {
        a["name"]: floor.apart(floor.input_array(job, a, rng, text), k)
        for k, a in enumerate(job["arguments"])
        if not a["output"]
    }
    kinds = [a["type"] for a in job["arguments"] if a["output"]]
    outputs = floor.outputs_of(job)
    floor.Kernel(host, job["libraries"]["reference"], job, inputs, outputs).call()
    wanted = [array.copy() for array in outputs]
    tolerance = max((floor.TOLERANCES[a["type"]] for a in job["arguments"] if a["type"] in floor.TOLERANCES), default=0)
    out, kernels = {"ratio": {}, "wrong": {}, "ns": 0.0}, {}
    for name, path in job["libraries"].items():
        if name == "reference":
            continue
        kernel = floor.Kernel(host, path, job, inputs, outputs)
        code = kernel.call()
        difference, off = (f"returns {code}", np.inf) if code else floor.differs(outputs, wanted, kinds, tolerance)
        if (
            name == ALL and difference and off < np.inf
        ):  # `bench/floor.py` asks for the running bound; here it need only be no worse without an ability
            difference, tolerance = "", floor.WITHIN * off
        if difference:
            out["wrong"][name] = difference
        else:
            kernels[name] = kernel
    if ALL not in kernels or len(kernels) < 2:
        return out
    times = {name: max(1, int(3e5 / max(kernel.time(1), 1))) for name, kernel in kernels.items()}
    found = {name: [] for name in kernels}
    order, end = list(kernels), time.monotonic() + min(10.0, 0.25 * len(kernels))
    while time.monotonic() < end or len(found[ALL]) < 7:
        for name in order:
            found[name].append(kernels[name].time(times[name]))
        order = order[1:] + order[:1]
    out["ns"] = statistics.median(found[ALL])
    out["ratio"] = {name: interval([b / a for a, b in zip(found[ALL], found[name])]) for name in kernels if name != ALL}
    return out


# ---- the table ----


def measured(job, options):
    """In a process of its own; `job` is all that it gets."""
    file = os.path.join(job["folder"], "job.json")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(job, f)
    command = [*shlex.split(options.measure_with), sys.executable, os.path.abspath(__file__), "--measure", file]
    return json.loads(floor.run(command, timeout=900))


def row_of(case, options, host):
    row = {k: case[k] for k in ("suite", "path", "name", "sizes")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            job = dict(built(case, options, folder), host=host)
            with options.measuring:
                row.update(measured(job, options))
            row["problems"] = job["problems"]
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
            row["problems"] = {ALL: str(problem)}
    return row


def found_of(rows, ability):
    """(ratio with its interval, program, suite) of the programs whose code differs, and those of them that it helps."""
    found = [
        (row["ratio"][ability], row["suite"] + "/" + row["name"], row["suite"])
        for row in rows
        if ability in row.get("ratio", {})
    ]
    return found, [f for f in found if f[0][0] >= LEAST and f[0][1] > 1]


def is_few(helps):
    return len(helps) < PROGRAMS or len(families(helps)) < SUITES


def families(found):
    """Suites; a program drawn at random is a family of its own."""
    return {name if suite == "random" else suite for _, name, suite in found}


def pass_kept(rows, options):
    if options.until_kept:
        options.passed = {a for a in options.abilities_asked if not is_few(found_of(rows, a)[1])}


def by_turns(cases):
    """One program of each suite after the other."""
    suites = {}
    for case in cases:
        suites.setdefault(case["suite"], []).append(case)
    turns = itertools.zip_longest(*suites.values())
    return [case for turn in turns for case in turn if case]


def table(rows, asked):
    lines = [f"{'ability':<30}{'differs':>9}{'helps':>7}{'families':>9}{'hurts':>7}{'geomean':>9}  most; least"]
    for ability in asked:
        found, helps = found_of(rows, ability)
        hurts = [f for f in found if f[0][0] <= 1 / LEAST and f[0][2] < 1]
        geomean = statistics.geometric_mean([f[0][0] for f in found]) if found else 1.0
        said = "; ".join(f"{f[1]} {f[0][0]:.2f}" for f in ([max(found), min(found)] if found else []))
        lines.append(
            f"{ability:<30}{len(found):>9}{len(helps):>7}{len(families(helps)):>9}{len(hurts):>7}{geomean:>9.2f}  {said}{'  FEW' if is_few(helps) else ''}"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/dev/src/cli/polyweft"))
    parser.add_argument("--abilities", default=os.path.join(ROOT, "build/dev/bench/bench_abilities"))
    parser.add_argument("--suite", nargs="*", choices=floor_cases.SUITES, default=floor_cases.WITHOUT_A_FOLDER)
    parser.add_argument("--only", help="programs whose suite/name holds this text")
    parser.add_argument("--ability", nargs="*", help="these, and not all")
    parser.add_argument("--target", help="of the kernels")
    parser.add_argument("--random", help="folder of the suite random")
    parser.add_argument("--library", help="folder of programs, by bench_library --programs, for the suite library")
    parser.add_argument("--measure-with", default="", help="words before the process that measures")
    parser.add_argument(
        "--until-kept", action="store_true", help="what helps enough programs is left out of later ones"
    )
    parser.add_argument("--jobs", type=int, default=1, help="programs at once: their kernels are built side by side")
    parser.add_argument("--measure-jobs", type=int, default=1, help="of these, programs that are measured at once")
    parser.add_argument("--json", help="the rows; those that are there already are not measured again")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        with open(options.measure, encoding="utf-8") as f:
            print(json.dumps(measure(json.load(f))))
        return 0
    options.abilities_asked = abilities(options)
    options.passed = set()
    options.measuring = threading.Semaphore(options.measure_jobs)
    rows = []
    if options.json and os.path.exists(options.json):
        with open(options.json, encoding="utf-8") as f:
            rows = json.load(f)
        pass_kept(rows, options)
    there = {(row["suite"], row["name"]) for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        host = os.path.join(folder, "host.so")
        floor.run(["gcc", "-O2", "-shared", "-fPIC", "-o", host, os.path.join(ROOT, "bench", "floor", "host.c")])
        cases = [
            c
            for s in options.suite
            for c in floor_cases.suite(s, options.random, options.library)
            if (not options.only or options.only in c["suite"] + "/" + c["name"])
            and (c["suite"], c["name"]) not in there
        ]
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        for done in concurrent.futures.as_completed([pool.submit(row_of, c, options, host) for c in by_turns(cases)]):
            case = done.result()
            rows.append(case)
            pass_kept(rows, options)
            said = {
                **{k: f"{v[0]:.2f}" for k, v in rows[-1].get("ratio", {}).items()},
                **rows[-1].get("wrong", {}),
                **rows[-1].get("problems", {}),
            }
            print(
                f"{case['suite'] + '/' + case['name']:<36}{rows[-1].get('ns', 0) / 1e3:>12.1f} us  "
                + ", ".join(f"{k} {v}" for k, v in said.items()),
                flush=True,
            )
            if options.json:
                with open(options.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    print("\n" + table(rows, options.abilities_asked))
    return 1 if any(row.get("wrong") or row.get("problems") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
