"""Garbage in every place where a file is read: a message and an exit code, never a crash or a hang. The seed is printed
with a failure."""

import os
import random
import unittest

import numpy

from fixture import SMALL, SOURCE, CliTest

SEED = int(os.environ.get("PW_FUZZ_SEED", "20261121"))
ROUNDS = int(os.environ.get("PW_FUZZ_ROUNDS", "6"))
TRACE = "trace 1\n  tile C [k: kc, j: nr, i: mr]\n  accumulate C at i.1 reg\n  unroll C i\n  vectorize C j 4\ndecide nr = 4\ndecide mr = 2\ndecide kc = 8\n"


def mutated(rng, data):
    """A few bytes changed, cut out, doubled or inserted; sometimes the file ends early."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randint(1, 16)]
        elif kind == 2:
            data[at:at] = data[at : at + rng.randint(1, 16)]
        elif kind == 3:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif kind == 4 and rng.random() < 0.3:
            del data[at:]
    return bytes(data)


class Hostile(CliTest):
    def survives(self, name, original, *words, rounds=ROUNDS):
        rng = random.Random(f"{SEED}/{name}")
        for i in range(rounds):
            path = self.file(f"hostile.{name}", mutated(rng, original))
            with self.subTest(file=name, round=i, seed=SEED):
                done = self.polyweft(*[str(word).replace("FILE", str(path)) for word in words], timeout=60)
                self.assertIn(done.returncode, (0, 1, 2, 3), f"{path.read_bytes()!r}\n{done.stderr}")
                if done.returncode != 0:
                    self.assertRegex(done.stderr + done.stdout, r"PW\d{4}|problem")
                self.assertNotIn("\x1b", done.stderr)
            for left in self.folder.glob(f"hostile.{name}-*"):
                left.unlink()

    def test_programs(self):
        with open(os.path.join(SOURCE, "examples/01_gemm.weft"), "rb") as f:
            self.survives("weft", f.read(), "show", "FILE", "--stage", "program")
        self.survives("weft", SMALL.encode(), "check", "FILE", rounds=ROUNDS // 3)

    def test_arrays(self):
        numpy.save(self.folder / "good.npy", numpy.zeros((8, 8), numpy.float32))
        data = (self.folder / "good.npy").read_bytes()
        small = self.small()
        self.survives("npy", data[:160], "run", small, "--input", "A=FILE", rounds=ROUNDS)
        self.survives("npy", data, "run", small, "--input", "A=FILE", rounds=ROUNDS // 3)

    def test_traces(self):
        self.survives("trace", TRACE.encode(), "run", self.small(), "--schedule", "FILE")

    def test_databases(self):
        self.succeeds("tune", self.small(), "--trials", "1", "--database", self.folder / "good.db")
        data = (self.folder / "good.db").read_bytes()
        self.survives("db", data, "db", "list", "--database", "FILE", rounds=ROUNDS // 2)
        self.survives("db", data, "run", self.small(), "--database", "FILE", rounds=ROUNDS // 3)

    def test_settings(self):
        self.small()
        rng = random.Random(f"{SEED}/toml")
        for i in range(ROUNDS // 2):
            self.file("polyweft.toml", mutated(rng, b'threads = 2\nnumerics = "strict"\nbudget = "60s"\n'))
            with self.subTest(round=i, seed=SEED):
                self.assertIn(self.polyweft("targets").returncode, (0, 2, 3))


if __name__ == "__main__":
    unittest.main()
