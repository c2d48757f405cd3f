#!/usr/bin/env python3
"""The kernels of examples/polybench beside plain C loops through gcc, clang and clang with Polly, f64, one thread
(--threads gives our kernels more).

    bench/polybench.py [--polyweft build/release/src/cli/polyweft] [--size file|small|medium|large] [--budget 20s]
        [--only NAME ...] [--rounds 5] [--json FILE]
                       [--plain clang ...] [--library] [--no-seeds] [--threads N] [--keep FOLDER]

All kernels of a row live in one process; a round calls each once (short ones many times), the ratio is the median over
the rounds of other / polyweft. Products and factorizations have numpy and scipy (OpenBLAS on one thread) beside the
compilers, where these are installed; `best` is the better of the two. gcc -O3 without -ffast-math is the oracle: every
other result is compared with it before anything is timed, and a wrong one is not timed but named. Calls of more than a
second are timed three times, interleaved all the same: a machine's clock may wander by a third in minutes. Plain loops
of more than ten seconds are timed once; with --keep these times and the oracle's results stay in a folder for the next
run.
"""

import argparse
import ctypes
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from examples import (
    ROOT,
    TYPES,
    aligned,
    arguments_of,
    bindings_of,
    halide_buffer,
    library_trace,
    run,
    sizes_of,
    timed,
    use_threads,
)
from polybench_peers import peers_of, use_one_thread

HERE = os.path.dirname(os.path.abspath(__file__))
FAST = ["-O3", "-march=native", "-ffast-math"]
ORACLE = "gcc strict"
COMPILERS = {
    ORACLE: ["gcc", "-O3", "-march=native"],
    "gcc": ["gcc", *FAST],
    "clang": ["clang-22", *FAST],
    "polly": ["clang-22", *FAST, "-mllvm", "-polly"],
}
LIBRARIES = ("numpy", "scipy")
LONG, SLOW = 1.0, 10.0  # seconds: timed three times, timed once


def prepared(kernel, tensor, array):
    """Random inputs that the kernel can take: dominant diagonals, positive lengths, decaying autocorrelations."""
    if kernel == "floyd_warshall":
        return array + 1
    if kernel == "nussinov":
        return array % 4
    if kernel == "durbin":
        return 0.4 * array / np.arange(1, len(array) + 1) ** 2
    if kernel == "deriche" and tensor == "alpha":
        return np.array(0.25)
    if kernel == "cholesky":
        array = (array + array.T) / 2
    if kernel == "gramschmidt":
        return array + 10 * np.eye(*array.shape)
    if (kernel, tensor) in (("lu", "A0"), ("ludcmp", "A0"), ("trisolv", "L"), ("cholesky", "A0")):
        return array + (len(array) + 1) * np.eye(len(array))
    return array


def inputs_for(kernel, inputs):
    rng = np.random.default_rng(1)
    for tensor, kind, extents, _ in inputs:
        array = rng.uniform(-1, 1, extents) if kind.startswith("f") else rng.integers(0, 1000, extents)
        yield aligned(np.asarray(prepared(kernel, tensor, array)).astype(TYPES[kind]).reshape(extents))


def plain_functions(kernel, sizes, folder, names):
    functions = {}
    for number, name in enumerate(names):
        command = COMPILERS[name]
        library = os.path.join(folder, f"{kernel}_{number}.so")
        defines = [f"-D{k}={v}" for k, v in sizes.items()] + [f"-DPOLYBENCH_{kernel}"]
        run(
            [
                *command,
                "-w",
                "-shared",
                "-fPIC",
                *defines,
                "-o",
                library,
                os.path.join(HERE, "polybench", "polybench.c"),
                "-lm",
            ]
        )
        functions[name] = ctypes.CDLL(library).plain
    return functions


def comparable(kernel, results, sizes):
    """With more columns than rows, gramschmidt's last columns are noise for everybody."""
    if kernel != "gramschmidt":
        return results
    upper, orthonormal = results
    return [upper[: sizes["M"]], orthonormal[:, : sizes["M"]]]


