#!/usr/bin/env python3
"""Image pipelines stage by stage, each stage a nest of its own in rows of vectors with its taps written out and outputs
streamed, beside the first choice; layers of a network one after the other, step by step, beside the library's trace, on
two threads and on one.

    bench/stage_by_stage.py BUILD [NAME ..] [--rounds N]      BUILD: a build folder with polyweft and bench_traces;
        images are 1536 x 2560

Kernels run in turns; a first turn compares their results before the others are timed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGE = ["-p", "H=1536", "-p", "W=2560"]
TOLERANCE = 1e-4  # relative, of sums in another order


def pure(name, outer="y", split=None, stream=False):
    """An elementwise stage."""
    steps = [f"tile {name} [x: 64]", f"permute {name} [{outer}, x.1, x]"]
    steps += [f"split {name} x.1 at {split}"] if split else []
    return steps + [f"vectorize {name} x 16"] + ([f"stream {name}"] if stream else [])


def taps(name, indices, split=None, lanes=16):
    """A stencil: its sum in registers."""
    steps = [f"tile {name} [x: 64]", f"permute {name} [y, x.1, {indices}, x]", f"accumulate {name} at x.1 reg"]
    steps += [f"split {name} x.1 at {split}"] if split else []
    return steps + [f"unroll {name} {indices}", f"vectorize {name} x {lanes}"]


def chain():
    steps = ["inline S0"]
    for k in range(1, 33):
        name = f"S{k}" if k < 32 else "Y"
        steps += taps(name + ".1", "r", "0, 2560" if k == 1 else None, 32) + taps(name, "s", None, 32)
    return steps


def row_sums(name):
    """A matrix times a vector: eight rows of it at a time, lanes along the row."""
    return [
        f"tile {name} [k: 8, q: 16]",
        f"permute {name} [k.1, q.1, k, q]",
        f"accumulate {name} at k.1 reg",
        f"unroll {name} k",
        f"vectorize {name} q 16",
    ]


def layers():
    """Each layer's steps one after the other, what it reads from below and its own last step in one go; threads take
    gates, so that a step is one fork."""
    places = [
        "h@2: [l, 0, 0, 0, 0, k]",
        "c@1: [l, 0, 0, 0, 1, k]",
        "z.1: [l, t, 0, g, 0, k]",
        "z.2: [l, t, 0, g, 1, k]",
        "z: [l, t, 0, g, 2, k]",
    ]
    places += ["c@2: [l, t, 1, 0, 0, k]", "h@3: [l, t, 1, 0, 1, k]"]
    steps = (
        ["band lstm [l, t, u, g, v, k] of " + ", ".join(places), "distribute lstm at v"]
        + row_sums("z.1")
        + row_sums("z.2")
    )
    return steps + [f"vectorize {name} k 16" for name in ("z", "c@2", "h@3")] + ["parallel lstm g"]


SUMS = taps("Sxx", "r, s") + taps("Sxy", "r, s") + taps("Syy", "r, s") + pure("R", stream=True)
PROGRAMS = {
    "15_harris": pure("Gx") + pure("Gy") + SUMS,
    "13_unsharp": ["inline P"] + taps("By", "r", "0, 2560") + taps("B", "s") + pure("Y", stream=True),
    "recurrences/harris_rgb": pure("G") + pure("Gx") + pure("Gy") + SUMS,
    "recurrences/unsharp_rgb": ["inline P"]
    + pure("G")
    + taps("By", "r", "0, 2560")
    + taps("B", "s")
    + pure("Q")
    + pure("Y", "k, y", stream=True),
    "recurrences/pyramid": taps("R1", "s", "1, 1279")
    + taps("G1", "r")
    + taps("R2", "s", "1, 639")
    + taps("G2", "r")
    + taps("R3", "s", "1, 319")
    + taps("G3", "r")
    + pure("D2", split="639", stream=True)
    + pure("D1", split="1279", stream=True)
    + pure("D0", split="2559", stream=True),
    "recurrences/stencil_chain": chain(),
}


NETWORKS = {"recurrences/stacked_lstm": (layers(), ["-p", "L=4", "-p", "T=64", "-p", "H=512"])}


def prove(polyweft, program, trace, sizes):
    """A trace by hand is proven, and its results are compared with the base nest's on seeded data: those of the race
    are positive, which saturates gates."""
    shown = subprocess.run(
        [polyweft, "run", program, *sizes, "--schedule", str(trace), "--threads", "2", "--verify"],
        capture_output=True,
        text=True,
    )
    if shown.returncode:
        sys.exit(f"{trace.stem}: {shown.stdout}{shown.stderr}")
    print(f"  {trace.stem:<20} {shown.stdout.splitlines()[-1]}", flush=True)


def race(bench, program, traces, sizes, rounds, threads):
    """Prints each kernel's times and how many times as fast as the first the last one is."""
    environment = {**os.environ, "HL_NUM_THREADS": str(threads)}
    command = [str(bench), program, *map(str, traces), *sizes, "-r"]
    for turns in ("1", str(rounds)):  # what differs is not timed
        shown = subprocess.run([*command, turns], check=True, capture_output=True, text=True, env=environment).stdout
        worst = max(float(word) for word in re.findall(r"difference (\S+)", shown))
        if not worst <= TOLERANCE:
            sys.exit(f"{program}: results differ by {worst}\n{shown}")
    best, median = ([float(word) for word in re.findall(kind + r" +(\S+) ms", shown)] for kind in ("best", "median"))
    for trace, *times in zip(traces, best, median):
        print(f"  {trace.stem:<20} best {times[0]:8.3f} ms, median {times[1]:8.3f} ms")
    print(
        f"  on {threads} thread{'s' * (threads > 1)}: {best[0] / best[-1]:.2f}x by best, {median[0] / median[-1]:.2f}x by median times; largest difference {worst:.1e}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    bench, polyweft = options.build / "bench/bench_traces", str(options.build / "src/cli/polyweft")
    unknown = set(options.names) - {name.split("/")[-1] for name in (*PROGRAMS, *NETWORKS)}
    if unknown:
        parser.error("no such program: " + ", ".join(sorted(unknown)))
    is_wanted = lambda name: not options.names or name.split("/")[-1] in options.names
    with tempfile.TemporaryDirectory() as folder:
        staged, chosen = pathlib.Path(folder) / "stage_by_stage.trace", pathlib.Path(folder) / "first_choice.trace"
        for name in filter(is_wanted, PROGRAMS):
            program = str(ROOT / "examples" / (name + ".weft"))
            staged.write_text("trace 1\n" + "\n".join(PROGRAMS[name]) + "\n")
            shown = [polyweft, "show", program, *IMAGE, "--stage", "trace"]
            no_records = {**os.environ, "XDG_DATA_HOME": folder}
            chosen.write_text(subprocess.run(shown, check=True, capture_output=True, text=True, env=no_records).stdout)
            print(name, flush=True)
            race(bench, program, [staged, chosen], IMAGE, options.rounds, 1)
        for name in filter(is_wanted, NETWORKS):
            steps, sizes = NETWORKS[name]
            layered, library = pathlib.Path(folder) / "layer_by_layer.trace", ROOT / "schedules/library" / (
                name.split("/")[-1] + ".trace"
            )
            layered.write_text("trace 1\n" + "\n".join(steps) + "\n")
            print(name, flush=True)
            for trace in (layered, library):
                prove(polyweft, str(ROOT / "examples" / (name + ".weft")), trace, sizes)
            for threads in (2, 1):
                race(
                    bench, str(ROOT / "examples" / (name + ".weft")), [layered, library], sizes, options.rounds, threads
                )


main()
