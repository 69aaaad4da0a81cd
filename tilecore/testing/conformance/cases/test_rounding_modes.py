"""T.ieee_*: every operation in every rounding mode, against exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError

from .exact_numbers import equal_bits, hard
from .kit import check, element, every_value, needs_type, zeros
from .test_exact_arithmetic import needs_exact

N = 300
DIRECTED = ("rz", "ru", "rd")
ARITY = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2, "rcp": 1, "sqrt": 1}


def to_grid(exact, mode, kind):
    """A fraction that is not 0 as a float of ``kind``: the multiple of the step between floats of its size, one of two
    neighbours by the mode; beyond the largest one that or infinity."""
    facts = np.finfo(kind)
    size, is_negative = abs(exact), exact < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, facts.minexp) - facts.nmant)
    whole, rest = divmod(size, step)
    is_away = {"rz": False, "ru": not is_negative, "rd": is_negative}[mode]
    size = (whole + (is_away and rest > 0)) * step
    largest = Fraction(float(facts.max))
    value = (math.inf if is_away else float(facts.max)) if size > largest else float(size)
    return -value if is_negative else value


def to_grid_of_root(value, mode, kind):
    """The square root of a float: of an integer, at a step far below that of the result, and the rest as one bit."""
    shift = 2 * 1400
    scaled = int(Fraction(value) * Fraction(2) ** shift)
    root = math.isqrt(scaled)
    exact = Fraction(root, 2 ** (shift // 2))
    is_inexact = root * root != scaled
    return to_grid(exact + (Fraction(1, 2**4000) if is_inexact else 0), mode, kind)


def exactly(operation, mode, kind, *operands):
    """The result of one operation, as IEEE 754-2019 has it for special numbers."""
    if any(math.isnan(x) for x in operands):
        return math.nan
    if operation == "rcp":
        return exactly("div", mode, kind, 1.0, *operands)
    if operation == "sub":
        return exactly("add", mode, kind, operands[0], -operands[1])
    if operation == "sqrt":
        (a,) = operands
        special = a if a == 0 or a == math.inf else math.nan
        return to_grid_of_root(a, mode, kind) if 0 < a < math.inf else special
    if operation == "div":
        a, b = operands
        sign = math.copysign(1, a) * math.copysign(1, b)
        if a == b == 0 or (math.isinf(a) and math.isinf(b)):
            return math.nan
        if b == 0 or math.isinf(a):
            return sign * math.inf
        return sign * 0.0 if a == 0 or math.isinf(b) else to_grid(Fraction(a) / Fraction(b), mode, kind)
    if operation == "mul":
        a, b = operands
        sign = math.copysign(1, a) * math.copysign(1, b)
        if math.isinf(a) or math.isinf(b):
            return math.nan if a == 0 or b == 0 else sign * math.inf
        return sign * 0.0 if a == 0 or b == 0 else to_grid(Fraction(a) * Fraction(b), mode, kind)
    a, b, c = operands if operation == "fma" else (operands[0], 1.0, operands[1])
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or math.isinf(b):
        is_invalid = a == 0 or b == 0 or c == -sign * math.inf
        return math.nan if is_invalid else sign * math.inf
    if math.isinf(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact != 0:
        return to_grid(exact, mode, kind)
    if (a == 0 or b == 0) and c == 0 and sign == math.copysign(1, c):
        return sign * 0.0
    return -0.0 if mode == "rd" else 0.0


def extremes(dtype, seed):
    """Numbers near the ends of the range, and ones whose results are near them."""
    rng = np.random.default_rng(seed)
    facts = np.finfo(element(dtype))
    exponents = rng.choice([facts.minexp - facts.nmant, facts.minexp, facts.minexp // 2, -facts.nmant, 0], 200)
    exponents = np.where(rng.random(200) < 0.5, exponents, rng.choice([facts.maxexp - 1, facts.maxexp // 2], 200))
    fractions = 1 + rng.integers(0, 2**facts.nmant, 200) / 2.0**facts.nmant
    with np.errstate(all="ignore"):
        return (np.ldexp(fractions, exponents + rng.integers(-3, 4, 200)) * rng.choice([-1, 1], 200)).astype(dtype)


def operands_of(dtype):
    """Three arrays. Some products and their terms cancel but for a few bits."""
    a, b, c = (np.concatenate([hard(dtype, 600, seed), extremes(dtype, seed)]) for seed in (31, 32, 33))
    with np.errstate(all="ignore"):
        c[:150] = -(a[:150] * b[:150])
        b[150:200] = -a[150:200]
        c[200:260] = -np.nextafter(a[200:260] * b[200:260], element(dtype).type(1))
        c[640:680] = -(a[640:680] * b[640:680])
    return a, b, c


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_directed_rounding_is_exact(target, dtype):
    needs_type(target, dtype)
    arrays = operands_of(dtype)
    count = len(arrays[0])

    @T.prim_func
    def kernel(
        A: T.Tensor((count,), dtype),
        B: T.Tensor((count,), dtype),
        C: T.Tensor((count,), dtype),
        Y: T.Tensor((7, 3, count), dtype),
    ):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(count):
                for m, mode in enumerate(DIRECTED):
                    Y[0, m, i] = T.ieee_add(A[i], B[i], mode)
                    Y[1, m, i] = T.ieee_sub(A[i], B[i], mode)
                    Y[2, m, i] = T.ieee_mul(A[i], B[i], mode)
                    Y[3, m, i] = T.ieee_fmaf(A[i], B[i], C[i], mode)
                    Y[4, m, i] = T.ieee_fdiv(A[i], B[i], mode)
                    Y[5, m, i] = T.ieee_frcp(A[i], rounding_mode=mode)
                    Y[6, m, i] = T.ieee_fsqrt(A[i], mode)

    *_, y = check(kernel, target, *arrays, zeros(dtype, (7, 3, count)), compare=equal_bits)
    kind = element(dtype)
    for row, (operation, arity) in enumerate(ARITY.items()):
        for m, mode in enumerate(DIRECTED):
            numbers = zip(*(array.tolist() for array in arrays[:arity]), strict=True)
            expected = np.array([exactly(operation, mode, kind, *values) for values in numbers], dtype)
            equal_bits(y[row, m], expected, f"{operation} {mode}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits_to_nearest(target, dtype):
    """Each result is the one of exact arithmetic rounded once, also where the operations meet."""
    needs_type(target, dtype)
    needs_type(target, "float32")
    needs_exact(target)
    kind = element(dtype)
    b, c = (np.resize(np.random.default_rng(seed).permutation(every_value(dtype)), 2**16) for seed in (1, 2))
    a = every_value(dtype)

    @T.prim_func
    def kernel(
        A: T.Tensor((2**16,), dtype),
        B: T.Tensor((2**16,), dtype),
        C: T.Tensor((2**16,), dtype),
        Y: T.Tensor((9, 2**16), dtype),
    ):
        with T.Kernel(64, threads=64) as block:
            for j in T.Parallel(1024):
                i = block * 1024 + j
                Y[0, i] = T.ieee_add(A[i], B[i])
                Y[1, i] = T.ieee_sub(A[i], B[i])
                Y[2, i] = T.ieee_mul(A[i], B[i])
                Y[3, i] = T.ieee_fmaf(A[i], B[i], C[i])
                Y[4, i] = T.ieee_fdiv(A[i], B[i])
                Y[5, i] = T.ieee_frcp(A[i])
                Y[6, i] = T.ieee_fsqrt(A[i])
                Y[7, i] = T.ieee_frsqrt(A[i])
                Y[8, i] = T.ieee_add(T.ieee_mul(A[i], B[i]), C[i])

    with np.errstate(invalid="ignore"):  # of signalling NaN
        *_, y = check(kernel, target, a, b, c, zeros(dtype, (9, 2**16)), compare=equal_bits)
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float64) for x in (a, b, c)]
        product = (wide[0] * wide[1]).astype(kind).astype(np.float64)
        rows = {
            0: wide[0] + wide[1],
            1: wide[0] - wide[1],
            2: wide[0] * wide[1],
            4: wide[0] / wide[1],
            5: 1 / wide[0],
            6: np.sqrt(wide[0]),
            7: 1 / np.sqrt(wide[0]),
            8: product + wide[2],
        }
        for row, expected in rows.items():
            equal_bits(y[row], expected.astype(kind), f"row {row}")


def test_what_rounding_modes_there_are():
    def build(make):
        @T.prim_func
        def kernel(A: T.Tensor((1,), "float32"), H: T.Tensor((1,), "float16"), I: T.Tensor((1,), "int32")):  # noqa: E741
            with T.Kernel(1):
                A[0] = T.cast(make(A[0], H[0], I[0]), "float32")

        return kernel

    for make, kind, text in (
        (lambda a, h, i: T.ieee_fsqrt(a, "nearest"), LanguageError, "Invalid rounding mode 'nearest'"),
        (lambda a, h, i: T.ieee_add(a, a, ["rz"]), LanguageError, "Invalid rounding mode"),
        (lambda a, h, i: T.ieee_mul(h, h, "rz"), UnsupportedError, "Only rounding mode 'rn' is available for half"),
        (lambda a, h, i: T.ieee_mul(i, i), LanguageError, "T.ieee_mul is not defined for int32"),
        (lambda a, h, i: T.ieee_frsqrt(T.cast(a, "float64")), UnsupportedError, "not supported for float64"),
    ):
        with pytest.raises(kind, match=text) as raised:
            build(make)
        message = str(raised.value)
        assert "test_rounding_modes.py" in message, "where"
        assert "expected" in message
        assert raised.value.hint, "what to do"