def is_close(got, expected):
    """Sums in another order: within 1e-8 of the largest element; where nothing is written both have their zeros."""
    return all(
        np.allclose(g, e, rtol=0, atol=1e-8 * max(1e-300, np.max(np.abs(e), initial=0))) for g, e in zip(got, expected)
    )


def our_function(options, path, bindings, folder):
    text = open(path, encoding="utf-8").read()
    name = re.search(r"^program (\w+)", text, re.M).group(1)
    if options.budget:
        run(
            [
                options.polyweft,
                "tune",
                path,
                *bindings,
                "--budget",
                options.budget,
                *(["--no-library"] if options.no_seeds else []),
            ]
        )
    library = os.path.join(folder, name + ".so")
    by_hand = (
        library_trace("polybench_" + os.path.splitext(os.path.basename(path))[0], options.threads)
        if options.library
        else []
    )
    run([options.polyweft, "build", path, *bindings, *by_hand, "--emit", "shared", "-o", library])
    return getattr(ctypes.CDLL(library), name)


def outputs_from(text, sizes):
    """(type, extents) of the outputs, from their left-hand sides: a range gives its end, a point one more than
    itself."""
    found = {}
    for name, slots, kind in re.findall(
        r"^out (?:partial )?(\w+)\[([^=]*?)\](?::\s*(\w+))?(?: where [^=]*)? =", text, re.M
    ):
        extents, seen = [], {}
        for slot in slots.split(","):
            index, _, span = slot.partition(":")
            if span:
                end = span.split("..")[-1].strip()
                names = {**sizes, **{i: e - 1 for i, e in seen.items()}}
                seen[index.strip()] = eval(end, {}, names)
                extents.append(seen[index.strip()])
            else:
                extents.append(seen[index.strip()])
        old = found.get(name, (name, "f64", extents))
        kind = kind or (old[1] if name in found else "i32" if "path" in name else "f64")
        found[name] = (name, kind, [max(a, b) for a, b in zip(old[2], extents)])
    return [(kind, extents) for _, kind, extents in found.values()]


class Kept:
    """Results of the oracle and times of slow plain loops, from one run to the next."""

    def __init__(self, folder, kernel, sizes):
        self.base = folder and os.path.join(folder, "_".join([kernel, *(str(v) for v in sizes.values())]))
        self.times = {}
        if self.base and os.path.exists(self.base + ".json"):
            with open(self.base + ".json", encoding="utf-8") as f:
                self.times = json.load(f)

    def has_results(self):
        return bool(self.base) and os.path.exists(self.base + ".npz")

    def results(self):
        with np.load(self.base + ".npz") as file:
            return [file[name] for name in file.files]

    def store(self, times, results):
        self.times.update(times)
        if not self.base:
            return
        os.makedirs(os.path.dirname(self.base), exist_ok=True)
        np.savez(self.base + ".npz", *results)
        with open(self.base + ".json", "w", encoding="utf-8") as f:
            json.dump(self.times, f)


