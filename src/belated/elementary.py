"""Logarithms, exponentials and the cosine, made of +, -, *, / and operations on bits.

The functions of `math` come from a library of the platform, and their last bit differs between
platforms and between CPU and GPU. These functions give the same bits everywhere, with an error of
less than one unit in the last place (two units for `cos_turn`). The formulas and coefficients are
those of fdlibm (Sun Microsystems 1993), and the reduction of the argument of `log` is that of musl.

Use them in a backup, so that it can run on a GPU:

>>> log(2.0), exp(1.0)
(0.6931471805599453, 2.7182818284590455)
"""

import math
import struct
from typing import Any, Final

import numba
from numba.extending import intrinsic

from belated.compiled import JIT, PLAIN_FORMS, inlined, kernel

types: Any = numba.types

LN2_HIGH: Final = 6.93147180369123816490e-01  # ln 2 = LN2_HIGH + LN2_LOW; LN2_HIGH has 33 bits
LN2_LOW: Final = 1.90821492927058770002e-10
INVERSE_LN2: Final = 1.44269504088896338700

SMALLEST_NORMAL: Final = 2.2250738585072014e-308
ROOT_BITS: Final = 0x3FE6A09E00000000  # bits of a number close to sqrt(1/2)
ONE_BITS: Final = 0x3FF0000000000000  # bits of 1
FRACTION_BITS: Final = 0x000FFFFFFFFFFFFF  # mask of the fraction of a float

INTEGER_OFFSET: Final = 6755399441055744.0
"""1.5 * 2**52. The lowest bits of this number plus an integer k, |k| < 2**51, are those of k.

Conversions between integers and floats by addition of this number are exact. Unlike conversions by
`int` and `float`, they are vectorised by the compiler."""

INTEGER_BITS: Final = 0x4338000000000000  # bits of INTEGER_OFFSET


