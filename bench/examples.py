#!/usr/bin/env python3
"""Every example that bench/plain_c has, tuned, against the same program as plain C loops through clang-22 -O3
-march=native -ffast-math.

    bench/examples.py [--polyweft build/release/src/cli/polyweft] [--budget 20s] [--only NAME ..] [--json FILE]
    bench/examples.py --size large --library --budget '' [--threads 2] --only smith_waterman needleman_wunsch

The second form takes the sizes of the files' `# LARGE:` lines and the traces of schedules/library where there are some;
only our kernel has the threads. One process, both kernels loaded, calls interleaved A B A B; times are medians, the
ratio is the median of the pairs' ratios with its quartiles; where a call takes more than a second there are three
pairs. All arrays lie on borders of 64 bytes. Every result is compared before it is timed. Losses are printed like wins.
"""

import argparse
import ctypes
import functools
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

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u8": np.uint8,
}
HALIDE_CODE = {"i": 0, "u": 1, "f": 2}


class Dim(ctypes.Structure):
    _fields_ = [
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    ]


class Buffer(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_uint64),
        ("interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(Dim)),
        ("padding", ctypes.c_void_p),
    ]


def halide_buffer(array):
    dims = (Dim * max(1, array.ndim))()
    stride = 1
    for d in range(array.ndim):
        extent = array.shape[array.ndim - 1 - d]
        dims[d] = Dim(0, extent, stride, 0)
        stride *= extent
    buffer = Buffer(
        0,
        None,
        array.ctypes.data,
        0,
        HALIDE_CODE[array.dtype.kind],
        array.dtype.itemsize * 8,
        1,
        array.ndim,
        dims,
        None,
    )
    buffer.keep = (array, dims)
    return buffer


def sizes_of(text, size):
    """The program's parameters at the sizes of the file, or at those of its line `# SMALL:`, `# LARGE:` and so on."""
    sizes = {
        k: int(v)
        for k, v in re.findall(r"(\w+)\s*=\s*(\d+)", re.search(r"^program \w+\(([^)]*)\)", text, re.M).group(1))
    }
    if size != "file":
        line = re.search(rf"^# {size.upper()}: (.*)$", text, re.M).group(1)
        sizes.update((k, int(v)) for k, v in re.findall(r"-p (\w+)=(\d+)", line))
    return sizes


def bindings_of(sizes):
    return [word for k, v in sizes.items() for word in ("-p", f"{k}={v}")]


def library_trace(stem, threads):
    """Words that make `build` use the trace by hand, where schedules/library has one; for several threads the one that
    is made for them."""
    for name in [stem + "_two_threads"] * (threads > 1) + [stem]:
        trace = os.path.join(ROOT, "schedules", "library", name + ".trace")
        if os.path.exists(trace):
            return ["--schedule", trace]
    return []


def use_threads(count):
    """For polyweft's builds and for the tasks of kernels in this process."""
    os.environ["POLYWEFT_THREADS"] = os.environ["HL_NUM_THREADS"] = str(count)


def arguments_of(text, sizes):
    """(name, type, shape, is_const) of inputs, from the program text."""
    inputs = []
    for const, name, kind, shape in re.findall(r"^(const )?in\s+(\w+):\s*(\w+)(?:\[([^\]]*)\])?", text, re.M):
        extents = [eval(e, {}, sizes) for e in shape.split(",")] if shape else []
        inputs.append((name, kind, extents, bool(const)))
    return inputs


def bounds_of(text, sizes):
    """What inputs of integers promise: name -> (least, end)."""
    promised = re.findall(r"^in\s+(\w+):[^\n]*\bvalues\s+(\S+?)\.\.(\S+)", text, re.M)
    return {name: (eval(low, {}, sizes), eval(end, {}, sizes)) for name, low, end in promised}


