"""Checks what a GPU computed in single threads: conversions, arithmetic and atomics bit for bit; approximations by the
errors that a sweep over all their arguments found."""

import os
import unittest

import numpy as np

import recording
from floats import BF16, E4M3, E5M2, F16, F32, TF32, encode
from recorded_test import FOLDER, elements

FORMS = {"bf16": BF16, "f16": F16, "e4m3": E4M3, "e5m2": E5M2, "tf32": TF32, "f32": F32}


def read(name):
    return recording.read(os.path.join(FOLDER, name))


def record_named(file, name):
    return next(record for record in read(file) if record.name == name)


def flushed(bits, form):
    _, exponent, _ = form.fields(bits)
    bits = np.asarray(bits).astype(np.int64)
    return np.where(exponent == 0, bits & 1 << (form.width - 1), bits)


def signed_zero(bits, sign, form):
    """Zeros get a sign of their own."""
    return np.where(bits & form.nan == 0, np.asarray(sign).astype(np.int64) << (form.width - 1), bits)


def converted(bits, source, form, mode="rn", words=()):
    """A float type to another: NaN to all ones; `words` may say ftz, relu, satfinite."""
    bits = np.asarray(bits).astype(np.int64)
    if "ftz" in words:
        bits = flushed(bits, source)
    significand, exponent = source.parts(bits)
    sign = source.fields(bits)[0]
    out = signed_zero(encode(significand, exponent - source.mantissa, form, mode), sign, form)
    infinity = form.infinity if form.has_infinity else form.nan
    out = np.where(source.is_infinite(bits), infinity | sign << (form.width - 1), out)
    if "satfinite" in words:
        out = np.where(out & form.nan > form.largest, form.largest | sign << (form.width - 1), out)
    if "relu" in words:
        out = np.where(sign == 1, 0, out)
    return np.where(source.is_nan(bits), form.nan, out)


def to_integer(bits, mode, low, high):
    """Rounded, saturated; NaN to 0 for 32-bit integers."""
    value = F32.value(bits)
    rounding = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]
    with np.errstate(invalid="ignore"):
        return [0 if np.isnan(v) else int(min(max(v, low), high)) for v in rounding(value)]


class Case(unittest.TestCase):
    def same(self, name, expected, got, inputs):
        expected, got = np.asarray(expected).astype(np.int64), np.asarray(got).astype(np.int64)
        wrong = np.nonzero(expected != got)[0]
        shown = [(np.vectorize(hex)(inputs[i]), hex(got[i]), hex(expected[i])) for i in wrong[:5]]
        self.assertEqual(len(wrong), 0, f"{name}: input, recorded, expected: {shown}")