def once(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(options, path, folder):
    kernel = os.path.splitext(os.path.basename(path))[0]
    text = open(path, encoding="utf-8").read()
    sizes = sizes_of(text, options.size)
    bindings = bindings_of(sizes)
    row = {"kernel": kernel, "sizes": sizes, "wrong": [], "ms": {}, "ratio": {}}
    arrays = list(inputs_for(kernel, arguments_of(text, sizes)))
    outputs = outputs_from(text, sizes)
    kept = Kept(options.keep, kernel, sizes)
    row["kept"] = [name for name in options.plain if name in kept.times]
    calls, results = {}, {}

    def room():
        return [aligned(np.zeros(extents, TYPES[kind])) for kind, extents in outputs]

    names = [
        name
        for name in [ORACLE, *options.plain]
        if name not in kept.times and not (name == ORACLE and kept.has_results())
    ]
    for name, function in plain_functions(kernel, sizes, folder, names).items():
        results[name] = room()
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays + results[name]]
        calls[name] = lambda function=function, pointers=pointers: function(*pointers)
    for name, function in peers_of(kernel).items():
        calls[name] = lambda function=function: function(*arrays)
    try:
        ours = our_function(options, path, bindings, folder)
        results["polyweft"] = room()
        buffers = [halide_buffer(a) for a in arrays + results["polyweft"]]
        calls["polyweft"] = lambda: ours(*[ctypes.byref(b) for b in buffers])
    except subprocess.CalledProcessError as problem:
        row["problem"] = (problem.stderr.strip().splitlines() or ["failed"])[0][-160:]
    if kept.has_results():
        results[ORACLE] = kept.results()
    first = {}
    for name, call in calls.items():
        first[name] = once(call)
        if name in LIBRARIES:
            results[name] = list(call())
        if name in LIBRARIES and "partial" in text:  # whole matrices, of which the program has a triangle
            results[name] = [np.where(e == 0, 0, r) for r, e in zip(results[name], results[ORACLE])]
        if not is_close(comparable(kernel, results[name], sizes), comparable(kernel, results[ORACLE], sizes)):
            row["wrong"].append(name)
    slow = {
        name: took for name, took in first.items() if name in COMPILERS and took > SLOW and name not in row["wrong"]
    }
    kept.store(slow, results[ORACLE])
    times = {name: [] for name in calls if name not in row["wrong"] and name not in slow}
    for turn in range(options.rounds):
        for name in times:
            if turn < 3 or max(first.values()) < LONG:
                times[name].append(timed(calls[name]))
    if "polyweft" in times:
        row["ratio"] = {
            n: statistics.median(b / a for a, b in zip(times["polyweft"], each))
            for n, each in times.items()
            if n != "polyweft"
        }
        row["ratio"].update({n: took / statistics.median(times["polyweft"]) for n, took in kept.times.items()})
    row["ms"] = {name: 1e3 * statistics.median(each) for name, each in times.items()}
    row["ms"].update({name: 1e3 * took for name, took in kept.times.items()})
    found = [row["ratio"][name] for name in LIBRARIES if name in row["ratio"]]
    if found:
        row["ratio"]["best"] = min(found)
    return row


def print_mean(rows, name, title):
    ratios = [row["ratio"][name] for row in rows if name in row["ratio"]]
    if ratios:
        print(f"{len(ratios)} kernels, geometric mean of {title} / polyweft: {statistics.geometric_mean(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--size", choices=("file", "small", "medium", "large"), default="large")
    parser.add_argument("--budget", default="", help="tuning budget a kernel; empty: no tuning")
    parser.add_argument("--no-seeds", action="store_true", help="searches do not begin with the library's schedules")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument(
        "--plain",
        nargs="*",
        choices=list(COMPILERS)[1:],
        default=list(COMPILERS)[1:],
        help="compilers beside the oracle",
    )
    parser.add_argument(
        "--library", action="store_true", help="use the traces of schedules/library, which are made for --size large"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of our kernels (everybody else has one)")
    parser.add_argument("--keep", help="folder for the times of slow plain loops")
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    names = [ORACLE, *options.plain, *LIBRARIES, "polyweft"]
    use_threads(options.threads)
    use_one_thread()
    print(f"{'kernel':<16}" + "".join(f"{n + ' ms':>14}" for n in names) + f"{'clang/ours':>12}{'best/ours':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(os.path.join(ROOT, "examples", "polybench", "*.weft"))):
            if options.only and os.path.splitext(os.path.basename(path))[0] not in options.only:
                continue
            row = measure(options, path, folder)
            rows.append(row)
            cells = "".join(
                f"{row['ms'][n]:>14.3f}" if n in row["ms"] else f"{'WRONG' if n in row['wrong'] else '-':>14}"
                for n in names
            )
            print(
                f"{row['kernel']:<16}{cells}{row['ratio'].get('clang', float('nan')):>12.2f}{row['ratio'].get('best', float('nan')):>12.3f}  {row.get('problem', '')}",
                flush=True,
            )
    kept = ", ".join(f"{row['kernel']} by {name}" for row in rows for name in row["kept"])
    if kept:
        print(f"of an earlier run, not interleaved: {kept}")
    print_mean(rows, "clang", "clang")
    print_mean(rows, "best", "best library")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    return 1 if any("polyweft" in row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
