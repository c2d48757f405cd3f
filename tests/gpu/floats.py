"""Bits of the GPU's floating-point types and correct rounding into them, on arrays of numpy."""

import numpy as np


class Format:
    """A sign, exponent bits with a bias, `mantissa` stored bits. Without infinities (e4m3) only all ones are NaN."""

    def __init__(self, width, mantissa, bias, has_infinity=True):
        self.width, self.mantissa, self.bias, self.has_infinity = width, mantissa, bias, has_infinity

    @property
    def least_exponent(self):
        return 1 - self.bias

    @property
    def top(self):
        """The exponent field of infinities and NaNs."""
        return (1 << (self.width - 1 - self.mantissa)) - 1

    @property
    def nan(self):
        """What tensor cores and conversions give: all bits but the sign."""
        return (1 << (self.width - 1)) - 1

    @property
    def infinity(self):
        return self.top << self.mantissa

    @property
    def largest(self):
        return self.infinity - 1 if self.has_infinity else self.nan - 1

    def fields(self, bits):
        """(is negative, exponent field, mantissa field)."""
        bits = np.asarray(bits).astype(np.int64)
        sign = bits >> (self.width - 1) & 1
        return sign, bits >> self.mantissa & self.top, bits & ((1 << self.mantissa) - 1)

    def is_nan(self, bits):
        _, exponent, fraction = self.fields(bits)
        full = fraction != 0 if self.has_infinity else fraction == (1 << self.mantissa) - 1
        return (exponent == self.top) & full

    def is_infinite(self, bits):
        _, exponent, fraction = self.fields(bits)
        return (exponent == self.top) & (fraction == 0) & self.has_infinity

    def parts(self, bits):
        """(significand with its sign, exponent of the significand's leading place): significand * 2^(exponent -
        mantissa). Denormals keep the least exponent."""
        sign, exponent, fraction = self.fields(bits)
        significand = np.where(exponent > 0, fraction | 1 << self.mantissa, fraction)
        return np.where(sign == 1, -significand, significand), np.maximum(exponent, 1) - self.bias

    def value(self, bits):
        """As float64; f64's own bits are reinterpreted."""
        if self.width == 64:
            return np.asarray(bits).astype(np.uint64).view(np.float64)
        significand, exponent = self.parts(bits)
        sign = self.fields(bits)[0]
        out = np.ldexp(significand.astype(np.float64), exponent - self.mantissa)
        out = np.where((out == 0) & (sign == 1), -0.0, out)
        out = np.where(self.is_infinite(bits), np.where(sign == 1, -np.inf, np.inf), out)
        return np.where(self.is_nan(bits), np.nan, out)


F64 = Format(64, 52, 1023)
F32 = Format(32, 23, 127)
F16 = Format(16, 10, 15)
BF16 = Format(16, 7, 127)
TF32 = Format(19, 10, 127)
E4M3 = Format(8, 3, 7, has_infinity=False)
E5M2 = Format(8, 2, 15)
FORMATS = {"f64": F64, "f32": F32, "f16": F16, "bf16": BF16, "tf32": TF32, "e4m3": E4M3, "e5m2": E5M2}


def leading_place(magnitude):
    """floor(log2) of positive integers below 2^62; 0 for 0."""
    place, rest = np.zeros_like(magnitude), magnitude.copy()
    for step in (32, 16, 8, 4, 2, 1):
        high = rest >> step != 0
        place, rest = place + np.where(high, step, 0), np.where(high, rest >> step, rest)
    return place


def shifted(magnitude, left):
    """magnitude * 2^left, bits below 1 cut off."""
    return (magnitude << np.clip(left, 0, 62)) >> np.clip(-left, 0, 62)


def encode(numbers, exponent, form, mode="rn", keep=None):
    """Bits of numbers * 2^exponent (integers below 2^61) in a format. Modes: rn (ties to even), rna (ties away), rz,
    rm, rp. `keep`: mantissa bits that stay (rz only), fewer than the format has."""
    magnitude, negative = np.abs(numbers), numbers < 0
    lowest = np.maximum(leading_place(magnitude) + exponent, form.least_exponent) - (keep or form.mantissa)
    quotient = shifted(magnitude, exponent - lowest)
    cut = np.clip(lowest - exponent, 0, 62)
    rest = magnitude - (quotient << cut)
    half = np.int64(1) << np.maximum(cut - 1, 0)
    up = {
        "rn": (rest > half) | ((rest == half) & (quotient & 1 == 1)),
        "rna": rest >= half,
        "rz": np.zeros_like(negative),
        "rm": negative & (rest > 0),
        "rp": ~negative & (rest > 0),
    }[mode] & (cut > 0)
    quotient = (quotient + up) << (form.mantissa - (keep or form.mantissa))
    return packed(quotient, lowest, negative, form, mode, keep)


def packed(quotient, lowest, negative, form, mode, keep):
    lowest = lowest - (form.mantissa - (keep or form.mantissa))
    carried = quotient >> (form.mantissa + 1) != 0
    quotient, lowest = np.where(carried, quotient >> 1, quotient), np.where(carried, lowest + 1, lowest)
    field = np.where(quotient >> form.mantissa != 0, lowest + form.mantissa + form.bias, 0)
    bits = field << form.mantissa | quotient & ((1 << form.mantissa) - 1)
    stays = {"rz": True, "rm": ~negative, "rp": negative}.get(mode, False)
    too_large = bits > form.largest
    bits = np.where(too_large, np.where(stays, form.largest, form.infinity if form.has_infinity else form.nan), bits)
    return bits | negative.astype(np.int64) << (form.width - 1)
