#!/usr/bin/env python3
"""Our kernels over what C compilers make of the plain loops: every program's base order by `build --emit c` through
clang-22 and gcc, both -O3 -march=native -ffast-math, beside the first choice without a record (--tune 10s: after a
search with a database of its own), one thread.

    bench/floor.py [--polyweft build/release/src/cli/polyweft] [--suite floor examples recurrences polybench language
        random] [--only TEXT]
                   [--tune 10s] [--target x86-64-v3] [--random FOLDER] [--json FILE] [--measure-with 'chrt -r 10']

Results are compared first, with those of the same C without -ffast-math: integers exactly, floats by a tolerance, and
where that is not kept by the running error bound (`run --verify`). Where -ffast-math breaks a program that needs its
infinities, that compiler gets -fno-finite-math-only, and the row says so. Then all are called in turns in one process;
the ratio is the median over the turns of other / ours, `ratio` the least over the compilers, `spread` the distance of
its quartiles. --random: a folder that `bench_random_systems FOLDER SEED 60` has written. Losses come first.
"""

import argparse
import ctypes
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import floor_cases
from examples import ROOT, aligned

COMPILERS = {"clang": ["clang-22"], "gcc": ["gcc"]}
FAST = ["-O3", "-ffast-math"]
SYMBOL = "kernel_of_floor"
REFERENCE = ["gcc", "-O1", "-ffp-contract=off"]
TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u8": np.uint8,
    "bool": np.uint8,
}
TOLERANCES = {"f64": 1e-9, "f32": 1e-4, "f16": 2e-2, "bf16": 5e-2}
BELOW = 0.9
WITHIN = 4  # times the distance of a kernel that keeps the running bound


def run(command, timeout=600):
    """Where no database is named there is none: the user's own lies elsewhere."""
    with tempfile.TemporaryDirectory() as nowhere:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "XDG_DATA_HOME": nowhere},
        )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        raise RuntimeError(lines[-1 if lines[0].startswith("Traceback") else 0][-200:])
    return done.stdout


# ---- building ----


def arguments_in(source):
    """Of the emitted C's comment: name, is it an output, type, extents, promised values, its pack function."""
    out = []
    for name, way, kind, extents, rest in re.findall(
        r"^ \*   (\w+): (input|output) (\w+)((?:\[\d+\])*)(.*)$", source, re.M
    ):
        values = re.search(r"values (-?\d+)\.\.(-?\d+)", rest)
        packed = re.search(r"packed by (\w+)", rest)
        out.append(
            {
                "name": name,
                "output": way == "output",
                "type": kind,
                "extents": [int(e) for e in re.findall(r"\d+", extents)],
                "values": [int(v) for v in values.groups()] if values else None,
                "pack": packed and packed.group(1),
            }
        )
    return out


def march(options):
    return ["-march=" + (options.target or "native")]


def compiled(command, source, library):
    run([*command, "-std=gnu11", "-w", "-shared", "-fPIC", "-o", library, source, "-lm"])
    return library


def words_of(case, options):
    """What the program, its sizes, one thread and the target are for the command line."""
    words = [w for k, v in case["sizes"].items() for w in ("-p", f"{k}={v}")] + ["--threads", "1"]
    return [os.path.join(ROOT, case["path"]), *words, *(["--target", options.target] if options.target else [])]


def add_plain(job, options):
    """The plain loops as C, whose arguments are those of every kernel, and the reference made of them. Gives the C."""
    source = os.path.join(job["folder"], "plain.c")
    words = [*words_of(job, options), "--emit", "c", "--name", job["symbol"]]
    run([options.polyweft, "build", *words, "-o", source])
    with open(source, encoding="utf-8") as f:
        job["arguments"] = arguments_in(f.read())
    job["libraries"]["reference"] = compiled(REFERENCE, source, os.path.join(job["folder"], "reference.so"))
    return source


def shared_library(polyweft, words, path, environment=()):
    """The kernel of these words as a library of plain pointers; its bytes."""
    command = ["env", *environment, polyweft, "build", *words, "--emit", "shared", "--abi", "c"]
    run([*command, "--name", SYMBOL, "-o", path])
    with open(path, "rb") as f:
        return f.read()