def aligned(array):
    """A copy on a border of 64 bytes, as memory for vectors should lie: for both sides of the comparison."""
    raw = np.zeros(array.nbytes + 64, np.uint8)
    copy = raw[-raw.ctypes.data % 64 :][: array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def prepared(name, tensor, array):
    """Random inputs that the program can take: positive matrices, filters and waves that do not grow, gates that do not
    saturate."""
    if name == "cholesky":
        return array @ array.T + len(array) * np.eye(len(array))
    if (name, tensor) == ("quantized_gemm", "mult"):
        return np.full_like(array, 1e-3)
    if (name, tensor) in (("biquads", "c"), ("wave_2d", "speed")):
        return 0.1 * np.tanh(array)
    if name in ("gru", "stacked_lstm") and tensor in ("W", "U"):
        return array / np.sqrt(array.shape[-1])
    return array


def make_inputs(name, text, sizes):
    rng = np.random.default_rng(1)
    bounds = bounds_of(text, sizes)
    for tensor, kind, extents, _ in arguments_of(text, sizes):
        low, end = bounds.get(tensor, (0, 10 if kind == "i8" else 100))
        array = rng.standard_normal(extents) if kind.startswith("f") else rng.integers(low, end, extents)
        yield aligned(np.asarray(prepared(name, tensor, array)).astype(TYPES[kind]).reshape(extents))


def run(command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


def output_like(polyweft, path, bindings):
    lines = [json.loads(line) for line in run([polyweft, "run", path, *bindings, "--json"]).splitlines()]
    return [(o["name"], o["type"], o["extents"]) for o in lines if o.get("event") == "output"]


@functools.cache
def plain_programs():
    """Names of the programs that plain_c has, and the file of each."""
    found = {}
    for path in glob.glob(os.path.join(HERE, "plain_c", "*.c")):
        with open(path, encoding="utf-8") as f:
            found.update((name, path) for name in re.findall(r"defined\(EXAMPLE_(\w+)\)", f.read()))
    return found


def plain_function(name, sizes, folder):
    library = os.path.join(folder, name + "_plain.so")
    defines = [f"-D{k}={v}" for k, v in sizes.items()] + [f"-DEXAMPLE_{name}"]
    run(
        [
            "clang-22",
            "-O3",
            "-march=native",
            "-ffast-math",
            "-shared",
            "-fPIC",
            *defines,
            "-o",
            library,
            plain_programs()[name],
            "-lm",
        ]
    )
    return ctypes.CDLL(library).plain


def tuned_function(polyweft, path, name, words, inputs, buffers, folder):
    library = os.path.join(folder, name + ".so")
    run([polyweft, "build", path, *words, "--emit", "shared", "-o", library])
    loaded = ctypes.CDLL(library)
    for position, (tensor, _, _, is_const) in enumerate(inputs):
        if not is_const:
            continue
        size = getattr(loaded, f"{name}_pack_{tensor}_bytes")
        size.restype = ctypes.c_int64
        raw = np.zeros(size() + 64, np.uint8)
        packed = raw[-raw.ctypes.data % 64 :][: size()]
        packed_buffer = halide_buffer(packed)
        assert (
            getattr(loaded, f"{name}_pack_{tensor}")(ctypes.byref(buffers[position]), ctypes.byref(packed_buffer)) == 0
        )
        packed_buffer.raw = raw
        buffers[position] = packed_buffer
    return getattr(loaded, name)


def timed(call, minimum=0.002):
    start = time.perf_counter()
    calls = 0
    while True:
        call()
        calls += 1
        elapsed = time.perf_counter() - start
        if elapsed >= minimum:
            return elapsed / calls


def measure(path, name, text, folder, options):
    polyweft = options.polyweft
    sizes = sizes_of(text, options.size)
    bindings = bindings_of(sizes)
    arrays = list(make_inputs(name, text, sizes))
    by_hand = library_trace(name, options.threads) if options.library else []
    if options.budget and not by_hand:
        run(
            [
                polyweft,
                "tune",
                path,
                *bindings,
                "--budget",
                options.budget,
                *(["--no-library"] if options.no_seeds else []),
            ]
        )
    outputs = [aligned(np.zeros(extents, TYPES[kind])) for _, kind, extents in output_like(polyweft, path, bindings)]
    expected = [aligned(np.zeros_like(o)) for o in outputs]
    plain = plain_function(name, sizes, folder)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays + expected]
    buffers = [halide_buffer(a) for a in arrays + outputs]
    tuned = tuned_function(polyweft, path, name, bindings + by_hand, arguments_of(text, sizes), buffers, folder)
    references = [ctypes.byref(b) for b in buffers]
    start = time.perf_counter()
    plain(*pointers)
    pairs = 3 if time.perf_counter() - start > 1 else options.pairs
    status = tuned(*references)
    equal = status == 0 and all(np.allclose(o, e, rtol=2e-3, atol=1e-3) for o, e in zip(outputs, expected))
    row = {"example": os.path.basename(path), "equal": equal}
    if not equal:
        row["problem"] = f"the kernel returned {status}" if status else "the outputs differ"
        return row
    ours, theirs, ratios = [], [], []
    for _ in range(pairs):
        a, b = timed(lambda: tuned(*references)), timed(lambda: plain(*pointers))
        ours.append(a), theirs.append(b), ratios.append(b / a)
    quartiles = statistics.quantiles(ratios, n=4)
    row.update(
        ours_ms=1e3 * statistics.median(ours),
        plain_ms=1e3 * statistics.median(theirs),
        ratio=quartiles[1],
        low=quartiles[0],
        high=quartiles[2],
    )
    return row


def programs(options):
    """(path, name, text) of what shall be measured."""
    known = plain_programs()
    for path in sorted(
        glob.glob(os.path.join(ROOT, "examples", "*.weft"))
        + glob.glob(os.path.join(ROOT, "examples", "recurrences", "*.weft"))
    ):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        name = re.search(r"^program (\w+)", text, re.M).group(1)
        has_size = options.size == "file" or f"# {options.size.upper()}: " in text
        if name in known and has_size and (not options.only or any(part in path for part in options.only)):
            yield path, name, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyweft", default=os.path.join(ROOT, "build/release/src/cli/polyweft"))
    parser.add_argument("--budget", default="20s", help="tuning budget an example; empty: do not tune")
    parser.add_argument("--no-seeds", action="store_true", help="searches do not begin with the library's schedules")
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--only", nargs="*", help="parts of the files' names")
    parser.add_argument("--size", choices=("file", "large"), default="file")
    parser.add_argument(
        "--library",
        action="store_true",
        help="use the traces of schedules/library, which are made for --size large, instead of tuning",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of our kernels (plain C has one)")
    parser.add_argument("--json")
    options = parser.parse_args()
    use_threads(options.threads)
    rows = []
    print(f"{'example':<28}{'polyweft':>12}{'plain C':>12}{'ratio':>8}  quartiles")
    with tempfile.TemporaryDirectory() as folder:
        for path, name, text in programs(options):
            try:
                row = measure(path, name, text, folder, options)
            except subprocess.CalledProcessError as problem:
                row = {"example": os.path.basename(path), "equal": False, "problem": problem.stderr.strip()[:300]}
            rows.append(row)
            if row["equal"]:
                print(
                    f"{row['example']:<28}{row['ours_ms']:>9.3f} ms{row['plain_ms']:>9.3f} ms{row['ratio']:>8.2f}  {row['low']:.2f} .. {row['high']:.2f}",
                    flush=True,
                )
            else:
                print(f"{row['example']:<28} WRONG OR FAILED {row.get('problem', '')}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    return 0 if all(r["equal"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
