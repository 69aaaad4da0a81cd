"""Cases of functions and of conversions between types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import erf

import ml_dtypes
import numpy as np
from tpu_case import EPS, FLOATS, SHAPES, SPECIAL, TYPES, Case, filled, flushed, rounded
from tpu_kernels import BF16, E4M3, E5M2, FP16, FP32, INT8, INT16, INT32, UINT8, UINT16

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
    for op, (function, low, high) in FUNCTIONS.items():
        for dt in FLOATS:
            # relative error of exp in 16 bits comes from the polynomial in that type; sums near 0 keep an absolute one
            ulps, least = (6, 6e-7) if dt == FP32 else (6, 6.2e-5 if op in ("exp", "exp_in_place") else 4 * EPS[dt])
            for shape in SHAPES[1:4]:
                x = filled(rng, shape, dt, low, high)
                expected = rounded(function(x.astype(np.float64)), dt).astype(np.float64)
                yield Case(
                    f"{op}-{TYPES[dt].__name__}-{shape}", op, [x, np.zeros_like(x)], [*shape, dt], {1: expected},
                    ulps=ulps, least=least, cmodel=(2 * ulps, 2 * least),
                )  # fmt: skip
            answers = SPECIAL_ANSWERS.get(op)
            if answers:
                x = rounded(np.array([float(v) for v in answers], np.float32).reshape(1, 1, 1, -1), dt)
                expected = np.array(list(answers.values()), np.float64).reshape(x.shape)
                yield Case(
                    f"{op}-{TYPES[dt].__name__}-special", op, [x, np.zeros_like(x)], [*x.shape, dt], {1: expected},
                    least=EPS[dt], cmodel=(2, 2 * EPS[dt]),
                )  # fmt: skip


def casts(rng: np.random.Generator) -> Iterator[Case]:
    values = np.concatenate([rng.uniform(-3, 3, 200), rng.uniform(-7e4, 7e4, 100), rng.uniform(-300, 300, 100),
                             SPECIAL, [448, 449, 464, 465, 57344, 61440, 65520, 1e6, -1e6, 2.5, 3.5, -2.5, 0.5],
                             [1.5]])  # fmt: skip
    values = values.astype(np.float32).reshape(1, 1, 1, -1)
    for dt in (FP16, BF16, E4M3, E5M2):
        largest = float(ml_dtypes.finfo(TYPES[dt]).max)
        expected = rounded(np.clip(flushed(values) if dt == BF16 else values, -largest, largest), dt)
        yield Case(f"cast-fp32-{dt}", "cast", [values, np.zeros(values.shape, TYPES[dt])],
                   [*values.shape, FP32, dt, 0], {1: expected})  # fmt: skip
        back = expected.astype(np.float32)
        yield Case(
            f"cast-{dt}-fp32", "cast", [expected, np.zeros_like(values)], [*values.shape, dt, FP32, 0], {1: back}
        )
    for dt in (INT8, UINT8, INT16, UINT16, INT32):
        facts = np.iinfo(TYPES[dt])
        for mode, rounding in enumerate((np.rint, None, np.trunc, np.floor, np.ceil)):
            with np.errstate(invalid="ignore"):
                x = values.astype(np.float64)
                whole = np.trunc(x + np.copysign(0.5, x)) if rounding is None else rounding(x)
                expected = np.clip(np.nan_to_num(whole, nan=0, posinf=1e30, neginf=-1e30), facts.min, facts.max)
            yield Case(f"cast-fp32-{dt}-mode{mode}", "cast", [values, np.zeros(values.shape, TYPES[dt])],
                       [*values.shape, FP32, dt, mode], {1: expected.astype(np.int64)})  # fmt: skip
    shape = (1, 70, 1, 45)
    for a, b in ((INT32, FP32), (INT8, FP16), (UINT8, FP32), (INT32, FP16), (INT16, BF16), (INT32, INT8), (INT8, INT32),
                 (UINT8, INT16), (INT16, UINT8)):  # fmt: skip
        x = filled(rng, shape, a)
        if b in FLOATS:
            expected = rounded(x.astype(np.float64), b)
        else:
            expected = np.clip(x.astype(np.int64), np.iinfo(TYPES[b]).min, np.iinfo(TYPES[b]).max)
        yield Case(f"cast-{a}-{b}", "cast", [x, np.zeros(shape, TYPES[b])], [*shape, a, b, 0], {1: expected})