def built(case, options, folder):
    """The job of a measuring process: libraries, arguments."""
    job = dict(case, folder=folder, symbol=SYMBOL, problems={}, libraries={}, notes=[])
    words = words_of(case, options)
    source = add_plain(job, options)
    for name, command in COMPILERS.items():
        compiler = [*command, *FAST, *march(options)]
        job["libraries"][name] = compiled(compiler, source, os.path.join(folder, name + ".so"))
        job["libraries"][name + " with infinities"] = compiled(
            [*compiler, "-fno-finite-math-only"], source, os.path.join(folder, name + "_inf.so")
        )
    kernels = {"first": []}
    if options.tune:
        kernels["tuned"] = ["--database", os.path.join(folder, "tuned.db")]
    for name, database in kernels.items():
        try:
            start = time.monotonic()
            if name == "tuned":
                run(
                    [
                        options.polyweft,
                        "tune",
                        *words,
                        "--budget",
                        options.tune,
                        *database,
                        *(["--no-library"] if options.no_seeds else []),
                    ]
                )
            library = os.path.join(folder, name + ".so")
            shared_library(options.polyweft, [*words, *database], library)
            job["libraries"][name] = library
            job["notes"].append(f"{name} in {time.monotonic() - start:.1f} s")
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            job["problems"][name] = str(problem)
    return job


def verified(case, options):
    """Whether the first choice keeps the running error bound."""
    words = [w for k, v in case["sizes"].items() for w in ("-p", f"{k}={v}")] + ["--threads", "1"]
    with tempfile.TemporaryDirectory() as folder:
        try:
            run([options.polyweft, "run", os.path.join(ROOT, case["path"]), *words, "--verify"])
            return True
        except (RuntimeError, subprocess.TimeoutExpired):
            return False


# ---- measuring: in a process of its own, which a wrong kernel may end ----


def apart(array, number):
    """A copy that begins as far from the other arguments', modulo a page and modulo 64 KB, as the lab of `tune` lays
    them out: the same for all kernels of a program. Where rows of all arguments fall into one set of the caches depends
    on what else the heap has held, and is no property of a kernel.
    """
    lines = 1024
    raw = np.zeros(array.nbytes + 2 * 64 * lines, np.uint8)
    copy = (
        raw[-raw.ctypes.data % (64 * lines) + 64 * (number * 615 % lines) :][: array.nbytes]
        .view(array.dtype)
        .reshape(array.shape)
    )
    copy[...] = array
    return copy


def input_array(job, argument, rng, text):
    kind, extents = argument["type"], argument["extents"]
    if kind in ("f64", "f32", "f16", "bf16"):
        array = np.asarray(floor_cases.prepared(job, argument["name"], rng.uniform(-1, 1, extents), text), np.float64)
        if kind == "bf16":
            return aligned(
                (array.astype(np.float32).reshape(-1).view(np.uint32) >> 16).astype(np.uint16).reshape(extents)
            )
        return aligned(array.astype(TYPES[kind]).reshape(extents))
    low, end = argument["values"] or ((0, 2) if kind == "bool" else (0, 100) if kind == "u8" else (-10, 11))
    array = rng.integers(low, max(end, low + 1), extents)
    return aligned(
        np.asarray(floor_cases.prepared(job, argument["name"], array, text)).astype(TYPES[kind]).reshape(extents)
    )


class Kernel:
    """A library's function of plain pointers, ours (--abi c) and the compilers' alike, with its arguments; `packs`:
    inputs in the layout that it wants. All kernels of a program share one set of outputs: which physical pages an array
    gets is worth up to 30 %, and no property of a kernel.
    """

    def __init__(self, host, path, job, inputs, outputs):
        self.host, self.library = host, ctypes.CDLL(path)
        self.outputs = outputs
        self.keep, pointers, outputs = [], [], iter(outputs)
        for argument in job["arguments"]:
            array = next(outputs) if argument["output"] else inputs[argument["name"]]
            pointers.append((self.packed(argument, array) if argument["pack"] else array).ctypes.data)
        self.count, self.pointers = len(pointers), (ctypes.c_void_p * len(pointers))(*pointers)
        self.function = ctypes.cast(getattr(self.library, job["symbol"]), ctypes.c_void_p)

    def packed(self, argument, array):
        size = getattr(self.library, argument["pack"] + "_bytes")
        size.restype = ctypes.c_int64
        out = aligned(np.zeros(size(), np.uint8))
        self.keep.append(out)
        pointers = (ctypes.c_void_p * 2)(array.ctypes.data, out.ctypes.data)
        code = self.host.floor_call(ctypes.cast(getattr(self.library, argument["pack"]), ctypes.c_void_p), 2, pointers)
        assert code == 0, f"{argument['pack']} returns {code}"
        return out

    def call(self):
        """Once, on cleared outputs: nothing that another kernel has left there counts as a result."""
        for array in self.outputs:
            array[...] = 0
        return self.host.floor_call(self.function, self.count, self.pointers)

    def time(self, times):
        return self.host.floor_time(self.function, self.count, self.pointers, times) / times


def outputs_of(job):
    return [apart(np.zeros(a["extents"], TYPES[a["type"]]), k) for k, a in enumerate(job["arguments"]) if a["output"]]


