"""Replays what a GPU copied: cp.async, bulk and tensor copies, reductions, clusters, and the phases of mbarriers."""

import os
import unittest
from unittest import mock

import numpy as np

import fragments
import recording
from copies import Image, Tile
from floats import BF16, F16, F32, encode
from recorded_test import FOLDER

SIZES = {"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u32": 4, "s32": 4, "f32": 4, "u64": 8, "f64": 8}
NAN_FILL = {"f16": 0x7FF7, "bf16": 0x7FF7, "f32": 0x7FF77FF7}
UNTOUCHED = 0xEE


def read(name):
    return recording.read(os.path.join(FOLDER, name))


def size_of(kind):
    return SIZES[kind.split("_")[0].replace("tf32", "f32")]


def tensor_bytes(extents, strides, size):
    return strides[-1] * extents[-1] if strides else -(-extents[0] * size // 16) * 16


def generated_bytes(seed, count):
    return recording.mix(seed, np.arange(count // 4)).view(np.uint8).copy()


def moderate(data, kind):
    """As tma.cu makes operands of floating-point reductions."""
    if kind[0] in "fb":
        words = data.view("<u4")
        words[:] = words & 0x83FF83FF | 0x3C003C00
    return data


def tile_of(record):
    names = ("extents", "strides", "box", "element_strides")
    lists = [record.integers(name) for name in names]
    return Tile(size_of(record.text("type")), *lists, record.integer("swizzle"), record.integers("at"))


def image_of(record):
    window = {name: record.integers(name) for name in ("lower", "upper", "offsets")}
    window |= {name: record.integer(name) for name in ("channels", "pixels")}
    lists = [record.integers(name) for name in ("extents", "strides", "element_strides")]
    return Image(size_of(record.text("type")), *lists, record.integer("swizzle"), record.integers("at"), window)


def source_of(record):
    kind = record.text("type")
    count = tensor_bytes(record.integers("extents"), record.integers("strides"), size_of(kind))
    return generated_bytes(record.integer("seed"), count)


def fill_of(record):
    size = size_of(record.text("type"))
    pattern = NAN_FILL[record.text("type")] if record.text("fill") == "nan" else 0
    return np.frombuffer(pattern.to_bytes(size, "little"), np.uint8)


def rounded_to_tf32(words):
    """To nearest, ties to even; every NaN becomes the same. Types that flush denormals do so in no load."""
    infinite = words & 0x7FFFFFFF == 0x7F800000
    is_nan = (words & 0x7F800000 == 0x7F800000) & ~infinite
    up = words + 0xFFF + (words >> 13 & 1)
    return np.where(is_nan, 0x7FFFE000, np.where(infinite, words, up & 0xFFFFE000)).astype("<u4")


def loaded(copy, record, base, image):
    """Shared memory after a load."""
    data, kind = source_of(record), record.text("type")
    if kind == "tf32":
        data = (data.view("<u4") & 0xFFFFF000).view(np.uint8)  # as the recorder makes it
    if kind.startswith("tf32"):
        data = rounded_to_tf32(data.view("<u4")).view(np.uint8)
    for to, begin in copy.elements():
        value = fill_of(record) if begin is None else data[begin : begin + copy.size]
        address = copy.swizzled(base + to)
        image[address : address + copy.size] = value
    return image


def differs(expected, got):
    return bool((expected[: len(got)] != got).any())


class TensorLoads(unittest.TestCase):
    def loads(self, prefix):
        return [record for record in read("tma.rec") if record.name == prefix]

    def differences(self, prefix, make):
        for record in self.loads(prefix):
            if record.integer("refused"):
                continue
            copy = make(record)
            if record.integer("faulted") or copy.faults(writes=False):
                yield record, bool(record.integer("faulted")) != copy.faults(writes=False)
                continue
            image = np.full(32768, UNTOUCHED, np.uint8)
            yield record, differs(loaded(copy, record, record.integer("shared_offset"), image), record["after"])

    def check(self, prefix, make):
        seen = 0
        for record, differs_here in self.differences(prefix, make):
            seen += 1
            with self.subTest(record=repr(record)):
                self.assertFalse(differs_here)
                self.assertTrue(record.integer("faulted") or record["completed"][0])
        self.assertGreater(seen, 3)

    def test_tiles(self):
        self.check("cp.async.bulk.tensor.tile.load", tile_of)

    def test_images(self):
        self.check("cp.async.bulk.tensor.im2col.load", image_of)

    def test_a_missing_swizzle_is_seen(self):
        with mock.patch.object(fragments, "swizzled", lambda address, span, base=0: address):
            seen = [
                differs_here
                for record, differs_here in self.differences("cp.async.bulk.tensor.tile.load", tile_of)
                if record.integer("swizzle")
            ]
        self.assertGreater(sum(seen), len(seen) - 2)  # a box of 4 rows within one line has none

    def test_exchanged_dimensions_are_seen(self):
        def exchanged(record):
            tile = tile_of(record)
            tile.at[:2] = reversed(tile.at[:2])
            return tile

        seen = [found for record, found in self.differences("cp.async.bulk.tensor.tile.load", exchanged)]
        self.assertGreater(sum(seen), len(seen) // 2)

    def test_multicast(self):
        (record,) = self.loads("cp.async.bulk.tensor.tile.load.multicast")
        image, tile = np.full(8192, UNTOUCHED, np.uint8), tile_of(record)
        half = tile.row_bytes() * int(np.prod(tile.counts()[1:]))
        for rank in range(2):
            image = loaded(tile, record, rank * half, image)
            tile.at[1] += tile.box[1]
        for rank in range(2):
            self.assertFalse(differs(image, record["after"][rank]))


def reduced(op, kind, old, new):
    """One element, as integers of its bits."""
    if op in ("copy", "exch"):
        return new
    if kind in ("f32", "f16", "bf16", "f64"):
        return reduced_float(op, kind, old, new)
    bits = 8 * SIZES[kind]
    signed = lambda v: v - (1 << bits) if kind[0] == "s" and v >> (bits - 1) else v
    x, y = signed(old), signed(new)
    result = {"add": x + y, "min": min(x, y), "max": max(x, y), "and": x & y, "or": x | y, "xor": x ^ y}.get(op)
    if op == "inc":
        result = 0 if old >= new else old + 1
    return result & ((1 << bits) - 1)


def reduced_float(op, kind, old, new):
    if kind == "f64":
        x, y = (float(np.uint64(v).view(np.float64)) for v in (old, new))
        return int(np.float64(x + y).view(np.uint64))
    form = {"f32": F32, "f16": F16, "bf16": BF16}[kind]
    x, y = float(form.value(old)), float(form.value(new))
    if op in ("min", "max"):
        return old if (x <= y) == (op == "min") else new
    total = x + y
    scaled = int(np.ldexp(total, 40)) if abs(total) < 2**20 else 0
    return int(encode(np.array([scaled]), np.array([-40]), form)[0])


class TensorStores(unittest.TestCase):
    def test_stores_and_reductions(self):
        records = [record for record in read("tma.rec") if ".store." in record.name]
        for record in records:
            with self.subTest(record=repr(record)):
                tile = tile_of(record)
                self.assertEqual(bool(record.integer("faulted")), tile.faults(writes=True))
                if not record.integer("faulted"):
                    self.assertTrue((self.stored(tile, record) == record["after"].view(np.uint8)).all())
        self.assertGreater(len(records), 10)

    def stored(self, tile, record):
        kind, op, size = record.text("type"), record.name.split(".")[-1], tile.size
        shared = moderate(generated_bytes(record.integer("seed") + 1, 16384), kind)
        out = moderate(source_of(record), kind)
        for begin, to in tile.elements():
            if to is None:
                continue
            address = tile.swizzled(record.integer("shared_offset") + begin)
            old, new = (int.from_bytes(bytes(b), "little") for b in (out[to : to + size], shared[address:][:size]))
            out[to : to + size] = np.frombuffer(reduced(op, kind, old, new).to_bytes(size, "little"), np.uint8)
        return out


class PlainCopies(unittest.TestCase):
    def records(self, prefix):
        return [record for record in read("async.rec") if record.name.startswith(prefix)]

    def test_cp_async_copies_source_size_bytes_and_zeroes_the_rest(self):
        records = self.records("cp.async.c")
        self.assertEqual(len(records), 5)
        for record in records:
            with self.subTest(instruction=record.name):
                self.assertTrue((self.copied(record) == record["after"].view(np.uint8)).all())

    def copied(self, record):
        width = int(record.name.split("global.")[1].split(".")[0])
        image, source = record["before"].copy().view(np.uint8), record["source"].view(np.uint8)
        for begin, to, size in zip(record["from"], record["to"], record["size"]):
            if record.name.endswith("ignore_src"):
                size = width if size else 0  # the recorder's predicate is size == 0
            image[to : to + width] = 0
            image[to : to + size] = source[begin : begin + size]
        return image

    def test_bulk_loads(self):
        for record in self.records("cp.async.bulk.shared::cluster.global"):
            begin, to, count = (record.integer(name) for name in ("from", "to", "bytes"))
            image = record["before"].copy().view(np.uint8)
            image[to : to + count] = record["source"].view(np.uint8)[begin : begin + count]
            self.assertTrue(record["completed"][0])
            self.assertTrue((image == record["after"].view(np.uint8)).all())

    def test_bulk_stores_and_reductions(self):
        records = self.records("cp.async.bulk.global") + self.records("cp.reduce")
        self.assertGreater(len(records), 10)
        for record in records:
            with self.subTest(instruction=record.name):
                words = record.name.split(".")
                op, kind = (words[-2], words[-1]) if words[1] == "reduce" else ("copy", "u32")
                op = words[words.index("bulk_group") + 1] if "bulk_group" != words[-1] else "copy"
                expected = self.stored(record, op, kind.replace("b32", "u32"))
                self.assertTrue((expected == record["after"].view(np.uint8)).all())

    def stored(self, record, op, kind):
        out, source = record["before"].copy().view(np.uint8), record["source"].view(np.uint8)
        begin, to, size = record.integer("from"), record.integer("to"), SIZES[kind]
        for i in range(0, record.integer("bytes"), size):
            old = int.from_bytes(bytes(out[to + i :][:size]), "little")
            new = int.from_bytes(bytes(source[begin + i :][:size]), "little")
            out[to + i : to + i + size] = np.frombuffer(reduced(op, kind, old, new).to_bytes(size, "little"), np.uint8)
        return out

    def test_bulk_multicast_fills_both(self):
        (record,) = self.records("cp.async.bulk.multicast")
        for rank in range(2):
            image = record["before"][rank].copy()
            image[:128] = record["source"]
            self.assertTrue((image == record["after"][rank]).all())

    def test_a_cluster_reads_and_writes_its_neighbour(self):
        (record,) = self.records("cluster.of_two")
        before, source = record["before"], record["source"]
        for rank in range(2):
            self.assertTrue((record["seen"][32 * rank : 32 * rank + 32] == before[1 - rank][:32]).all())
            image = before[rank].copy()
            image[0] += np.uint32(31 * 32 // 2)
            image[32:64] = np.arange(32) + 100 * (1 - rank)
            image[64:192] = source[1 - rank][::-1].reshape(-1)
            self.assertTrue((image == record["after"][rank]).all())
        self.assertTrue(record["seen"][64:].all())


class Barrier:
    """An mbarrier: a phase ends when neither arrivals nor bytes are pending."""

    def __init__(self, count):
        self.expected, self.pending, self.bytes, self.phase = count, count, 0, 0

    def arrive(self, count=1):
        before = (self.phase, self.pending)
        self.pending -= count
        self.settle()
        return before

    def settle(self):
        if self.pending == 0 and self.bytes == 0:
            self.phase, self.pending = self.phase + 1, self.expected

    def complete(self, count):
        self.bytes -= count
        self.settle()

    def operate(self, name, argument, state):
        """(the state an arrival gives, or the one before; what the operation shows, None where that is opaque)."""
        if name in ("arrive", "arrive_count", "arrive_no_complete"):
            return self.arrive(1 if name == "arrive" else argument), None
        if name == "arrive_drop":
            self.expected -= 1
            return self.arrive(), None
        if name in ("arrive_expect_tx", "expect_tx"):
            self.bytes += argument
            return (self.arrive(), None) if name == "arrive_expect_tx" else (state, None)
        if name == "bulk_copy_16":
            self.complete(16)
        shown = {
            "test_wait": lambda: int(self.phase > state[0]),
            "try_wait_parity_0": lambda: int(self.phase % 2 == 1),
            "try_wait_parity_1": lambda: int(self.phase % 2 == 0),
            "pending_count": lambda: state[1],
        }.get(name)
        return state, shown() if shown else None


class Barriers(unittest.TestCase):
    def test_phases(self):
        records = [record for record in read("async.rec") if record.name == "mbarrier"]
        self.assertEqual(len(records), 4)
        for record in records:
            with self.subTest(program=record.text("program")):
                self.replay(record)

    def replay(self, record):
        names, barrier, state = record.text("operations").split(","), None, None
        for step, ((operation, argument), result) in enumerate(zip(record["program"], record["result"])):
            name = names[operation]
            if name == "init":
                barrier, state = Barrier(int(argument)), (0, int(argument))
                continue
            state, shown = barrier.operate(name, int(argument), state)
            if shown is not None:
                self.assertEqual(shown, int(result), f"step {step}: {name}")

    def test_copies_that_arrive(self):
        """.noinc counts as one of the expected arrivals; without it each copy adds the arrival that it makes."""
        for record in read("async.rec"):
            if record.name.startswith("cp.async.mbarrier"):
                done = record["done_after_copies_and_after_two_arrivals_a_lane"]
                self.assertEqual(list(done), [1, 1] if "noinc" in record.name else [0, 1])


if __name__ == "__main__":
    unittest.main()