def python_to_bits(x: float) -> int:
    """Return the 64 bits of the float `x` as a signed integer, computed in plain Python."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def python_from_bits(bits: int) -> float:
    """Return the float whose 64 bits are the integer `bits`, computed in plain Python."""
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def _to_bits(context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


def _from_bits(context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


to_bits: Any = intrinsic(_to_bits) if JIT else python_to_bits
"""`to_bits(x)` returns the 64 bits of the float `x` as a signed integer."""

from_bits: Any = intrinsic(_from_bits) if JIT else python_from_bits
"""`from_bits(bits)` returns the float whose 64 bits are the integer `bits`."""

if JIT:
    PLAIN_FORMS |= {to_bits: python_to_bits, from_bits: python_from_bits}


@inlined
def round_down(y: float) -> float:
    """Return the largest integer that is at most `y`, for |y| < 2**51, as a float.

    This is faster than `math.floor` where the result is used as a float.
    """
    k = (y + INTEGER_OFFSET) - INTEGER_OFFSET  # y rounded to the nearest integer
    return k - 1.0 if k > y else k


@inlined
def scale_by_power(y: float, k: int) -> float:
    """Return `y` * 2**`k`, for `y` in [1/2, 4] and |k| < 1080.

    A subnormal result is rounded only once.
    """
    if k > 1000:
        return y * from_bits((k - 1000 + 1023) << 52) * from_bits((1000 + 1023) << 52)
    if k < -1000:
        return y * from_bits((k + 100 + 1023) << 52) * from_bits((-100 + 1023) << 52)
    return float(y * from_bits((k + 1023) << 52))


@inlined
def log_reduced(f: float, k: float, rest: float) -> float:
    """Return log(1 + `f`) + `k` ln 2 + `rest`, for |f| < 0.42.

    The series is log(1 + f) = f - f^2/2 + s (f^2/2 + R), where s = f / (2 + f).
    """
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = 2.222219843214978396e-01 + w * 1.531383769920937332e-01
    even = w * (3.999999999940941908e-01 + w * even)
    odd = 1.818357216161805012e-01 + w * 1.479819860511658591e-01
    odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * odd))
    return float(k * LN2_HIGH - ((half - (s * (half + (even + odd)) + (k * LN2_LOW + rest))) - f))


@kernel
def log(x: float) -> float:
    """Return the natural logarithm of `x`; -inf for 0, NaN for negative numbers."""
    x = float(x)
    if not 0.0 < x < math.inf:
        if x == 0.0:
            return -math.inf
        return x if x > 0.0 or x != x else math.nan
    k = 0
    if x < SMALLEST_NORMAL:
        x *= 18014398509481984.0  # 2**54
        k = -54
    # x = 2^k m with m in [sqrt(1/2), sqrt(2))
    bits = to_bits(x) + (ONE_BITS - ROOT_BITS)
    k += (bits >> 52) - 1023
    f = from_bits((bits & FRACTION_BITS) + ROOT_BITS) - 1.0
    return log_reduced(f, float(k), 0.0)


@inlined
def log1p(x: float) -> float:
    """Return log(1 + `x`), accurate also for small `x`.

    All branches are simple, so that the compiler vectorises a loop that calls this function.
    """
    x = float(x)
    if not -1.0 < x < math.inf:
        if x == -1.0:
            return -math.inf
        return x if x > 0.0 or x != x else math.nan
    if abs(x) < 1.1102230246251565e-16:  # 2**-53
        return x
    k = 0.0
    f = x
    rest = 0.0  # relative rounding error of 1 + x
    if not -0.2928932188134524 < x < 0.41421356237309503:
        u = 1.0 + x
        bits = to_bits(u) + (ONE_BITS - ROOT_BITS)
        k = from_bits((bits >> 52) | INTEGER_BITS) - (INTEGER_OFFSET + 1023.0)
        if k < 54.0:
            rest = (1.0 - (u - x) if k >= 2.0 else x - (u - 1.0)) / u
        f = from_bits((bits & FRACTION_BITS) + ROOT_BITS) - 1.0
    return log_reduced(f, k, rest)


@kernel
def exp(x: float) -> float:
    """Return e to the power of `x`."""
    x = float(x)
    if x != x or x == math.inf:
        return x
    if x > 709.782712893384:
        return math.inf
    if x < -745.1332191019411:
        return 0.0
    # x = k ln 2 + r with |r| <= ln(2) / 2
    k = round_down(x * INVERSE_LN2 + 0.5)
    high = x - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    t = r * r
    c = t * 4.13813679705723846039e-08 - 1.65339022054652515390e-06  # Horner's method
    c = t * c + 6.61375632143793436117e-05
    c = t * c - 2.77777777770155933842e-03
    c = t * c + 1.66666666666666019037e-01
    c = r - t * c
    power = to_bits(k + INTEGER_OFFSET) - INTEGER_BITS  # k as an integer
    return scale_by_power(1.0 + ((r * c) / (2.0 - c) - low + high), power)


@inlined
def expm1_series(x: float) -> float:
    """Return the remainder E in a series of expm1(`x`), for |x| <= ln(2) / 2.

    It is defined by expm1(x) = x - (x E - x^2 / 2).
    """
    half = 0.5 * x
    hxs = x * half
    r = hxs * -2.01099218183624371326e-07 + 4.00821782732936239552e-06
    r = hxs * r - 7.93650757867487942473e-05
    r = hxs * r + 1.58730158725481460165e-03
    r = hxs * r - 3.33333333333331316428e-02
    r = hxs * r + 1.0
    t = 3.0 - r * half
    return float(hxs * ((r - t) / (6.0 - x * t)))


@inlined
def expm1_negative(x: float) -> float:
    """Return exp(`x`) - 1 for `x` of at most 0; see `expm1`.

    All branches are simple, so that the compiler vectorises a loop that calls this function.
    """
    if x < -38.816242111356935:  # -56 ln 2
        return -1.0
    if x > -5.551115123125783e-17:  # -2**-54
        return x
    k = 0.0
    c = 0.0  # rounding error of the reduced argument
    if x < -0.34657359027997264:  # -ln(2) / 2
        k = round_down(x * INVERSE_LN2 + 0.5)
        high = x - k * LN2_HIGH
        low = k * LN2_LOW
        x = high - low
        c = (high - x) - low
    e = expm1_series(x)
    hxs = x * (0.5 * x)
    if k == 0.0:
        return float(x - (x * e - hxs))
    e = x * (e - c) - c
    e -= hxs
    if k == -1.0:
        return float(0.5 * (x - e) - 0.5)
    power = from_bits((to_bits(k + INTEGER_OFFSET) - INTEGER_BITS + 1023) << 52)  # 2**k
    return float((1.0 - (e - x)) * power - 1.0)


@kernel
def expm1(x: float) -> float:
    """Return exp(`x`) - 1, accurate also for small `x`."""
    x = float(x)
    if x <= 0.0:
        return expm1_negative(x)
    if x != x or x == math.inf:
        return x
    if x > 709.782712893384:
        return math.inf
    if x < 5.551115123125783e-17:  # 2**-54
        return x
    k = 0
    c = 0.0  # rounding error of the reduced argument
    if x > 0.34657359027997264:  # ln(2) / 2
        k = int(math.floor(x * INVERSE_LN2 + 0.5))  # noqa: RUF046 -- a float on a GPU
        high = x - k * LN2_HIGH
        low = k * LN2_LOW
        x = high - low
        c = (high - x) - low
    e = expm1_series(x)
    hxs = x * (0.5 * x)
    if k == 0:
        return float(x - (x * e - hxs))
    e = x * (e - c) - c
    e -= hxs
    if k == 1:
        if x < -0.25:
            return float(-2.0 * (e - (x + 0.5)))
        return float(1.0 + 2.0 * (x - e))
    if k > 56:
        return scale_by_power(1.0 - (e - x), k) - 1.0
    small = from_bits((1023 - k) << 52)  # 2**-k
    if k < 20:
        return scale_by_power((1.0 - small) - (e - x), k)
    return scale_by_power(x - (e + small) + 1.0, k)


@kernel
def cos_turn(x: float) -> float:
    """Return the cosine of `x` turns, cos(2 pi x), for `x` in [0, 1)."""
    # cos is symmetric about half a turn; the differences are exact
    x = x if x <= 0.5 else 1.0 - x
    sign = 1.0
    if x > 0.25:
        x = 0.5 - x
        sign = -1.0
    if x <= 0.125:
        z = (2.0 * math.pi * x) * (2.0 * math.pi * x)
        tail = z * -1.13596475577881948265e-11 + 2.08757232129817482790e-09
        tail = z * tail - 2.75573143513906633035e-07
        tail = z * tail + 2.48015872894767294178e-05
        tail = z * tail - 1.38888888888741095749e-03
        tail = z * tail + 4.16666666666666019037e-02
        tail *= z * z
        return float(sign * (1.0 - (0.5 * z - tail)))
    y = 2.0 * math.pi * (0.25 - x)
    z = y * y
    series = z * 1.58969099521155010221e-10 - 2.50507602534068634195e-08
    series = z * series + 2.75573137070700676789e-06
    series = z * series - 1.98412698298579493134e-04
    series = z * series + 8.33333333332248946124e-03
    series = z * series - 1.66666666666666324348e-01
    return float(sign * (y + y * (z * series)))
