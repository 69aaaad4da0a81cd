"""Mathematical functions: within a few units of the last place of a wider reference, special values included."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilecore.language as T
from tilecore.dtypes import FACTS
from tilecore.testing.conformance.report import MEASURED

from .kit import check, compiled, element, every_value, has_feature, same, sample, zeros

Wide = np.longdouble
UNITS = "mathematical functions: the largest error in units in the last place"
_erf = np.frompyfunc(math.erf, 1, 1)

# function: (reference in long double, units of the last place allowed)
UNARY = {
    "exp": (np.exp, 2),
    "exp2": (np.exp2, 2),
    "exp10": (lambda x: np.power(Wide(10), x), 3),
    "log": (np.log, 2),
    "log2": (np.log2, 2),
    "log10": (np.log10, 3),
    "log1p": (np.log1p, 2),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "tan": (np.tan, 3),
    "asin": (np.arcsin, 2),
    "acos": (np.arccos, 2),
    "atan": (np.arctan, 2),
    "sinh": (np.sinh, 3),
    "cosh": (np.cosh, 3),
    "tanh": (np.tanh, 3),
    "asinh": (np.arcsinh, 3),
    "acosh": (np.arccosh, 3),
    "atanh": (np.arctanh, 3),
    "erf": (lambda x: _erf(x.astype(np.float64)).astype(np.float64).astype(Wide), 4),
    "sqrt": (np.sqrt, 1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 3),
    "floor": (np.floor, 0),
    "ceil": (np.ceil, 0),
    "trunc": (np.trunc, 0),
    "round": (np.rint, 0),
    "nearbyint": (np.rint, 0),
    "abs": (np.abs, 0),
}
NAMES = list(UNARY)


def units(got: np.ndarray, expected: np.ndarray, dtype: str) -> np.ndarray:
    """How far ``got`` is from ``want`` (long double) in units of the last place; infinite where the kind differs."""
    facts = FACTS[dtype]
    limit = Wide(facts.max)
    with np.errstate(all="ignore"):
        mine = got.astype(Wide)
        exponent = np.floor(np.log2(np.maximum(np.abs(expected), Wide(facts.min_normal))))
        distance = np.abs(mine - expected) / np.exp2(exponent - facts.significand)
        over = np.abs(expected) > limit
        reached = np.where(np.isinf(mine), 0, np.where(np.abs(mine) == limit, 1, np.inf))
        distance = np.where(over, np.where(np.sign(mine) == np.sign(expected), reached, np.inf), distance)
    distance = np.where((np.isnan(mine) & np.isnan(expected)) | (mine == expected), 0, distance)
    return np.where(np.isnan(distance), np.inf, distance)


def recorded(
    record_property, name: str, dtype: str, got: np.ndarray, expected: np.ndarray, used: np.ndarray | bool = True
) -> np.ndarray:
    """The units of each result; the most of those that are normal numbers goes into the report. used: which count."""
    far = units(got, expected, dtype)
    with np.errstate(invalid="ignore"):
        counted = np.isfinite(far) & (np.abs(expected) >= FACTS[dtype].min_normal) & used
    if (name, dtype) != ("erf", "float64"):  # whose reference is of float64 itself
        most = float(far[counted].max(initial=0))
        record_property(MEASURED, [UNITS, name, dtype, float(f"{most:.2g}")])
    return far


def roughly(got: np.ndarray, expected: np.ndarray, x: np.ndarray, dtype: str, name: str) -> np.ndarray:
    """How far off in what hardware with functions of its own is allowed: 1e-5 of the value, 2e-6 of the largest one (of
    sin and cos more for large arguments), and a unit of the type. Numbers below the least normal one may be 0."""
    facts = FACTS[dtype]
    with np.errstate(all="ignore"):
        rounded = expected.astype(element(dtype)).astype(Wide)
        mine, size = got.astype(Wide), np.abs(x.astype(Wide))
        bound = np.abs(rounded) * (1e-5 + 2.0**-facts.significand) + facts.min_normal
        if name in ("sin", "cos"):
            bound = bound + 2e-6 * np.maximum(1, size)
        elif name not in ("floor", "ceil", "trunc", "round", "nearbyint", "abs"):
            bound = bound + 2e-6
        distance = np.abs(mine - rounded) / bound
    same = (mine == rounded) | (np.isnan(mine) & np.isnan(rounded))
    edge = (np.abs(expected) > 0.999 * Wide(facts.max)) & (np.abs(mine) >= 0.999 * Wide(facts.max))
    vast = (size > 1e4) if name in ("sin", "cos") else np.zeros(len(x), bool)
    distance = np.where(same | (edge & (np.sign(mine) == np.sign(expected))) | vast, 0, distance)
    return np.where(np.isnan(distance), np.inf, distance)


def arguments(dtype: str) -> np.ndarray:
    """All values of a 16-bit type; of a wider one samples of all sizes, and the special ones."""
    facts = FACTS[dtype]
    if facts.bits == 16:
        return every_value(dtype)
    rng = np.random.default_rng(0)
    top, count = (88, 1500) if dtype == "float32" else (700, 1500)
    corners = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        -1,
        2,
        10,
        0.5,
        1e-45,
        -1e-45,
        facts.max,
        -facts.max,
        facts.min_normal,
    ]
    edges = [88.7, 88.8, -103, -104, 128, -149, -150, 38.5, 709.7, 710, -745, 2.5, 3.5, -0.5, 8388607.5]
    parts = [
        rng.uniform(-top, top, count),
        rng.uniform(-2, 2, count),
        rng.standard_normal(count) * 1e-3,
        2.0 ** rng.uniform(-120, 120, count) * rng.choice([-1, 1], count),
        rng.uniform(0.9, 1.1, count),
        np.array(corners + edges),
    ]
    with np.errstate(over="ignore"):
        return np.concatenate(parts).astype(element(dtype))


@pytest.mark.parametrize("serial", [False, True], ids=["vectors", "scalars"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_functions_of_one_argument(target, dtype, serial, record_property):
    x = arguments(dtype)
    if serial:
        x = x[:: 7 if len(x) > 8000 else 1].copy()
    n = len(x)

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((len(NAMES), n), dtype)):
        with T.Kernel(1):
            for number, name in enumerate(NAMES):
                for i in T.serial(n) if serial else T.Parallel(n):
                    Y[number, i] = getattr(T, name)(X[i])

    y = zeros(dtype, (len(NAMES), n))
    rough = has_feature(target, "approximate_math") and not serial and dtype != "float64"
    if rough and has_feature(target, "flushes_subnormals") and dtype != "float16":
        x = np.where(np.abs(x) < x.dtype.type(FACTS[dtype].min_normal), np.copysign(x.dtype.type(0), x), x)
    compiled(kernel, target)(x, y)
    wrong = []
    for number, (name, (reference, allowed)) in enumerate(UNARY.items()):
        with np.errstate(all="ignore"):
            expected = reference(x.astype(Wide))
            near = ~(np.abs(x.astype(Wide)) > 1e4) if rough and name in ("sin", "cos") else True
        far = recorded(record_property, name, dtype, y[number], expected, near)
        if rough:
            far, allowed = roughly(y[number], expected, x, dtype, name), 1
        at = int(np.argmax(far))
        if not far[at] <= allowed:
            wrong.append(f"{name}({x[at]}) = {y[number][at]}, not {expected[at]}: {far[at]:.3g} units")
    assert not wrong, "; ".join(wrong)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_functions_of_float8_are_rounded_once(target, dtype):
    x = np.arange(256, dtype=np.uint8).view(element(dtype))
    names = ["exp", "log2", "tanh", "sqrt", "sigmoid", "floor", "sin"]

    @T.prim_func
    def kernel(X: T.Tensor((256,), dtype), Y: T.Tensor((len(names), 256), dtype)):
        with T.Kernel(1):
            for number, name in enumerate(names):
                for i in T.Parallel(256):
                    Y[number, i] = getattr(T, name)(X[i])

    check(kernel, target, x, zeros(dtype, (len(names), 256)))


@pytest.mark.parametrize("serial", [False, True], ids=["vectors", "scalars"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_functions_of_two_arguments(target, dtype, serial, record_property):
    rng = np.random.default_rng(1)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -3])
    pairs = np.array([(a, b) for a in special for b in special]).T
    x = np.concatenate([rng.uniform(0, 20, 500), rng.standard_normal(500) * 10, pairs[0]]).astype(element(dtype))
    y = np.concatenate([rng.uniform(-9, 9, 500), rng.standard_normal(500), pairs[1]]).astype(element(dtype))
    n = len(x)
    references = {
        "pow": (np.power, 2),
        "atan2": (np.arctan2, 2),
        "fmod": (np.fmod, 0),
        "hypot": (np.hypot, 2),
        "copysign": (np.copysign, 0),
    }
    names = list(references)

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype), Z: T.Tensor((len(names), n), dtype)):
        with T.Kernel(1):
            for number, name in enumerate(names):
                for i in T.serial(n) if serial else T.Parallel(n):
                    Z[number, i] = getattr(T, name)(X[i], Y[i])

    z = zeros(dtype, (len(names), n))
    compiled(kernel, target)(x, y, z)
    wrong = []
    for number, (name, (reference, allowed)) in enumerate(references.items()):
        with np.errstate(all="ignore"):
            expected = reference(x.astype(Wide), y.astype(Wide))
        far = recorded(record_property, name, dtype, z[number], expected)
        at = int(np.argmax(far))
        if not far[at] <= allowed:
            wrong.append(f"{name}({x[at]}, {y[at]}) = {z[number][at]}, not {expected[at]}: {far[at]:.3g} units")
    assert not wrong, "; ".join(wrong)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_neighbours_powers_of_two_and_tests(target, dtype):
    x = every_value(dtype)[::5].copy()
    n = len(x)
    y = np.where(np.arange(n) % 3 == 0, np.inf, np.where(np.arange(n) % 3 == 1, -np.inf, 1.0)).astype(element(dtype))
    p = (np.arange(n) % 21 - 10).astype(np.int32)

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), dtype),
        Y: T.Tensor((n,), dtype),
        P: T.Tensor((n,), "int32"),
        Z: T.Tensor((4, n), dtype),
        B: T.Tensor((6, n), "bool"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Z[0, i] = T.nextafter(X[i], Y[i])
                Z[1, i] = T.ldexp(X[i], P[i])
                Z[2, i] = T.max(X[i], Y[i])
                Z[3, i] = T.min(Y[i], X[i])
                B[0, i] = T.isnan(X[i])
                B[1, i] = T.isinf(X[i])
                B[2, i] = T.isfinite(X[i])
                B[3, i] = X[i] < Y[i]
                B[4, i] = X[i] == X[i]
                B[5, i] = X[i] != X[i]

    *_, z, b = check(kernel, target, x, y, p, zeros(dtype, (4, n)), zeros("bool", (6, n)))
    if dtype != "bfloat16":
        with np.errstate(all="ignore"):
            same(z[0], np.nextafter(x, y))
    same(b[1], np.isinf(x.astype(np.float64)))


def test_functions_of_integers_are_those_of_float32(target):
    @T.prim_func
    def kernel(X: T.Tensor((9,), "int32"), Y: T.Tensor((3, 9), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(9):
                Y[0, i] = T.sqrt(X[i])
                Y[1, i] = T.exp(X[i]) + T.pow(X[i], 2)
                Y[2, i] = X[i] * 0.5

    check(
        kernel,
        target,
        np.arange(9, dtype=np.int32),
        zeros("float32", (3, 9)),
        compare=lambda a, b, label: np.testing.assert_allclose(a, b, rtol=1e-6),
    )


def test_fused_multiply_add_and_dot_product_of_bytes(target):
    n = 33

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), "float32"),
        B: T.Tensor((n,), "float32"),
        P: T.Tensor((n,), "int32"),
        Q: T.Tensor((n,), "int32"),
        Y: T.Tensor((n,), "float32"),
        Z: T.Tensor((n,), "int32"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = T.fma(A[i], B[i], 1.0)
                Z[i] = T.dp4a(P[i], Q[i], i)

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    p, q = rng.integers(-128, 128, (2, n, 4)).astype(np.int8)
    packed = [np.ascontiguousarray(v).view(np.int32).reshape(n) for v in (p, q)]
    y, z = zeros("float32", n), zeros("int32", n)
    compiled(kernel, target)(a, b, *packed, y, z)
    np.testing.assert_allclose(y, a.astype(np.float64) * b + 1, rtol=1e-6, atol=1e-7)
    same(z, (p.astype(np.int32) * q).sum(1).astype(np.int32) + np.arange(n, dtype=np.int32))


def test_dot_products_of_bytes_in_memory(target):
    """T.dp4a as a statement: it adds to an int32 in memory; what it is given says where the four int8 begin."""

    @T.prim_func
    def kernel(P: T.Tensor((8, 16), "int8"), Q: T.Tensor((8, 16), "int8"), Z: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            i = T.get_thread_binding()
            row, total = T.alloc_local((16,), "int8"), T.alloc_local((1,), "int32")
            total[0] = i
            for k in T.serial(16):
                row[k] = P[i, k]
            for k in T.serial(3):
                T.dp4a(row[k * 4], Q[i, k * 4], total[0])
            T.dp4a(row[12:16], Q[i, 12:16], total)
            Z[i] = total[0]

    p, q, z = check(kernel, target, *(sample("int8", (8, 16), seed) for seed in (0, 1)), zeros("int32", 8))
    same(z, (p.astype(np.int32) * q).sum(1).astype(np.int32) + np.arange(8, dtype=np.int32))
