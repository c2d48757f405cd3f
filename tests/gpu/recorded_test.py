"""Decodes what a GPU did through our reading of the PTX manual (fragments.py) and compares every result: integers
exactly, floats bit for bit by the model in sums.py. Mutants of the layouts must differ."""

import os
import re
import unittest
from unittest import mock

import numpy as np

import fragments
import recording
import sums
from floats import E4M3, E5M2, F32, FORMATS

FOLDER = os.environ.get("PW_GPU_RECORDED") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
WIDTHS = {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32, "tf32": 32}


def width_of(kind):
    return WIDTHS.get(kind) or FORMATS[kind].width


def read(name):
    return recording.read(os.path.join(FOLDER, name))


def elements(registers, width):
    """The elements of registers, along a last axis from the low bits up."""
    if width >= 32:
        return registers[..., None]
    shifts = np.arange(0, 32, width, dtype=np.uint32)
    return registers[..., None] >> shifts & np.uint32((1 << width) - 1)


def gathered(values, layout, shape):
    """A matrix from the registers of all lanes (.., lanes, registers, elements); each place exactly once."""
    lanes, registers, count = values.shape[-3:]
    index = np.meshgrid(np.arange(lanes), np.arange(registers), np.arange(count), indexing="ij")
    row, column = layout(*index, count)
    out, filled = np.zeros(values.shape[:-3] + shape, values.dtype), np.zeros(shape, int)
    inside = (row < shape[0]) & (column < shape[1])
    np.add.at(filled, (row[inside], column[inside]), 1)
    out[..., row[inside], column[inside]] = values[..., inside]
    return out, bool((filled == 1).all() and inside.all())


def integers(bits, kind):
    bits, width = bits.astype(np.int64), width_of(kind)
    return np.where(bits >> (width - 1) & (kind[0] == "s"), bits - (1 << width), bits)


class Product:
    """One mma.sync record as matrices of bits."""

    def __init__(self, record):
        words = record.name.split(".")
        self.name, self.words = record.name, words
        self.m, self.n, self.k = (int(size) for size in re.findall(r"\d+", words[3]))
        self.kinds = [word for word in words[4:] if word in WIDTHS or word in FORMATS]
        shapes = ((self.m, self.n), (self.m, self.k), (self.k, self.n), (self.m, self.n))
        layouts = (fragments.mma_d, fragments.mma_a, fragments.mma_b, fragments.mma_d)
        matrices = [
            gathered(elements(record[name], width_of(kind)), layout, shape)
            for name, kind, layout, shape in zip("dabc", self.kinds, layouts, shapes)
        ]
        self.d, self.a, self.b, self.c = (matrix for matrix, _ in matrices)
        self.is_whole = all(whole for _, whole in matrices)

    def expected(self):
        if self.kinds[0] == "s32":
            return self.expected_integers()
        if self.kinds[0] == "f64":
            return chained_f64(self.a, self.b, self.c)
        forms, out = [FORMATS[kind] for kind in self.kinds[1:]], FORMATS[self.kinds[0]]
        model = sums.fp8_by_halves if forms[0] in (E4M3, E5M2) else sums.product_sum
        return model(self.a, self.b, self.c, forms, out)

    def expected_integers(self):
        a, b, c = (integers(bits, kind) for bits, kind in zip((self.a, self.b, self.c), self.kinds[1:]))
        products = (a[:, :, :, None] ^ b[:, None]).sum(2) if "xor" in self.words else a @ b
        total = products + c
        if "satfinite" in self.words:
            total = np.clip(total, -(2**31), 2**31 - 1)
        return total & 0xFFFFFFFF

    def differences(self):
        return int((self.expected() != self.d).sum())


def chained_f64(a, b, c):
    """Fused multiply-adds from k = 0 up, by Python's integers; NaNs by value."""
    out = np.zeros(c.shape, np.uint64)
    for index in np.ndindex(c.shape):
        case, row, column = index
        total = bits_to_f64(c[index])
        for k in range(a.shape[2]):
            total = exact_fma(bits_to_f64(a[case, row, k]), bits_to_f64(b[case, k, column]), total)
        out[index] = np.float64(total).view(np.uint64)
    return out


