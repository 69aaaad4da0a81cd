"""Launches of the kernels in tpu_kernels.py, with what they should give by numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import erf
from typing import Any

import ml_dtypes
import numpy as np
from tpu_kernels import BF16, E4M3, E5M2, FP16, FP32, INT8, INT16, INT32, UINT8, UINT16, UINT32

TYPES: dict[int, Any] = {
    FP32: np.float32, FP16: np.float16, BF16: ml_dtypes.bfloat16, E4M3: ml_dtypes.float8_e4m3fn,
    E5M2: ml_dtypes.float8_e5m2, INT8: np.int8, UINT8: np.uint8, INT16: np.int16, UINT16: np.uint16, INT32: np.int32,
    UINT32: np.uint32,
}  # fmt: skip
FLOATS = (FP32, FP16, BF16)
INTEGERS = (INT8, UINT8, INT16, UINT16, INT32, UINT32)
SHAPES = ((1, 1, 1, 1), (1, 70, 1, 45), (2, 3, 5, 7), (1, 130, 2, 33), (3, 64, 1, 16))
_EPS = {FP32: 2.0**-23, FP16: 2.0**-10, BF16: 2.0**-7, E4M3: 2.0**-3, E5M2: 2.0**-2}


@dataclass(frozen=True)
class Case:
    """One launch. arrays: g[0..], in and out. expected: {place in arrays: what it should hold}, as numbers.

    ulps: how far from ``expected`` the simulator may be, in units of the type's last place (0: bit equal, NaN equal to
    NaN); least: absolute error that is always allowed. cmodel: the same two between the simulator and the CModel.
    blocks: work items.
    """

    name: str
    entry: str
    arrays: list[np.ndarray]
    p: Sequence[int]
    expected: dict[int, np.ndarray]
    f: Sequence[float] = ()
    ulps: float = 0
    least: float = 0
    cmodel: tuple[float, float] = (0, 0)
    blocks: int = 1


def agree(found: np.ndarray, expected: np.ndarray, ulps: float, least: float) -> str:
    """Empty when they do, else where they differ most."""
    if found.dtype.kind in "iu":
        bad = found.astype(np.int64) != np.asarray(expected).astype(np.int64)
        error = np.abs(found.astype(float) - np.asarray(expected, float))
    else:
        code = next(c for c, t in TYPES.items() if found.dtype == t)
        got, want = found.astype(np.float64), np.asarray(expected, np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(got - want)
            allowed = np.maximum(ulps * _EPS[code] * np.maximum(np.abs(want), np.finfo(np.float32).tiny), least)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            bad = ~(same | (error <= allowed))
    if not bad.any():
        return ""
    at = int(np.argmax(np.where(bad.ravel(), np.nan_to_num(error.ravel(), nan=1e300), -1)))
    return (
        f"{int(bad.sum())} of {bad.size} differ, element {at}: {found.ravel()[at]} instead of "
        f"{np.asarray(expected).ravel()[at]}"
    )


def filled(rng: np.random.Generator, shape: Sequence[int], dt: int, low: float = -3, high: float = 3) -> np.ndarray:
    kind = TYPES[dt]
    if np.dtype(kind).kind in "iu":
        facts = np.iinfo(kind)
        return rng.integers(facts.min, facts.max, shape, endpoint=True).astype(kind)
    return rng.uniform(low, high, shape).astype(np.float32).astype(kind)


def flushed(values: np.ndarray) -> np.ndarray:
    """Without the subnormal numbers of fp32."""
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.float32(0), values)


def rounded(values: np.ndarray, dt: int) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(TYPES[dt])


ELEMENTWISE: dict[str, Callable] = {
    "fp_add": np.add, "fp_sub": np.subtract, "fp_mul": np.multiply, "fp_div": np.divide,
    "fp_diff_abs": lambda a, b: np.abs(a - b),
    "max": lambda a, b: np.where(a > b, a, b), "min": lambda a, b: np.where(a > b, b, a),
}  # fmt: skip
SPECIAL = np.array(
    [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 65504, -65504, 6e-5, 3e-5, 6e-8, 3e38, -3e38, 1e-40, 1e-38, 0.1, 2049],
    np.float32,
)


def _specials(dt: int) -> tuple[np.ndarray, np.ndarray]:
    values = rounded(SPECIAL, dt)
    a, b = np.meshgrid(values, values)
    return (np.ascontiguousarray(v.reshape(1, 1, 1, -1)) for v in (a, b))


def binary(rng: np.random.Generator) -> Iterator[Case]:
    for op, numpy_op in ELEMENTWISE.items():
        # the CModel's division iterates
        loose = (4, 0) if op == "fp_div" else (0, 0)
        for dt in FLOATS:
            for shape in SHAPES:
                a, b = filled(rng, shape, dt), filled(rng, shape, dt)
                yield _two(f"{op}-{TYPES[dt].__name__}-{shape}", op, a, b, dt, numpy_op, loose)
            a, b = _specials(dt)
            if op != "fp_div":
                yield _two(f"{op}-{TYPES[dt].__name__}-special", op, a, b, dt, numpy_op, loose)


def _two(name, op, a, b, dt, numpy_op, loose) -> Case:
    with np.errstate(all="ignore"):
        wide = flushed(numpy_op(flushed(a.astype(np.float32)), flushed(b.astype(np.float32))))
    out = np.zeros_like(a)
    return Case(name, op, [a, b, out], [*a.shape, dt], {2: rounded(wide, dt)}, cmodel=loose)


def integers(rng: np.random.Generator) -> Iterator[Case]:
    shape = (1, 70, 1, 45)
    for op, numpy_op in {"max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
                         "xor": np.bitwise_xor}.items():  # fmt: skip
        for dt in INTEGERS:
            a, b = filled(rng, shape, dt), filled(rng, shape, dt)
            yield Case(f"{op}-{dt}", op, [a, b, np.zeros_like(a)], [*shape, dt], {2: numpy_op(a, b)})
    for op, numpy_op in {"int_add": np.add, "int_sub": np.subtract, "int_mul": np.multiply}.items():
        for dt, wide, saturation in (
            (INT32, INT32, 0), (INT32, INT32, 1), (INT16, INT16, 1), (INT8, INT8, 1), (INT8, INT8, 0), (INT8, INT16, 1),
            (INT16, INT32, 0), (UINT8, UINT8, 1),
        ):  # fmt: skip
            if op == "int_sub" and wide == UINT8:
                continue
            a, b = filled(rng, shape, dt), filled(rng, shape, dt)
            if op == "int_mul" and dt == INT32:
                a, b = a // 40000, b // 40000
            exact = numpy_op(a.astype(np.int64), b.astype(np.int64))
            facts = np.iinfo(TYPES[wide])
            want = np.clip(exact, facts.min, facts.max) if saturation else exact
            name = f"{op}-{dt}-{wide}-{'saturated' if saturation else 'cut'}"
            yield Case(
                name, op, [a, b, np.zeros(shape, TYPES[wide])], [*shape, dt, wide, 0, 0, 0, saturation],
                {2: want.astype(TYPES[wide])},
            )  # fmt: skip
    for mode in range(7):
        a, b = filled(rng, shape, INT16), filled(rng, shape, INT16)
        want = _shifted(a.astype(np.int64) + b, 3, mode).astype(np.int32)
        yield Case(
            f"int_add-rounding-{mode}", "int_add", [a, b, np.zeros(shape, np.int32)],
            [*shape, INT16, INT32, 0, -3, mode, 0], {2: want},
        )  # fmt: skip


def _shifted(values: np.ndarray, bits: int, mode: int) -> np.ndarray:
    exact = values / 2.0**bits
    below = np.floor(exact)
    rest = exact - below
    up = {
        0: (rest > 0.5) | ((rest == 0.5) & (below % 2 == 1)), 1: (rest > 0.5) | ((rest == 0.5) & (exact >= 0)),
        2: (exact < 0) & (rest > 0), 3: rest < 0, 4: rest > 0, 5: rest >= 0.5, 6: rest > 0.5,
    }[mode]  # fmt: skip
    return (below + up).astype(np.int64)


def compares(rng: np.random.Generator) -> Iterator[Case]:
    shape = (1, 70, 2, 23)
    ops = {"greater": np.greater, "less": np.less, "equal": np.equal, "greater_equal": np.greater_equal,
           "less_equal": np.less_equal, "not_equal": np.not_equal}  # fmt: skip
    for op, numpy_op in ops.items():
        for dt, out in ((FP32, FP32), (FP16, FP16), (INT32, INT32), (FP32, UINT8), (INT8, INT8), (BF16, BF16)):
            a = rng.integers(-3, 4, shape).astype(np.float32).astype(TYPES[dt])
            b = rng.integers(-3, 4, shape).astype(np.float32).astype(TYPES[dt])
            want = numpy_op(a, b).astype(TYPES[out])
            name = f"{op}-{dt}-{out}"
            yield Case(name, op, [a, b, np.zeros(shape, TYPES[out])], [*shape, dt, out], {2: want})
            want = numpy_op(a, np.asarray(1).astype(TYPES[dt])).astype(TYPES[out])
            yield Case(
                f"{op}_C-{dt}-{out}",
                f"{op}_C",
                [a, np.zeros(shape, TYPES[out])],
                [*shape, dt, out, 1],
                {1: want},
                [1.0],
            )
    for op in ("greater", "less", "equal"):
        for dt in FLOATS:
            a = rng.integers(-3, 4, shape).astype(np.float32).astype(TYPES[dt])
            b = rng.integers(-3, 4, shape).astype(np.float32).astype(TYPES[dt])
            want = np.where(ops[op](a, b), a, np.asarray(-1).astype(TYPES[dt]))
            yield Case(f"{op}_select-{dt}", f"{op}_select", [a, b, np.zeros_like(a)], [*shape, dt], {2: want}, [-1.0])


def unary(rng: np.random.Generator) -> Iterator[Case]:
    for dt in FLOATS:
        for shape in SHAPES[1:3]:
            x = filled(rng, shape, dt)
            w = x.astype(np.float32)
            for op, want, loose in (
                ("cpy", w, (0, 0)), ("abs", np.abs(w), (0, 0)), ("neg", -w, (0, 0)), ("relu", np.maximum(w, 0), (0, 0)),
                ("fp_square", w * w, (0, 0)), ("fp_floor", np.floor(w), (0, 0)), ("fp_ceil", np.ceil(w), (0, 0)),
                ("fp_reciprocal", 1 / w, (4, 0)),
            ):  # fmt: skip
                name = f"{op}-{TYPES[dt].__name__}-{shape}"
                yield Case(name, op, [x, np.zeros_like(x)], [*shape, dt], {1: rounded(want, dt)}, cmodel=loose)
            for op, want, loose in (
                ("fp_add_C", w + np.float32(1.25), (0, 0)), ("fp_sub_C", w - np.float32(1.25), (0, 0)),
                ("fp_C_sub", np.float32(1.25) - w, (0, 0)), ("fp_mul_C", w * np.float32(1.25), (0, 0)),
                ("fp_div_C", w / np.float32(1.25), (4, 0)), ("fp_C_div", np.float32(1.25) / w, (4, 0)),
                ("max_C", np.maximum(w, 1.25), (0, 0)), ("min_C", np.minimum(w, 1.25), (0, 0)),
                ("fp_diff_abs_C", np.abs(w - np.float32(1.25)), (0, 0)),
            ):  # fmt: skip
                name = f"{op}-{TYPES[dt].__name__}-{shape}"
                yield Case(name, op, [x, np.zeros_like(x)], [*shape, dt], {1: rounded(want, dt)}, [1.25], cmodel=loose)
        whole = np.arange(-20, 21).astype(np.float32).reshape(1, 1, 1, -1) / 4
        ways = (np.rint, lambda v: np.trunc(v + np.copysign(0.5, v)), np.trunc, np.floor, np.ceil)
        for mode, way in enumerate(ways):
            x = rounded(whole, dt)
            yield Case(
                f"round-{TYPES[dt].__name__}-{mode}", "round", [x, np.zeros_like(x)], [*x.shape, dt, 0, mode],
                {1: rounded(way(whole), dt)},
            )  # fmt: skip


FUNCTIONS: dict[str, tuple[Callable, float, float]] = {
    "exp": (np.exp, -12, 8), "exp_in_place": (np.exp, -12, 8), "expm1": (lambda x: np.exp(x) - 1, -4, 4),
    "log": (np.log, 1e-3, 50), "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -9, 9),
    "silu": (lambda x: x / (1 + np.exp(-x)), -9, 9), "tanh": (np.tanh, -5, 5), "erf": (np.vectorize(erf), -3, 3),
    "gelu": (lambda x: 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2))), -5, 5), "sin": (np.sin, -3, 3),
    "cos": (np.cos, -3, 3), "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 50), "sqrt": (np.sqrt, 1e-3, 50),
}  # fmt: skip
# where x is special the chip's composition shows; these are its answers, to be met by simulator and CModel
SPECIAL_ANSWERS = {
    "exp": {"-inf": 0, "nan": 0, "inf": np.inf, "-1000": 0}, "sigmoid": {"-inf": 0, "inf": 1, "nan": 1},
    "silu": {"-inf": np.nan, "nan": np.nan}, "tanh": {"nan": -1, "-inf": -1, "inf": 1},
    "rsqrt": {"0": np.inf, "-1": np.nan, "inf": 0}, "sqrt": {"0": 0, "inf": np.nan, "-1": np.nan},
    "sin": {"inf": np.nan}, "gelu": {"-inf": np.nan}, "erf": {"-inf": -1, "inf": 1, "nan": np.nan},
}  # fmt: skip


def functions(rng: np.random.Generator) -> Iterator[Case]:
    for op, (way, low, high) in FUNCTIONS.items():
        for dt in FLOATS:
            # relative error of exp in 16 bits comes from the polynomial in that type; sums near 0 keep an absolute one
            ulps, least = (6, 6e-7) if dt == FP32 else (6, 6.2e-5 if op in ("exp", "exp_in_place") else 4 * _EPS[dt])
            for shape in SHAPES[1:4]:
                x = filled(rng, shape, dt, low, high)
                want = rounded(way(x.astype(np.float64)), dt).astype(np.float64)
                yield Case(
                    f"{op}-{TYPES[dt].__name__}-{shape}", op, [x, np.zeros_like(x)], [*shape, dt], {1: want},
                    ulps=ulps, least=least, cmodel=(2 * ulps, 2 * least),
                )  # fmt: skip
            answers = SPECIAL_ANSWERS.get(op)
            if answers:
                x = rounded(np.array([float(v) for v in answers], np.float32).reshape(1, 1, 1, -1), dt)
                want = np.array(list(answers.values()), np.float64).reshape(x.shape)
                yield Case(
                    f"{op}-{TYPES[dt].__name__}-special", op, [x, np.zeros_like(x)], [*x.shape, dt], {1: want},
                    least=_EPS[dt], cmodel=(2, 2 * _EPS[dt]),
                )  # fmt: skip


def casts(rng: np.random.Generator) -> Iterator[Case]:
    values = np.concatenate([rng.uniform(-3, 3, 200), rng.uniform(-7e4, 7e4, 100), rng.uniform(-300, 300, 100),
                             SPECIAL, [448, 449, 464, 465, 57344, 61440, 65520, 1e6, -1e6, 2.5, 3.5, -2.5, 0.5],
                             [1.5]])  # fmt: skip
    values = values.astype(np.float32).reshape(1, 1, 1, -1)
    for dt in (FP16, BF16, E4M3, E5M2):
        largest = float(ml_dtypes.finfo(TYPES[dt]).max)
        want = rounded(np.clip(flushed(values) if dt == BF16 else values, -largest, largest), dt)
        yield Case(f"cast-fp32-{dt}", "cast", [values, np.zeros(values.shape, TYPES[dt])],
                   [*values.shape, FP32, dt, 0], {1: want})  # fmt: skip
        back = want.astype(np.float32)
        yield Case(f"cast-{dt}-fp32", "cast", [want, np.zeros_like(values)], [*values.shape, dt, FP32, 0], {1: back})
    for dt in (INT8, UINT8, INT16, UINT16, INT32):
        facts = np.iinfo(TYPES[dt])
        for mode, way in enumerate((np.rint, None, np.trunc, np.floor, np.ceil)):
            with np.errstate(invalid="ignore"):
                x = values.astype(np.float64)
                whole = np.trunc(x + np.copysign(0.5, x)) if way is None else way(x)
                want = np.clip(np.nan_to_num(whole, nan=0, posinf=1e30, neginf=-1e30), facts.min, facts.max)
            yield Case(f"cast-fp32-{dt}-mode{mode}", "cast", [values, np.zeros(values.shape, TYPES[dt])],
                       [*values.shape, FP32, dt, mode], {1: want.astype(np.int64)})  # fmt: skip
    shape = (1, 70, 1, 45)
    for a, b in ((INT32, FP32), (INT8, FP16), (UINT8, FP32), (INT32, FP16), (INT16, BF16), (INT32, INT8), (INT8, INT32),
                 (UINT8, INT16), (INT16, UINT8)):  # fmt: skip
        x = filled(rng, shape, a)
        if b in FLOATS:
            want = rounded(x.astype(np.float64), b)
        else:
            want = np.clip(x.astype(np.int64), np.iinfo(TYPES[b]).min, np.iinfo(TYPES[b]).max)
        yield Case(f"cast-{a}-{b}", "cast", [x, np.zeros(shape, TYPES[b])], [*shape, a, b, 0], {1: want})


def moves(rng: np.random.Generator) -> Iterator[Case]:
    for dt in (FP32, FP16, INT8):
        for shape in ((1, 33, 1, 70), (1, 70, 1, 33), (2, 16, 3, 16)):
            x = filled(rng, shape, dt)
            t = np.ascontiguousarray(x.transpose(0, 3, 2, 1))
            # the tensor unit's c-w transpose has another layout where h > 1
            for entry in ("cw_trans", "wc_trans", "gdma_cw_S2L", "gdma_cw_L2S")[shape[2] > 1 :]:
                yield Case(f"{entry}-{dt}-{shape}", entry, [x, np.zeros_like(t)], [*shape, dt], {1: t})
            t = np.ascontiguousarray(x.transpose(1, 0, 2, 3))
            for entry in ("gdma_nc_S2L", "gdma_nc_L2L"):
                yield Case(f"{entry}-{dt}-{shape}", entry, [x, np.zeros_like(t)], [*shape, dt], {1: t})
    for dt in (FP32, FP16):
        for shape in ((1, 130, 1, 40), (1, 20, 1, 17)):
            x = filled(rng, shape, dt)
            for first, count in ((0, 7), (5, 8), (13, 7)):
                want = np.ascontiguousarray(x[:, first : first + count])
                yield Case(f"rows-{dt}-{shape}-{first}", "rows", [x, np.zeros_like(want)],
                           [*shape, dt, 0, first, count], {1: want})  # fmt: skip
                yield Case(f"cross_npu-{dt}-{shape}-{first}", "cross_npu", [x, np.zeros_like(want)],
                           [*shape, dt, 0, first, count], {1: want})  # fmt: skip
        shape = (2, 70, 3, 10)
        x = filled(rng, shape, dt)
        w = x.astype(np.float32)
        yield Case(f"compact-{dt}", "compact", [x, np.zeros_like(x)], [*shape, dt], {1: rounded(w + w, dt)})
        yield Case(f"line_aligned-{dt}", "line_aligned", [x, np.zeros_like(x)], [*shape, dt], {1: rounded(w * w, dt)})
        yield Case(f"s2s-{dt}", "s2s", [x, np.zeros_like(x)], [*shape, dt], {1: x})
        want = rounded(w[..., 0::2] + w[..., 1::2], dt)
        yield Case(f"even_odd-{dt}", "even_odd", [x, np.zeros_like(want)], [*shape, dt], {1: want})
        half = np.full(shape, 1.25, TYPES[dt])
        line = np.full(1000, 1.25, TYPES[dt])
        yield Case(f"fills-{dt}", "fills", [np.zeros_like(x), np.zeros_like(x), line * 0, line * 0],
                   [*shape, dt, 0, 1000], {0: half, 1: half, 2: line, 3: line}, [1.25])  # fmt: skip
        big = filled(rng, (8, 90, 50), dt)
        shape = (4, 45, 1, 13)
        want = np.ascontiguousarray(big[1::2, 0::2, 0:39:3]).reshape(shape)
        yield Case(f"strided_dma-{dt}", "strided_dma", [big[1:].copy(), np.zeros(shape, TYPES[dt])],
                   [*shape, dt, 0, 2 * 90 * 50, 2 * 50, 0, 3], {1: want})  # fmt: skip
        for shape in ((1, 70, 1, 45), (1, 40, 1, 16), (1, 130, 1, 7)):
            x, m, r = filled(rng, shape, dt), filled(rng, (shape[1], 1), dt), filled(rng, (1, shape[3]), dt)
            w, out = x.astype(np.float32), np.zeros_like(x)
            column = m.astype(np.float32).reshape(1, -1, 1, 1)
            yield Case(f"row_bcast-{dt}-{shape}", "row_bcast", [x, m, out], [*shape, dt], {2: rounded(w * column, dt)})
            row = rounded(w + r.astype(np.float32), dt)
            yield Case(f"column_bcast-{dt}-{shape}", "column_bcast", [x, r, out], [*shape, dt], {2: row})
            yield Case(f"dma_bcast-{dt}-{shape}", "dma_bcast", [x, r, out], [*shape, dt], {2: row})


def products(rng: np.random.Generator) -> Iterator[Case]:
    for m, k, n in ((16, 16, 16), (65, 33, 17), (130, 100, 70), (1, 64, 64), (128, 512, 64)):
        for dt in (FP16, BF16):
            a, b = filled(rng, (m, k), dt, -0.5, 0.5), filled(rng, (k, n), dt, -0.5, 0.5)
            exact = a.astype(np.float64) @ b.astype(np.float64)
            at, bt = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
            c = filled(rng, (m, n), FP32)
            ct = np.ascontiguousarray(c.T)
            whole = [0, 0, 0, 0, dt, FP32, m, k, n]
            yield _mm(f"mm-{dt}-{m}-{k}-{n}", "mm", [a, b, c], [*whole, 1], exact + c, k)
            yield _mm(f"mm_R_trans-{dt}-{m}-{k}-{n}", "mm_R_trans", [a, bt, c * 0], whole, exact, k)
            yield _mm(f"mm_R_trans_add-{dt}-{m}-{k}-{n}", "mm_R_trans_add", [a, bt, c], [*whole, 0], exact + c, k)
            yield _mm(f"mm_all_trans-{dt}-{m}-{k}-{n}", "mm_all_trans", [at, bt, ct], [*whole, 1], exact.T + ct, k)
            short = [*whole[:5], dt, *whole[6:], 0]
            want = rounded(exact, dt).astype(np.float64)
            yield Case(f"mm-{dt}-short-{m}-{k}-{n}", "mm", [a, b, np.zeros((m, n), TYPES[dt])], short, {2: want},
                       ulps=1, least=1e-3, cmodel=(1, 1e-3))  # fmt: skip
    yield _mm("relu", "mm_R_trans_add", [a, bt, c], [*whole, 1], np.maximum(exact + c, 0), k)
    m, k, n = 33, 50, 20
    for left, right in ((E4M3, E4M3), (E5M2, E5M2), (E4M3, E5M2)):
        a, b, c = filled(rng, (m, k), left), filled(rng, (k, n), right), filled(rng, (m, n), FP32)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        whole = [0, 0, 0, 0, left, FP32, m, k, n, 1, right]
        yield _mm(f"fp8_mm-{left}-{right}", "fp8_mm", [a, b, c], whole, exact + c, k)
        yield _mm(f"fp8_mm_R_trans-{left}-{right}", "fp8_mm_R_trans", [a, np.ascontiguousarray(b.T), c], whole,
                  exact + c, k)  # fmt: skip
    for parts in ((16, 16), (64, 48), (7, 5)):
        for add in (0, 1):
            a, b, c = filled(rng, (m, k), FP32), filled(rng, (k, n), FP32), filled(rng, (m, n), FP32)
            exact = a.astype(np.float64) @ b.astype(np.float64) + add * c
            yield _mm(f"fp32_mm-{parts}-{add}", "fp32_mm", [a, b, c], [0, 0, 0, 0, FP32, FP32, m, k, n, add, *parts],
                      exact, k)  # fmt: skip
    for left, right, zero in ((INT8, INT8, 0), (UINT8, UINT8, 130), (INT8, INT8, -5)):
        a, b, c = filled(rng, (m, k), left), filled(rng, (k, n), right), np.zeros((m, n), np.int32)
        want = a.astype(np.int64) @ (b.astype(np.int64) - zero)
        yield Case(f"int8_mm-{left}-{right}-{zero}", "int8_mm", [a, b, c],
                   [0, 0, 0, 0, left, right, m, k, n, 0, zero], {2: want})  # fmt: skip


def _mm(name, entry, arrays, p, want, depth) -> Case:
    return Case(name, entry, arrays, p, {2: want}, ulps=8, least=2e-6 * depth, cmodel=(8, 2e-6 * depth))


def reductions(rng: np.random.Generator) -> Iterator[Case]:
    for dt in FLOATS:
        for width in (1, 15, 16, 17, 45, 64, 300):
            x = filled(rng, (1, 70, 1, width), dt)
            shape, out = [*x.shape, dt], np.zeros((70, 1), TYPES[dt])
            w = x.astype(np.float64)[0, :, 0]
            largest, least = (way(1, keepdims=True) for way in (w.max, w.min))
            yield Case(f"max_pool-{dt}-{width}", "max_pool", [x, out], [*shape, 0, 1, width], {1: largest})
            yield Case(f"min_pool-{dt}-{width}", "min_pool", [x, out], [*shape, 0, 1, width], {1: least})
            wide = [*x.shape, dt, FP32, 1, width]
            yield Case(f"avg_pool_ex-{dt}-{width}", "avg_pool_ex", [x, np.zeros((70, 1), np.float32)], wide,
                       {1: w.sum(1, keepdims=True)}, [1.0], ulps=8, least=1e-6 * width,
                       cmodel=(8, 1e-6 * width))  # fmt: skip
            sums = [np.zeros((70, 1), np.float32), np.zeros((70, 1), np.float32)]
            for i in range(width):
                sums[i % 2] = rounded(sums[i % 2] + w[:, i : i + 1].astype(np.float32), dt).astype(np.float32)
            step = rounded(sums[0] + sums[1], dt)
            yield Case(f"avg_pool-{dt}-{width}", "avg_pool", [x, out], [*shape, 0, 1, width], {1: step}, [1.0],
                       cmodel=(0, 1e-6 * width if dt == FP32 else 0))  # fmt: skip
        x = filled(rng, (2, 70, 9, 14), dt)
        w = x.astype(np.float64)
        yield Case(f"max_pool-{dt}-h", "max_pool", [x, np.zeros((2, 70, 1, 14), TYPES[dt])],
                   [*x.shape, dt, 0, 9, 1], {1: w.max(2, keepdims=True)})  # fmt: skip
    ones = np.ones((1, 64, 1, 5000), np.float16)
    yield Case("avg_pool-half-sticks", "avg_pool", [ones, np.zeros((64, 1), np.float16)],
               [*ones.shape, FP16, 0, 1, 5000], {1: np.full((64, 1), 4096.0)}, [1.0])  # fmt: skip


def indices(rng: np.random.Generator) -> Iterator[Case]:
    for dt in (FP32, FP16):
        table, picks = filled(rng, (20, 33), dt), rng.integers(0, 20, 7).astype(np.uint32)
        picks[2] = 99
        want = np.stack([table[i] if i < 20 else np.full(33, 7, TYPES[dt]) for i in picks])
        for entry in ("h_gather_S2S", "h_gather_S2L"):
            yield Case(f"{entry}-{dt}", entry, [table, picks, np.zeros((7, 33), TYPES[dt])],
                       [1, 1, 7, 33, dt, 0, 20], {2: want}, [7.0])  # fmt: skip
        places = rng.permutation(20)[:7].astype(np.uint32)
        out = np.zeros((20, 33), TYPES[dt])
        want = out.copy()
        want[places] = table[:7]
        yield Case(
            f"h_scatter-{dt}", "h_scatter_S2S", [table[:7].copy(), places, out], [1, 1, 20, 33, dt, 0, 7], {2: want}
        )
        for index in (UINT8, UINT16):
            t, i = filled(rng, (70, 50), dt), rng.integers(0, 50, (2, 70, 1, 20)).astype(TYPES[index])
            want = np.stack([np.take_along_axis(t, i[n, :, 0].astype(np.int64), 1) for n in range(2)])[:, :, None]
            yield Case(f"batch_w_gather-{dt}-{index}", "batch_w_gather", [t, i, np.zeros((2, 70, 1, 20), TYPES[dt])],
                       [2, 70, 1, 20, dt, index, 50], {2: want})  # fmt: skip
            t, i = filled(rng, (70, 12, 9), dt), rng.integers(0, 12, (2, 70, 5, 1)).astype(TYPES[index])
            want = np.stack([np.take_along_axis(t, i[n].astype(np.int64), 1) for n in range(2)])
            yield Case(f"batch_h_gather-{dt}-{index}", "batch_h_gather", [t, i, np.zeros((2, 70, 5, 9), TYPES[dt])],
                       [2, 70, 5, 9, dt, index, 12], {2: want})  # fmt: skip
    for start, step, count in ((3, 2, 8), (-7, -1, 100), (0, 1, 70)):
        row = start + step * np.arange(count, dtype=np.int32)
        yield Case(f"iota_bcast-{start}", "iota_bcast", [np.zeros((64, count), np.int32)], [1, 1, 1, 1, INT32, 0, start,
                   step, count], {0: np.broadcast_to(row, (64, count))})  # fmt: skip
        yield Case(f"iota_distribute-{start}", "iota_distribute", [np.zeros(count, np.int32)],
                   [1, 1, 1, 1, INT32, 0, start, step, count], {0: row})  # fmt: skip
    x = rng.integers(-50, 50, 257)
    for dt, k, down in ((FP32, 11, 1), (INT32, 257, 0), (FP32, 257, 1)):
        order = np.argsort(-x if down else x, kind="stable")[:k]
        v = x.astype(TYPES[dt])
        yield Case(f"sort-{dt}-{k}-{down}", "sort", [v, np.zeros(k, v.dtype), np.zeros(k, np.int32)],
                   [1, 1, 1, 1, dt, 0, 257, k, down], {1: v[order], 2: order})  # fmt: skip


def shifts(rng: np.random.Generator) -> Iterator[Case]:
    shape = (1, 70, 1, 45)
    for dt, mode in ((INT32, 3), (INT16, 3), (INT8, 3), (UINT32, 3), (UINT8, 3), (INT32, 0), (INT32, 2)):
        x, by = filled(rng, shape, dt), rng.integers(-7, 1, shape).astype(np.int8)
        kind, arithmetic = TYPES[dt], int(dt in (INT32, INT16, INT8))  # a logical shift is of unsigned types
        want = np.zeros(shape, np.int64)
        for bits in range(8):
            want = np.where(by == -bits, _shifted(x.astype(np.int64), bits, mode), want)
        yield Case(f"shift-{dt}-{mode}", "shift", [x, by, np.zeros(shape, kind)],
                   [*shape, dt, dt, mode, arithmetic], {2: want.astype(kind)})  # fmt: skip
        want = (x.astype(np.int64) << 2).astype(kind)
        yield Case(f"shift_C-{dt}-{mode}", "shift_C", [x, np.zeros(shape, kind)],
                   [*shape, dt, dt, 3, arithmetic, 2], {1: want})  # fmt: skip
        yield Case(f"not-{dt}-{mode}", "not", [x, np.zeros(shape, kind)], [*shape, dt], {1: ~x})


def programs(rng: np.random.Generator) -> Iterator[Case]:
    for blocks in (1, 2):
        out = np.zeros((blocks, 16), np.int32)
        want = np.broadcast_to(100 * blocks + np.arange(blocks)[:, None], out.shape)
        yield Case(f"cores-{blocks}", "cores", [out], [1, 1, 1, 16], {0: want}, blocks=blocks)
    x = filled(rng, (5 * 64, 100), FP16)
    want = rounded(x.astype(np.float32) + 1, FP16)
    yield Case("pipeline", "pipeline", [x, np.zeros_like(x)], [1, 64, 1, 100, FP16, 0, 5], {1: want})


FAMILIES = (
    binary, integers, compares, unary, functions, casts, moves, products, reductions, indices, shifts, programs,
)  # fmt: skip


def family(make: Callable) -> list[Case]:
    return list(make(np.random.default_rng(7)))
