#!/usr/bin/env python3
"""Image pipelines stage by stage, each stage a nest of its own in rows of vectors with its taps written out and outputs streamed, beside the first choice.

    bench/stage_by_stage.py BUILD [NAME ..]      BUILD: a build folder with polyweft and bench_traces; sizes are 1536 x 2560
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = ["-p", "H=1536", "-p", "W=2560"]


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


SUMS = taps("Sxx", "r, s") + taps("Sxy", "r, s") + taps("Syy", "r, s") + pure("R", stream=True)
PROGRAMS = {
    "15_harris": pure("Gx") + pure("Gy") + SUMS,
    "13_unsharp": ["inline P"] + taps("By", "r", "0, 2560") + taps("B", "s") + pure("Y", stream=True),
    "recurrences/harris_rgb": pure("G") + pure("Gx") + pure("Gy") + SUMS,
    "recurrences/unsharp_rgb": ["inline P"] + pure("G") + taps("By", "r", "0, 2560") + taps("B", "s") + pure("Q") + pure("Y", "k, y", stream=True),
    "recurrences/pyramid": taps("R1", "s", "1, 1279") + taps("G1", "r") + taps("R2", "s", "1, 639") + taps("G2", "r") + taps("R3", "s", "1, 319") + taps("G3", "r")
    + pure("D2", split="639", stream=True) + pure("D1", split="1279", stream=True) + pure("D0", split="2559", stream=True),
    "recurrences/stencil_chain": chain(),
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        for name, steps in PROGRAMS.items():
            if wanted and name.split("/")[-1] not in wanted:
                continue
            program = str(ROOT / "examples" / (name + ".weft"))
            staged, chosen = pathlib.Path(folder) / "stage_by_stage.trace", pathlib.Path(folder) / "first_choice.trace"
            staged.write_text("trace 1\n" + "\n".join(steps) + "\n")
            shown = [str(build / "src/cli/polyweft"), "show", program, *SIZES, "--stage", "trace", "--database", str(pathlib.Path(folder) / "none.db")]
            chosen.write_text(subprocess.run(shown, check=True, capture_output=True, text=True).stdout)
            print(name, flush=True)
            subprocess.run([str(build / "bench/bench_traces"), program, str(staged), str(chosen), *SIZES, "-r", "7"], check=True)


main()