def bits_to_f64(bits):
    return float(np.uint64(bits).view(np.float64))


def exact_fma(x, y, z):
    if not all(np.isfinite([x, y, z])):
        with np.errstate(invalid="ignore"):
            return float(np.float64(x) * np.float64(y) + np.float64(z))
    (xn, xd), (yn, yd), (zn, zd) = x.as_integer_ratio(), y.as_integer_ratio(), z.as_integer_ratio()
    numerator, denominator = xn * yn * zd + zn * xd * yd, xd * yd * zd
    if numerator == 0:
        return x * y + z
    return correctly_rounded(numerator, denominator)


def correctly_rounded(numerator, denominator):
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")


class Products(unittest.TestCase):
    def check(self, file):
        records = read(file)
        self.assertTrue(records)
        for record in records:
            with self.subTest(instruction=record.name):
                product = Product(record)
                self.assertTrue(product.is_whole)
                self.assertEqual(product.differences(), 0)

    def test_integers(self):
        self.check("mma_integer.rec")

    def test_floats_by_the_rounding_model(self):
        self.check("mma_float.rec")

    def test_8_bit_floats_as_two_products(self):
        self.check("mma_fp8.rec")

    def test_f64_is_a_chain_of_fused_multiply_adds(self):
        for record in read("mma_f64.rec"):
            with self.subTest(instruction=record.name):
                product = Product(record)
                self.assertTrue(product.is_whole)
                expected, got = product.expected().view(np.float64), product.d.view(np.float64)
                self.assertTrue(((expected == got) | (np.isnan(expected) & np.isnan(got))).all())


# wgmma: operands by the generator of the recorder.