class Conversions(Case):
    def test_f32_to_floats(self):
        record = record_named("scalar.rec", "convert.f32")
        bits = record["in"][:, 0]
        for name, got in record.arrays.items():
            words = name.split(".")
            if words[0] != "cvt" or words[-2] not in FORMS or words[1].endswith("i"):
                continue
            with self.subTest(instruction=name):
                mode = words[1] if words[1] != "sat" else "rn"
                expected = self.expected_float(bits, words, mode)
                self.same(name, expected, got, bits)

    def expected_float(self, bits, words, mode):
        if "sat" in words:
            value = F32.value(bits)
            return np.where(np.isnan(value) | ~(value > 0), 0, np.where(value > 1, 0x3F800000, bits))
        if words[-2] == "tf32":
            return self.to_tf32(bits, mode, words)
        return converted(bits, F32, FORMS[words[-2]], mode, words)

    def to_tf32(self, bits, mode, words):
        """.rna cuts a NaN's low bits off, so that 0x7F800001 becomes an infinity."""
        nan = bits & 0xFFFFE000 if mode == "rna" else 0x7FFFE000
        return np.where(F32.is_nan(bits), nan, converted(bits, F32, TF32, mode, words) << 13)

    def test_f32_to_integers(self):
        record = record_named("scalar.rec", "convert.f32")
        bits = record["in"][:, 0]
        ranges = {"s32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "s64": (-(2**63), 2**63 - 1), "s8": (-128, 127)}
        for name, got in record.arrays.items():
            words = name.split(".")
            if words[0] != "cvt" or words[-2] not in ranges:
                continue
            with self.subTest(instruction=name):
                expected = to_integer(bits, words[1], *ranges[words[-2]])
                if words[-2] == "s64":
                    expected = [-(2**63) if F32.is_nan(b) else v for b, v in zip(bits, expected)]
                mask = (1 << (8 * got.dtype.itemsize)) - 1
                self.assertEqual([v & mask for v in expected], [int(v) for v in got])

    def test_f32_rounded_to_integral(self):
        record = record_named("scalar.rec", "convert.f32")
        value = np.rint(F32.value(record["in"][:, 0]))
        expected = value.astype(np.float32).view(np.uint32)
        expected = np.where(np.isnan(value), F32.nan, expected)
        self.same("cvt.rni.f32.f32", expected, record["cvt.rni.f32.f32"], record["in"])

    def test_pairs_of_f32(self):
        record = record_named("scalar.rec", "convert.f32.pairs")
        for name, got in record.arrays.items():
            words = name.split(".")
            if words[0] != "cvt":
                continue
            with self.subTest(instruction=name):
                form = FORMS[words[-2].removesuffix("x2")]
                halves = [converted(record["in"][:, i], F32, form, words[1], words) for i in (0, 1)]
                self.same(name, halves[0] << form.width | halves[1], got, record["in"])

    def test_f16_pairs_to_8_bits_and_back(self):
        for record_name, source in (("convert.f16x2", F16), ("convert.fp8", None)):
            record = record_named("scalar.rec", record_name)
            for name, got in record.arrays.items():
                words = name.split(".")
                if words[0] != "cvt":
                    continue
                with self.subTest(instruction=name):
                    form = FORMS[words[-2].removesuffix("x2")]
                    begin = source or FORMS[words[-1].removesuffix("x2")]
                    bits = record["in"][:, 0].astype(np.int64)
                    parts = [
                        converted(bits >> s & (1 << begin.width) - 1, begin, form, "rn", words)
                        for s in (0, begin.width)
                    ]
                    self.same(name, parts[0] | parts[1] << form.width, got, record["in"])

    def test_integers_to_f32(self):
        record = record_named("scalar.rec", "convert.s32")
        bits = record["in"][:, 0].astype(np.int64)
        signed = np.where(bits >> 31, bits - 2**32, bits)
        for name, number, mode in (
            ("cvt.rn.f32.s32", signed, "rn"),
            ("cvt.rn.f32.u32", bits, "rn"),
            ("cvt.rz.f32.s32", signed, "rz"),
        ):
            self.same(name, encode(number, np.zeros_like(number), F32, mode), record[name], record["in"])


def exact_float(numbers, form, mode="rn"):
    """Bits of values given as (numerator, log2 of the denominator) of Python integers."""
    out = []
    for numerator, scale in numbers:
        shift = max(0, abs(numerator).bit_length() - 60)
        sticky = (
            int(numerator & ((1 << shift) - 1) != 0) if numerator >= 0 else int(-numerator & ((1 << shift) - 1) != 0)
        )
        magnitude = (abs(numerator) >> shift) | sticky
        signed = magnitude if numerator >= 0 else -magnitude
        out.append(int(encode(np.array([signed]), np.array([shift - scale]), form, mode)[0]))
    return np.array(out, np.int64)


def dyadic(value):
    numerator, denominator = float(value).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def fused(bits, form, mode="rn", ftz=False):
    """x * y + z of columns 0, 1, 2, one rounding; NaN to the canonical one."""
    if ftz:
        bits = flushed(bits, form)
    columns = [form.value(bits[:, i]) for i in range(3)]
    out = []
    for x, y, z in zip(*columns):
        if not np.isfinite([x, y, z]).all():
            with np.errstate(invalid="ignore"):
                special = np.float64(x) * np.float64(y) + np.float64(z)
            if np.isfinite(x) and np.isfinite(y):
                special = z
            out.append(int(special_bits(special, form)))
            continue
        (xn, xs), (yn, ys), (zn, zs) = dyadic(x), dyadic(y), dyadic(z)
        scale = max(xs + ys, zs)
        numerator = (xn * yn << (scale - xs - ys)) + (zn << (scale - zs))
        result = int(exact_float([(numerator, scale)], form, mode)[0])
        if numerator == 0:
            negative = zn == 0 and (np.signbit(x) != np.signbit(y)) and np.signbit(z)
            result = int(negative) << (form.width - 1)
        out.append(int(flushed(np.array([result]), form)[0]) if ftz else result)
    return np.array(out, np.int64)


def special_bits(value, form):
    if np.isnan(value):
        return form.nan
    return form.infinity | int(value < 0) << (form.width - 1)


def columns_of(x, y, z):
    return np.stack([x, y, z], 1)


class Arithmetic(Case):
    def f32(self, name):
        record = record_named("scalar.rec", name)
        return record, record["in"].astype(np.int64)

    def test_fma_f32(self):
        record, bits = self.f32("ternary.f32")
        for name, mode in (("fma.rn.f32", "rn"), ("fma.rz.f32", "rz")):
            self.same(name, fused(bits, F32, mode), record[name], bits)
        self.same("fma.rn.ftz.f32", fused(bits, F32, ftz=True), record["fma.rn.ftz.f32"], bits)

    def test_sums_and_products_f32(self):
        record, bits = self.f32("binary.f32")
        one, zero = np.full(len(bits), 0x3F800000), np.full(len(bits), 0x80000000)
        added = columns_of(bits[:, 0], one, bits[:, 1])
        self.same("add.rn.ftz.f32", fused(added, F32, ftz=True), record["add.rn.ftz.f32"], bits)
        self.same("add.rz.f32", fused(added, F32, "rz"), record["add.rz.f32"], bits)
        sign = (bits[:, 0] ^ bits[:, 1]) & 0x80000000
        multiplied = columns_of(bits[:, 0], bits[:, 1], np.where(sign, zero, 0))
        self.same("mul.rn.ftz.f32", fused(multiplied, F32, ftz=True), record["mul.rn.ftz.f32"], bits)

    def test_division_is_correctly_rounded_or_nearly(self):
        record, bits = self.f32("binary.f32")
        with np.errstate(all="ignore"):
            exact = F32.value(bits[:, 0]) / F32.value(bits[:, 1])
            rounded = exact.astype(np.float32)
        got = record["div.rn.f32"].view(np.float32)
        self.assertTrue(((got == rounded) | (np.isnan(got) & np.isnan(rounded))).all())
        moderate = (np.abs(F32.value(bits[:, 1])) > 2.0**-120) & (np.abs(F32.value(bits[:, 1])) < 2.0**120)
        moderate &= (np.abs(exact) > 2.0**-120) & (np.abs(exact) < 2.0**120)
        for name in ("div.full.f32", "div.approx.f32"):
            error = np.abs(record[name].view(np.float32)[moderate].astype(np.float64) - exact[moderate])
            self.assertLess((error / np.abs(exact[moderate])).max(), 2.0**-22)

    def test_minima_and_maxima(self):
        record, bits = self.f32("binary.f32")
        for name in ("min.f32", "max.f32", "min.NaN.f32", "max.NaN.f32", "max.ftz.f32", "max.xorsign.abs.f32"):
            with self.subTest(instruction=name):
                self.same(name, extreme(bits, F32, name.split(".")), record[name], bits)
        for file_name, form in (("binary.f16x2", F16), ("binary.bf16x2", BF16)):
            record = record_named("scalar.rec", file_name)
            halves = elements(record["in"], 16).astype(np.int64)
            for name in [name for name in record.arrays if name[:3] in ("min", "max")]:
                with self.subTest(instruction=name):
                    both = [extreme(halves[:, :, i], form, name.split(".")) for i in (0, 1)]
                    self.same(name, both[0] | both[1] << 16, record[name], record["in"])

    def test_pairs_of_halves(self):
        for kind, form in (("f16x2", F16), ("bf16x2", BF16)):
            record = record_named("scalar.rec", "ternary." + kind)
            halves = elements(record["in"], 16).astype(np.int64)
            for name in [name for name in record.arrays if name != "in"]:
                with self.subTest(instruction=name):
                    words = name.split(".")
                    both = [self.fused_half(halves[:, :, i], form, words) for i in (0, 1)]
                    self.same(name, both[0] | both[1] << 16, record[name], record["in"])

    def fused_half(self, bits, form, words):
        out = fused(bits, form, ftz="ftz" in words)
        negative = (out >> (form.width - 1) == 1) & ~form.is_nan(out)
        return np.where(negative, 0, out) if "relu" in words else out

    def test_sums_and_products_of_halves(self):
        for kind, form in (("f16x2", F16), ("bf16x2", BF16)):
            record = record_named("scalar.rec", "binary." + kind)
            halves = elements(record["in"], 16).astype(np.int64)
            one = int(encode(np.array([1]), np.array([0]), form)[0])
            for op in ("add", "mul"):
                both = []
                for i in (0, 1):
                    x, y = halves[:, 0, i], halves[:, 1, i]
                    sign = (x ^ y) & 0x8000
                    columns = columns_of(x, np.full_like(x, one), y) if op == "add" else columns_of(x, y, sign)
                    both.append(fused(columns, form))
                self.same(f"{op}.rn.{kind}", both[0] | both[1] << 16, record[f"{op}.rn.{kind}"], record["in"])


def ordered(bits, form):
    """Integers in the order of the values, -0 below +0."""
    magnitude = bits & form.nan
    return np.where(bits >> (form.width - 1) & 1, -magnitude - 1, magnitude)


def extreme(bits, form, words):
    if "ftz" in words:
        bits = flushed(bits, form)
    x, y = bits[:, 0], bits[:, 1]
    sign = (x ^ y) & 1 << (form.width - 1) if "xorsign" in words else 0
    if "abs" in words:
        x, y = x & form.nan, y & form.nan
    nan_x, nan_y = form.is_nan(x), form.is_nan(y)
    first = ordered(x, form) <= ordered(y, form)
    out = np.where(first == (words[0] == "min"), x, y)
    if "NaN" in words:
        return np.where(nan_x | nan_y, form.nan, out)
    out = np.where(nan_x, y, np.where(nan_y, x, out))
    return np.where(nan_x & nan_y, form.nan, np.where(nan_x | nan_y, out, out) | sign)


class Approximations(Case):
    """Every recorded point is within the worst error of its binade, and the worst errors are within a table."""

    # (binades of the argument, sign bits of it, errors in units of the last place or absolute): the limit.
    LIMITS = (
        ("ex2.approx.f32", "ulp", (-126, 127), 2.4),
        ("rcp.approx.f32", "ulp", (-126, 127), 0.99),
        ("rsqrt.approx.f32", "ulp", (-126, 127), 1.52),
        ("sqrt.approx.f32", "ulp", (-126, 127), 0.95),
        ("lg2.approx.f32", "absolute", (-1, 0), 2.0**-22.1),
        ("lg2.approx.f32", "ulp", (1, 127), 1.4),
        ("lg2.approx.f32", "ulp", (-126, -2), 2.4),
        ("sin.approx.f32", "absolute", (-126, 0), 2.0**-21.4),
        ("sin.approx.f32", "absolute", (1, 1), 2.0**-20.5),
        ("cos.approx.f32", "absolute", (-126, 1), 2.0**-21.2),
        ("tanh.approx.f32", "ulp", (-126, 127), 134.1),
        ("tanh.approx.f32", "absolute", (-126, 127), 2.0**-16.9),
        ("ex2.approx.f16x2", "ulp", (-14, 15), 1.0),
        ("tanh.approx.f16x2", "ulp", (-14, 15), 1.01),
        ("tanh.approx.bf16x2", "ulp", (-126, 127), 1.01),
        ("ex2.approx.ftz.bf16x2", "ulp", (-126, 5), 1.0),
    )

    FUNCTIONS = {
        "ex2": np.exp2,
        "lg2": np.log2,
        "rcp": lambda x: 1 / x,
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "sqrt": np.sqrt,
        "sin": np.sin,
        "cos": np.cos,
        "tanh": np.tanh,
    }

    def sweeps(self):
        return {record.name.removeprefix("sweep."): record for record in read("sweep.rec")}

    def test_worst_errors(self):
        sweeps = self.sweeps()
        for name, unit, (first, last), limit in self.LIMITS:
            with self.subTest(instruction=name, unit=unit, binades=(first, last)):
                errors = sweeps[name][unit].view(np.float32).reshape(2, -1)  # by sign and exponent field
                bias = errors.shape[1] // 2 - 1
                worst = errors[:, first + bias : last + bias + 1].max()
                self.assertLessEqual(worst, limit)
                self.assertGreater(worst, 0.9 * limit)

    def test_points_agree_with_the_sweep(self):
        sweeps = self.sweeps()
        record = record_named("scalar.rec", "approx.f32")
        bits = record["in"][:, 0]
        with np.errstate(all="ignore"):
            for name in [name for name in record.arrays if name in sweeps]:
                with self.subTest(instruction=name):
                    exact = self.FUNCTIONS[name.split(".")[0]](F32.value(bits))
                    got = F32.value(record[name])
                    finite = np.isfinite(exact) & np.isfinite(got)
                    limit = sweeps[name]["absolute"].view(np.float32)[bits >> 23]
                    error = np.abs(got - exact)
                    self.assertTrue((error[finite] <= limit[finite] * (1 + 1e-6) + 1e-300).all())

    def test_correctly_rounded_ones(self):
        record = record_named("scalar.rec", "approx.f32")
        value = F32.value(record["in"][:, 0])
        with np.errstate(all="ignore"):
            for name, exact in (("sqrt.rn.f32", np.sqrt(value)), ("rcp.rn.f32", 1 / value)):
                got, expected = record[name].view(np.float32), exact.astype(np.float32)
                self.assertTrue(((got == expected) | (np.isnan(got) & np.isnan(expected))).all(), name)


class Atomics(Case):
    def test_atomics(self):
        records = [record for record in read("scalar.rec") if record.name.startswith("atom.")]
        self.assertEqual(len(records), 26)
        for record in records:
            with self.subTest(instruction=record.name):
                self.assertTrue((record["returned"] == record["before"]).all())
                self.same(record.name, *self.expected(record))

    def expected(self, record):
        words, x, y = record.name.split("."), record["before"], record["operand"]
        inputs = np.stack([x, y], 1)
        if words[-1] == "f64":
            with np.errstate(all="ignore"):
                total = x.view(np.float64) + y.view(np.float64)
            both_nan = np.isnan(total) & np.isnan(record["after"].view(np.float64))
            return np.where(both_nan, 0, total.view(np.uint64)), np.where(both_nan, 0, record["after"]), inputs
        if words[-1] == "f32":
            return self.added_f32(x, y, "global" in words), record["after"], inputs
        if words[-1] in ("f16x2", "bf16x2"):
            form = FORMS[words[-1].removesuffix("x2")]
            one = int(encode(np.array([1]), np.array([0]), form)[0])
            halves = [elements(v, 16).astype(np.int64) for v in (x, y)]
            both = [fused(columns_of(halves[0][:, i], np.full(len(x), one), halves[1][:, i]), form) for i in (0, 1)]
            return both[0] | both[1] << 16, record["after"], inputs
        return self.integers(words[2:], x, y), record["after"], inputs

    def added_f32(self, x, y, flushes):
        columns = columns_of(x.astype(np.int64), np.full(len(x), 0x3F800000), y.astype(np.int64))
        return fused(columns, F32, ftz=flushes)

    def integers(self, words, x, y):
        op, kind = words
        if kind == "s32":
            x, y = x.view(np.int32), y.view(np.int32)
        table = {
            "add": lambda: x + y,
            "min": lambda: np.minimum(x, y),
            "max": lambda: np.maximum(x, y),
            "inc": lambda: np.where(x >= y, 0, x + 1),
            "dec": lambda: np.where((x == 0) | (x > y), y, x - 1),
            "exch": lambda: y,
            "and": lambda: x & y,
            "xor": lambda: x ^ y,
        }
        return table[op]().view(np.uint64 if kind == "u64" else np.uint32)


if __name__ == "__main__":
    unittest.main()
