"""How Hopper's tensor cores round: a model that gives every recorded result bit for bit.

One instruction adds all its products and C at once. Products are exact. All terms are shifted to the largest exponent
among them (a product's is the sum of its factors' exponents, before any carry) and cut off below `fraction` bits after
the leading place, toward zero. The sum of what is left is exact, and one rounding brings it into D.

| D | from | fraction | last rounding |
|---|---|---|---|
| f32 | f16, bf16, tf32 | 25 | toward zero |
| f16 | f16 | 25 | to nearest, ties to even |
| f32 | e4m3, e5m2 (wgmma) | 13 | toward zero, to 13 bits of mantissa |
| f16 | e4m3 (wgmma) | 13 | to nearest, ties to even |

So one instruction of depth K errs by less than (K + 1) * 2^-25 of its largest term plus 2^-23 of its result. Denormals
count in full. tf32 ignores the low 13 bits of its operands. A NaN, infinities of both signs, or zero times infinity
give the NaN of all ones without a sign. A sum beyond the largest value of D is an infinity, also where D is rounded
toward zero.

mma.sync of e4m3 and e5m2 is no instruction of Hopper. ptxas widens to f16 and takes two products of half the depth,
first of the elements k with k % 4 < 2, then of the others, from 0; C is added last, rounded to nearest."""

import numpy as np

from floats import F16, F32, TF32, encode, shifted

NOTHING = -(10**6)


def operand(bits, form):
    """tf32 comes in 32 bits."""
    return np.asarray(bits) >> 13 if form is TF32 else np.asarray(bits)


def special_result(a, b, c, forms, out):
    """(where the result is no finite sum, its bits)."""
    fa, fb, fc = forms
    x, y, z = fa.value(a)[..., :, :, None], fb.value(b)[..., None, :, :], fc.value(c)
    with np.errstate(invalid="ignore"):
        terms = x * y
        total = np.where(np.isfinite(terms), 0, terms).sum(-2) + np.where(np.isfinite(z), 0, z)
    bits = np.where(np.isnan(total), out.nan, out.infinity | (total < 0).astype(np.int64) << (out.width - 1))
    return ~np.isfinite(total) | (total != 0), bits


def product_sum(a, b, c, forms, out, fraction=25):
    """Bits of a (.., m, k) times b (.., k, n) plus c (.., m, n). `forms` are those of a, b, c."""
    fa, fb, fc = forms
    a, b, c = operand(a, fa), operand(b, fb), np.asarray(c)
    sa, ea = fa.parts(a)
    sb, eb = fb.parts(b)
    sc, ec = fc.parts(c)
    terms = sa[..., :, :, None] * sb[..., None, :, :]
    exponents = np.where(terms != 0, ea[..., :, :, None] + eb[..., None, :, :], NOTHING)
    largest = np.maximum(exponents.max(-2), np.where(sc != 0, ec, NOTHING))
    lowest = np.where(largest == NOTHING, 0, largest) - fraction
    total = aligned(terms, exponents - fa.mantissa - fb.mantissa, lowest[..., None, :]).sum(-2)
    total = total + aligned(sc, ec - fc.mantissa, lowest)
    mode, keep = ("rz", min(fraction, out.mantissa)) if out is F32 else ("rn", None)
    bits = encode(total, lowest, out, mode, keep)
    bits = np.where(bits & out.nan == out.largest, overflowed(total, lowest, out, bits), bits)
    is_special, special = special_result(a, b, c, forms, out)
    return np.where(is_special, special, bits)


def aligned(significand, exponent, lowest):
    return np.sign(significand) * shifted(np.abs(significand), np.clip(exponent - lowest, -62, 62))


def overflowed(total, lowest, out, bits):
    """Infinity where the exact sum is beyond the format's range."""
    beyond = np.abs(total) * np.exp2(lowest.astype(np.float64)) >= 2.0 ** (out.top - out.bias)
    return np.where(beyond, out.infinity | bits & ~out.nan, bits)


def fp8_by_halves(a, b, c, forms, out):
    """mma.sync of 8-bit floats as ptxas writes it for sm_90."""
    between = F32 if out is F32 else F16
    first = np.arange(a.shape[-1]) % 4 < 2
    part = np.zeros(np.shape(c), np.int64)
    for chosen in (first, ~first):
        part = product_sum(a[..., chosen], b[..., chosen, :], part, (forms[0], forms[1], between), between)
    return added(c, part, out)


def added(x, y, form):
    """Bits of x + y, rounded to nearest: float64 holds the sum of two f32 or f16 well enough to round once more."""
    kind = {F32: (np.uint32, np.float32), F16: (np.uint16, np.float16)}[form]
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(x).astype(kind[0]).view(kind[1]) + np.asarray(y).astype(kind[0]).view(kind[1])
    return np.where(np.isnan(total), form.nan, total.view(kind[0])).astype(np.int64)