BYTES = {"bf16": 2, "f16": 2, "tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1, "f32": 4, "s32": 4}
SPREADS = {"near": 1, "wide": 6, "spread5": 5}
B_BEGINS = 16384


def small_integer_bits(kind, value):
    if kind not in FORMATS:
        return value
    form = F32 if kind == "tf32" else FORMATS[kind]
    return sums.encode(value, np.zeros_like(value), form)


def generated(kind, data, seed, index):
    """Element `index` of an operand, as wgmma.cu makes it."""
    h = recording.mix(seed, index).astype(np.int64)
    if kind == "s32":
        return h % 2001 - 1000
    if kind not in FORMATS:
        return h & 255
    if data == "integers":
        return small_integer_bits(kind, h % 7 - 3)
    form, spread = F32 if kind == "tf32" else FORMATS[kind], SPREADS[data]
    exponent = (h >> 24 & 127) % (2 * spread + 1) - spread
    return h >> 31 << (form.width - 1) | (exponent + form.bias) << form.mantissa | h & ((1 << form.mantissa) - 1)


class Group:
    """One wgmma record."""

    def __init__(self, record):
        self.record = record
        shape = re.search(r"m64n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)$", record.name)
        self.n, self.k, self.kinds = int(shape[1]), int(shape[2]), shape.groups()[2:]
        seed = record.integer("seed")
        in_registers = record.text("a") == "registers"
        self.a = self.registers_of_a(seed + 2) if in_registers else self.operand("a", 1, 64, seed, 0)
        self.b = self.operand("b", 2, self.n, seed + 1, B_BEGINS)
        self.c = self.accumulator(self.generated_words(seed + 3))

    def matrix(self, side, begin):
        names = [self.record.integer(f"{side}_{name}") for name in ("at", "leading", "stride", "swizzle", "base")]
        return fragments.Matrix(begin + names[0], *names[1:])

    def operand(self, side, which, rows, seed, begin):
        kind, matrix = self.kinds[which], self.matrix(side, begin)
        row, k = np.meshgrid(np.arange(rows), np.arange(self.k), indexing="ij")
        size = BYTES[kind]
        transposed = self.record.integer("transpose_" + side)
        address = fragments.mn_major(row * size, k, matrix) if transposed else fragments.k_major(row, k * size, matrix)
        return generated(kind, self.record.text("data"), seed, (address - begin) // size)

    def registers_of_a(self, seed):
        kind = self.kinds[1]
        count = 4 // BYTES[kind]
        values = generated(kind, self.record.text("data"), seed, np.arange(128 * 4 * count)).reshape(128, 4, count)
        return gathered(values, fragments.wgmma_a, (64, self.k))[0]

    @property
    def per_register(self):
        return 2 if self.kinds[0] == "f16" else 1

    @property
    def registers(self):
        return self.n // 2 // self.per_register

    def generated_words(self, seed):
        count = 128 * self.registers * self.per_register
        values = generated(self.kinds[0], self.record.text("data"), seed, np.arange(count))
        return values.reshape(128, self.registers, self.per_register)

    def accumulator(self, values):
        return gathered(values, fragments.wgmma_d, (64, self.n))[0]

    def words_of(self, matrix):
        """Each thread's registers of a 64 x n matrix of bits."""
        index = np.meshgrid(np.arange(128), np.arange(self.registers), np.arange(self.per_register), indexing="ij")
        parts = matrix[fragments.wgmma_d(*index, self.per_register)]
        return (parts << 16 * np.arange(self.per_register)).sum(-1) & 0xFFFFFFFF

    def expected(self):
        if self.kinds[0] == "s32":
            return integers(self.a, self.kinds[1]) @ integers(self.b, self.kinds[2]).T + self.c & 0xFFFFFFFF
        forms, out = [FORMATS[kind] for kind in (*self.kinds[1:], self.kinds[0])], FORMATS[self.kinds[0]]
        c = self.c if self.record.integer("scale_d") else np.zeros_like(self.c)
        a = self.negated(self.a, "a", self.kinds[1])
        b = self.negated(self.b, "b", self.kinds[2])
        return sums.product_sum(a, b.T, c, forms, out, 13 if forms[0] in (E4M3, E5M2) else 25)

    def negated(self, bits, side, kind):
        return bits ^ 1 << (8 * BYTES[kind] - 1) if self.record.integer("scale_" + side) < 0 else bits

    def differences(self):
        words = self.words_of(self.expected())
        if "d" in self.record:
            return int((words != self.record["d"]).sum())
        some = int((words[[0, 37, 127]] != self.record["d_of_threads_0_37_127"]).sum())
        return some + int(int(words.sum()) != int(self.record["sum"][0]))


class Groups(unittest.TestCase):
    def test_wgmma_by_descriptors_layouts_and_the_rounding_model(self):
        records = read("wgmma.rec")
        self.assertTrue(records)
        for record in records:
            with self.subTest(record=repr(record)):
                self.assertEqual(Group(record).differences(), 0)


class MatrixLoads(unittest.TestCase):
    """ldmatrix, stmatrix, movmatrix."""

    def records(self, prefix):
        return [record for record in read("warp.rec") if record.name.startswith(prefix)]

    def places(self, record, case):
        """For each matrix: shared 16-bit index (32 lanes, 2 elements) that register `matrix` corresponds to."""
        count = int(re.search(r"\.x(\d)", record.name)[1])
        lane, element = np.meshgrid(np.arange(32), np.arange(2), indexing="ij")
        for matrix in range(count):
            row, column = fragments.ldmatrix(lane, element, ".trans" in record.name)
            address = record["offset"][case][fragments.ldmatrix_row_lane(matrix, row)]
            yield matrix, address // 2 + column

    def test_ldmatrix(self):
        for record in self.records("ldmatrix"):
            with self.subTest(instruction=record.name):
                halves = record["before"].view("<u2")
                expected = record["in"].copy()
                for case in range(len(expected)):
                    for matrix, place in self.places(record, case):
                        expected[case, :, matrix] = halves[place] @ np.array([1, 65536], np.uint32)
                self.assertTrue((expected == record["out"]).all())

    def test_stmatrix(self):
        for record in self.records("stmatrix"):
            with self.subTest(instruction=record.name):
                for case in range(len(record["in"])):
                    after = record["before"].copy().view("<u2")
                    for matrix, place in self.places(record, case):
                        after[place] = elements(record["in"][case, :, matrix], 16)
                    self.assertTrue((after.view("<u4") == record["after"][case]).all())

    def test_movmatrix(self):
        (record,) = self.records("movmatrix")
        lane, element = np.meshgrid(np.arange(32), np.arange(2), indexing="ij")
        for case in range(len(record["in"])):
            matrix = np.zeros((8, 8), np.uint32)
            matrix[fragments.ldmatrix(lane, element, False)] = elements(record["in"][case, :, 0], 16)
            expected = matrix[fragments.ldmatrix(lane, element, True)] @ np.array([1, 65536], np.uint32)
            self.assertTrue((expected == record["out"][case, :, 0]).all())


def swapped_registers(layout):
    """The layout with registers 1 and 2 exchanged."""

    def mutant(lane, register, element, per_register):
        return layout(lane, np.where(register == 1, 2, np.where(register == 2, 1, register)), element, per_register)

    return mutant


def transposed_matrices(layout):
    return lambda lane, element, transposed: layout(lane, element, not transposed)


class Mutants(unittest.TestCase):
    """A wrong layout must not pass."""

    def products_that_differ(self, file):
        """Some: what has fewer than three registers does not notice."""
        return [record.name for record in read(file) if Product(record).differences()]

    def test_swapped_registers_of_a_and_d_are_seen(self):
        for name in ("mma_a", "mma_d"):
            with self.subTest(layout=name), mock.patch.object(
                fragments, name, swapped_registers(getattr(fragments, name))
            ):
                seen = self.products_that_differ("mma_integer.rec")
                self.assertIn("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", seen)

    def test_exchanged_rows_and_columns_of_b_are_seen(self):
        original = fragments.mma_b

        def mutant(lane, register, element, per_register):
            row, column = original(lane, register, element, per_register)
            return row // 8 * 8 + column, row % 8

        with mock.patch.object(fragments, "mma_b", mutant):
            self.assertEqual(len(self.products_that_differ("mma_integer.rec")), len(read("mma_integer.rec")))

    def groups_that_differ(self, chosen):
        return [Group(record).differences() > 0 for record in read("wgmma.rec") if chosen(record)]

    def test_a_missing_swizzle_is_seen(self):
        is_swizzled = lambda record: record.integer("b_swizzle") or record.integer("a_swizzle")
        with mock.patch.object(fragments, "swizzled", lambda address, span, base=0: address):
            seen = self.groups_that_differ(is_swizzled)
        self.assertTrue(seen and all(seen))

    def test_exchanged_offsets_of_descriptors_are_seen(self):
        class Exchanged(fragments.Matrix):
            def __init__(self, start, leading, stride, swizzle, base=0):
                super().__init__(start, stride, leading, swizzle, base)

        with mock.patch.object(fragments, "Matrix", Exchanged):
            seen = self.groups_that_differ(
                lambda record: not record.integer("b_swizzle") or record.integer("transpose_b")
            )
        self.assertTrue(seen and all(seen))

    def test_swapped_registers_of_wgmma_are_seen(self):
        with mock.patch.object(fragments, "wgmma_d", swapped_registers(fragments.wgmma_d)):
            seen = self.groups_that_differ(lambda record: not re.search(r"k\d+\.f16", record.name))
        self.assertTrue(seen and all(seen))

    def test_transposed_matrix_loads_are_seen(self):
        with mock.patch.object(fragments, "ldmatrix", transposed_matrices(fragments.ldmatrix)):
            for test in ("test_ldmatrix", "test_stmatrix"):
                self.assertFalse(self.passes(MatrixLoads(test)))

    def passes(self, test):
        result = unittest.TestResult()
        test.run(result)
        return result.wasSuccessful()

    def test_another_rounding_is_seen(self):
        record = next(record for record in read("mma_float.rec") if "m16n8k16.row.col.f32.bf16" in record.name)
        product = Product(record)
        forms = [FORMATS[kind] for kind in product.kinds[1:]]
        for fraction in (23, 24, 26):
            with self.subTest(fraction=fraction):
                other = sums.product_sum(product.a, product.b, product.c, forms, F32, fraction)
                self.assertTrue((other != product.d).any())


if __name__ == "__main__":
    unittest.main()