def as_numbers(array, kind):
    return (
        (array.astype(np.uint32).reshape(-1) << 16).view(np.float32).reshape(array.shape) if kind == "bf16" else array
    )


def differs(got, wanted, kinds, tolerance):
    """ "" or where the results part; and by how much at most, relative to the larger of the element and the mean."""
    greatest = 0.0
    for k, (a, b, kind) in enumerate(zip(got, wanted, kinds)):
        if kind not in TOLERANCES:
            if not np.array_equal(a, b):
                return f"output {k}: {np.count_nonzero(a != b)} integers differ", np.inf
            continue
        a, b = as_numbers(a, kind).astype(np.float64), as_numbers(b, kind).astype(np.float64)
        finite = np.isfinite(b)
        if not np.array_equal(finite, np.isfinite(a)):
            return f"output {k}: {np.count_nonzero(finite != np.isfinite(a))} infinities or NaNs", np.inf
        scale = np.abs(b[finite]) + (np.sqrt(np.mean(b[finite] ** 2)) if finite.any() else 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.max(np.nan_to_num(np.abs(a[finite] - b[finite]) / scale), initial=0)
        greatest = max(greatest, float(error))
    return (f"off by {greatest:.1e}" if greatest > tolerance else ""), greatest


def measure(job):
    host = ctypes.CDLL(job["host"])
    host.floor_time.restype = ctypes.c_double
    host.floor_time.argtypes = host.floor_call.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    host.floor_time.argtypes += [ctypes.c_int64]
    rng, text = np.random.default_rng(1), floor_cases.text_of(job["path"])
    inputs = {
        a["name"]: apart(input_array(job, a, rng, text), k) for k, a in enumerate(job["arguments"]) if not a["output"]
    }
    kinds = [a["type"] for a in job["arguments"] if a["output"]]
    narrow = [TOLERANCES[a["type"]] for a in job["arguments"] if a["type"] in TOLERANCES]
    tolerance = max(narrow, default=0)
    out = {"wrong": {}, "ns": {}, "ratio": {}, "spread": {}, "notes": []}
    outputs = outputs_of(job)
    Kernel(host, job["libraries"]["reference"], job, inputs, outputs).call()
    wanted = [array.copy() for array in outputs]
    kernels = {}
    for name in [n for n in ("first", "tuned", *COMPILERS) if n in job["libraries"]]:
        for path in [job["libraries"][name]] + [
            job["libraries"][n] for n in (name + " with infinities",) if n in job["libraries"]
        ]:
            kernel = Kernel(host, path, job, inputs, outputs)
            code = kernel.call()
            difference, off = (f"returns {code}", np.inf) if code else differs(outputs, wanted, kinds, tolerance)
            if name in job["accept"] and off < np.inf:
                out["notes"].append(f"{name} within the running bound, {difference}")
                difference, tolerance = "", max(tolerance, WITHIN * off)  # which rounding sets: what a compiler may do
            if not difference:
                if path != job["libraries"][name]:
                    out["notes"].append(f"{name} without -ffinite-math-only")
                kernels[name] = kernel
                break
            out["wrong"].setdefault(name, difference)
        if name in kernels:
            out["wrong"].pop(name, None)
    if kernels:
        is_same = "first" in kernels and "tuned" in kernels and same_code(job)
        if is_same:
            del kernels["tuned"]
        race(kernels, out)
        if is_same:
            told_as_first(out)
    return out


def same_code(job):
    contents = []
    for name in ("first", "tuned"):
        with open(job["libraries"][name], "rb") as f:
            contents.append(f.read())
    return contents[0] == contents[1]


def told_as_first(out):
    """Two copies of the same bytes would be told apart by where their pages lie: up to 15 % in a loud minute."""
    out["notes"].append("tuned is the first choice")
    out["ns"]["tuned"] = out["ns"]["first"]
    for figures, alike in ((out["ratio"], 1.0), (out["spread"], 0.0)):
        figures.update(
            {key.replace("/first", "/tuned"): value for key, value in figures.items() if key.endswith("/first")}
        )
        figures["first/tuned"] = alike


def race(kernels, out):
    first = {name: kernel.time(1) for name, kernel in kernels.items()}
    times = {name: max(1, int(5e5 / max(ns, 1))) for name, ns in first.items()}
    found = {name: [] for name in kernels}
    end = time.monotonic() + min(12.0, max(0.3 * len(kernels), 15 * sum(first[n] * times[n] for n in kernels) / 1e9))
    order = list(kernels)
    while time.monotonic() < end or len(found[order[0]]) < 3:
        for name in order:
            found[name].append(kernels[name].time(times[name]))
        order = order[1:] + order[:1]
    out["ns"] = {name: statistics.median(each) for name, each in found.items()}
    for ours in [n for n in ("first", "tuned") if n in kernels]:
        for other in [n for n in kernels if n != ours and (n in COMPILERS or (ours, n) == ("tuned", "first"))]:
            ratios = sorted(b / a for a, b in zip(found[ours], found[other]))
            out["ratio"][f"{other}/{ours}"] = statistics.median(ratios)
            out["spread"][f"{other}/{ours}"] = ratios[3 * len(ratios) // 4] - ratios[len(ratios) // 4]


# ---- the table ----


def measured(job, options):
    """In a process of its own."""
    file = os.path.join(job["folder"], "job.json")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(job, f)
    command = [*shlex.split(options.measure_with), sys.executable, os.path.abspath(__file__), "--measure", file]
    return json.loads(run(command, timeout=900))


def row_of(case, options, host):
    row = {k: case[k] for k in ("suite", "path", "name", "sizes")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            job = dict(built(case, options, folder), host=host, accept=[])
            row.update(measured(job, options))
            if "first" in row["wrong"] and verified(case, options):
                job["accept"] = ["first"]
                row.update(measured(job, options))
            row["notes"] = job["notes"] + row["notes"]
            row["problems"] = job["problems"]
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
            row["problems"] = {"all": str(problem)}
    for ours in ("first", "tuned"):
        ratios = [row["ratio"][f"{c}/{ours}"] for c in COMPILERS if f"{c}/{ours}" in row.get("ratio", {})]
        if ratios:
            row[ours] = min(ratios)
    return row


def line_of(row, ours):
    ns = row.get("ns", {})
    cells = "".join(
        f"{ns[n] / 1e3:>12.1f}" if n in ns else f"{'wrong' if n in row.get('wrong', {}) else '-':>12}"
        for n in ("first", "tuned", *COMPILERS)
    )
    spread = max((s for k, s in row.get("spread", {}).items() if k.endswith("/" + ours)), default=0)
    said = [f"{k}: {v}" for k, v in {**row.get("problems", {}), **row.get("wrong", {})}.items()] + row.get("notes", [])
    ratio = f"{row[ours]:>8.2f}" if ours in row else f"{'-':>8}"
    return f"{row['suite'] + '/' + row['name']:<36}{ratio}{spread:>8.2f}{cells}  {'; '.join(said)}"


def table(rows, ours):
    head = f"{'program':<36}{'ratio':>8}{'spread':>8}" + "".join(
        f"{n + ' us':>12}" for n in ("first", "tuned", *COMPILERS)
    )
    lines = [head] + [line_of(row, ours) for row in sorted(rows, key=lambda r: r.get(ours, -1))]
    for name in ["all", *floor_cases.SUITES]:
        ratios = [row[ours] for row in rows if ours in row and name in ("all", row["suite"])]
        missing = sum(1 for row in rows if ours not in row and name in ("all", row["suite"]))
        if ratios:
            lines.append(
                f"{name}: {len(ratios)} programs, geomean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}, "
                f"below {BELOW}: {sum(r < BELOW for r in ratios)}"
                + (f", without a figure: {missing}" if missing else "")
            )
    if ours == "tuned":
        slower = [row["name"] for row in rows if row.get("ratio", {}).get("first/tuned", 1) < 0.98]
        lines.append("slower than the first choice: " + (", ".join(slower) or "none"))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--suite", nargs="*", choices=floor_cases.SUITES[:-1], default=floor_cases.WITHOUT_A_FOLDER)
    parser.add_argument("--only", help="programs whose suite/name holds this text")
    parser.add_argument("--tune", help="budget of a search before the kernel is built a second time")
    parser.add_argument("--no-seeds", action="store_true", help="searches do not begin with the library's schedules")
    parser.add_argument("--target", help="of our kernels, and -march of the C compilers")
    parser.add_argument("--random", help="folder of the suite random")
    parser.add_argument("--measure-with", default="", help="words before the process that measures")
    parser.add_argument("--json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        with open(options.measure, encoding="utf-8") as f:
            print(json.dumps(measure(json.load(f))))
        return 0
    cases = [
        c
        for s in options.suite
        for c in floor_cases.suite(s, options.random)
        if not options.only or options.only in c["suite"] + "/" + c["name"]
    ]
    rows = []
    ours = "tuned" if options.tune else "first"
    with tempfile.TemporaryDirectory() as folder:
        host = os.path.join(folder, "host.so")
        run(["gcc", "-O2", "-shared", "-fPIC", "-o", host, os.path.join(ROOT, "bench", "floor", "host.c")])
        for case in cases:
            rows.append(row_of(case, options, host))
            print(line_of(rows[-1], ours), flush=True)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    print("\n" + table(rows, ours))
    return 1 if any("first" in row.get("wrong", {}) or row.get("problems") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
