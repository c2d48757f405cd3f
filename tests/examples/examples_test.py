"""Every example at small sizes: it checks, runs, verifies, tunes, builds and links into a C program, and what comes out
is what numpy says."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

import oracles

POLYWEFT, SOURCE, RUNTIME_HEADERS, CC = (
    os.environ[name] for name in ("PW_POLYWEFT", "PW_SOURCE", "PW_RUNTIME_HEADERS", "PW_CC")
)
FLAGS = os.environ.get("PW_FLAGS", "").split()
HERE = pathlib.Path(__file__).parent
CODES = {"i": "halide_type_int", "u": "halide_type_uint", "f": "halide_type_float"}


def type_code(dtype):
    """u16 is no type of the language: such bits are bf16's."""
    return "halide_type_bfloat" if dtype == np.uint16 else CODES[dtype.kind]


def output_of(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def tolerance(dtype):
    return {"f": {4: 1e-4, 8: 1e-10}.get(dtype.itemsize)}.get(dtype.kind, 0)


def c_main(name, header, arguments, outputs):
    """A main that loads each argument from NAME.in, packs what the header packs, calls, and stores the outputs."""
    lines = ['#include "call_kernel.h"', f'#include "{name}.h"', "int main(void) {"]
    passed = []
    for argument, array in arguments.items():
        extents = ", ".join(map(str, array.shape)) or "0"
        lines.append(f"  static argument a_{argument};")
        lines.append(
            f'  load(&a_{argument}, "{argument}.in", {type_code(array.dtype)}, {array.dtype.itemsize * 8}, {array.ndim}, (const int[]){{{extents}}});'
        )
        passed.append(f"a_{argument}")
        pack = f"{name}_pack_{argument}"
        if f"{pack}(" in header:
            lines += [
                f"  static argument p_{argument};",
                f"  reserve(&p_{argument}, {pack}_bytes());",
                f"  if ({pack}(&a_{argument}.buffer, &p_{argument}.buffer) != 0) return 80;",
            ]
            passed[-1] = f"p_{argument}"
    lines.append(f"  const int status = {name}({', '.join(f'&{a}.buffer' for a in passed)});")
    lines += [f'  store(&a_{output}, "{output}.out");' for output in outputs]
    return "\n".join(lines + ["  return status;", "}"]) + "\n"


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="polyweft-examples-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = self.folder / "schedules.db"
        others = mock.patch.dict(
            os.environ, {"XDG_DATA_HOME": str(self.folder / "data")}
        )  # where no database is named: none
        others.start()
        self.addCleanup(others.stop)

    def polyweft(self, verb, *words):
        named = ["--database", self.database] if verb == "tune" or self.database.exists() else []
        return output_of(POLYWEFT, verb, self.file, *words, *self.sizes, *named)

    def compare(self, what, got, expected):
        self.assertEqual(expected.shape, got.shape, what)
        written = ~np.isnan(expected) if expected.dtype.kind == "f" else np.ones(expected.shape, bool)
        allowed = tolerance(got.dtype)
        np.testing.assert_allclose(got[written], expected[written], rtol=allowed, atol=allowed, err_msg=what)
        return written

    def run_on_files(self, stage, *options):
        for name, array in self.inputs.items():
            np.save(self.folder / f"{name}.npy", array)
        words = [word for name in self.inputs for word in ("--input", f"{name}={self.folder / name}.npy")]
        words += [word for name in self.expected for word in ("--output", f"{name}={self.folder / name}.npy")]
        self.polyweft("run", *words, *options)
        for name, expected in self.expected.items():
            self.compare(f"{stage}: {name}", np.load(self.folder / f"{name}.npy"), expected)
        return {name: np.load(self.folder / f"{name}.npy") for name in self.expected}

    def build_and_call_from_c(self, name, outputs):
        """Outputs start as 0x5A bytes: what `out partial` does not define must stay so."""
        self.polyweft("build", "--emit", "static", "-o", self.folder / f"{name}.a")
        self.polyweft("build", "--emit", "header", "-o", self.folder / f"{name}.h")
        header = (self.folder / f"{name}.h").read_text(encoding="utf-8")
        blank = {
            key: np.frombuffer(b"\x5a" * array.nbytes, array.dtype).reshape(array.shape)
            for key, array in outputs.items()
        }
        arguments = {**self.inputs, **blank}
        for key, array in arguments.items():
            (self.folder / f"{key}.in").write_bytes(array.tobytes())
        (self.folder / "main.c").write_text(c_main(name, header, arguments, outputs), encoding="utf-8")
        output_of(
            CC,
            "-O1",
            "-Wall",
            "-Werror",
            f"-I{HERE}",
            f"-I{RUNTIME_HEADERS}",
            f"-I{self.folder}",
            self.folder / "main.c",
            self.folder / f"{name}.a",
            "-o",
            self.folder / "main",
            "-lpthread",
            "-ldl",
            "-lm",
            *FLAGS,
        )
        done = subprocess.run([self.folder / "main"], cwd=self.folder, timeout=60)
        self.assertEqual(0, done.returncode, "exit status of the C program")
        for key, array in outputs.items():
            got = np.frombuffer((self.folder / f"{key}.out").read_bytes(), array.dtype).reshape(array.shape)
            written = self.compare(f"C: {key}", got, self.expected[key])
            self.assertEqual(blank[key][~written].tobytes(), got[~written].tobytes(), "what is not defined was written")

    def other_levels(self, name):
        """Older levels of the same architecture compute the same; an object calls nothing but the runtime, and a
        schedule is found for every one."""
        levels = ("x86-64", "x86-64-v3")
        if "PW_ALL_CASES" not in os.environ:  # one of them for each example, both in scripts/soak
            levels = levels[sorted(oracles.CASES).index(self.file.name) % 2 :][:1]
        for target in levels:
            self.run_on_files(target, "--target", target)
            what = self.polyweft("build", "--target", target, "--emit", "object", "-o", self.folder / "object.o")
            self.assertNotIn("base order", what)
            undefined = re.findall(r"U (\S+)", output_of("nm", "-u", self.folder / "object.o"))
            self.assertEqual(
                [], [symbol for symbol in undefined if not symbol.startswith("halide_")], f"{name} for {target}"
            )

    def whole_way(self, file):
        sizes, inputs, outputs = oracles.CASES[file]
        self.file = pathlib.Path(SOURCE) / "examples" / file
        self.sizes = [word for name, value in sizes.items() for word in ("-p", f"{name}={value}")]
        self.inputs = inputs(np.random.default_rng(20))
        self.expected = {name: np.asarray(array) for name, array in outputs(**self.inputs).items()}
        name = re.search(r"^program (\w+)", self.file.read_text(encoding="utf-8"), re.M)[1]
        output_of(POLYWEFT, "check", self.file)
        self.run_on_files("before tuning")
        self.polyweft("tune", "--trials", "2", "--budget", "20s", "--seed", "3")
        results = self.run_on_files("after tuning")
        self.polyweft("run", "--verify")
        self.build_and_call_from_c(name, results)
        self.other_levels(name)


def add_tests():
    for file in sorted(oracles.CASES):
        setattr(Examples, f"test_{file.removesuffix('.weft')}", lambda self, file=file: self.whole_way(file))


class Completeness(unittest.TestCase):
    def test_every_example_has_an_oracle(self):
        self.assertEqual(
            sorted(path.name for path in (pathlib.Path(SOURCE) / "examples").glob("*.weft")), sorted(oracles.CASES)
        )


add_tests()
if __name__ == "__main__":
    unittest.main()
