"""Cases of arithmetic, comparisons and shifts, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from tpu_case import FLOATS, INTEGERS, SHAPES, TYPES, Case, filled, flushed, rounded, specials
from tpu_kernels import BF16, FP16, FP32, INT8, INT16, INT32, UINT8, UINT32

ELEMENTWISE: dict[str, Callable] = {
    "fp_add": np.add, "fp_sub": np.subtract, "fp_mul": np.multiply, "fp_div": np.divide,
    "fp_diff_abs": lambda a, b: np.abs(a - b),
    "max": lambda a, b: np.where(a > b, a, b), "min": lambda a, b: np.where(a > b, b, a),
}  # fmt: skip


def binary(rng: np.random.Generator) -> Iterator[Case]:
    for op, numpy_op in ELEMENTWISE.items():
        # the CModel's division iterates
        loose = (4, 0) if op == "fp_div" else (0, 0)
        for dt in FLOATS:
            for shape in SHAPES:
                a, b = filled(rng, shape, dt), filled(rng, shape, dt)
                yield _two(f"{op}-{TYPES[dt].__name__}-{shape}", op, a, b, dt, numpy_op, loose)
            a, b = specials(dt)
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
            expected = np.clip(exact, facts.min, facts.max) if saturation else exact
            name = f"{op}-{dt}-{wide}-{'saturated' if saturation else 'cut'}"
            yield Case(
                name, op, [a, b, np.zeros(shape, TYPES[wide])], [*shape, dt, wide, 0, 0, 0, saturation],
                {2: expected.astype(TYPES[wide])},
            )  # fmt: skip
    for mode in range(7):
        a, b = filled(rng, shape, INT16), filled(rng, shape, INT16)
        expected = _shifted(a.astype(np.int64) + b, 3, mode).astype(np.int32)
        yield Case(
            f"int_add-rounding-{mode}", "int_add", [a, b, np.zeros(shape, np.int32)],
            [*shape, INT16, INT32, 0, -3, mode, 0], {2: expected},
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
            expected = numpy_op(a, b).astype(TYPES[out])
            name = f"{op}-{dt}-{out}"
            yield Case(name, op, [a, b, np.zeros(shape, TYPES[out])], [*shape, dt, out], {2: expected})
            expected = numpy_op(a, np.asarray(1).astype(TYPES[dt])).astype(TYPES[out])
            yield Case(
                f"{op}_C-{dt}-{out}",
                f"{op}_C",
                [a, np.zeros(shape, TYPES[out])],
                [*shape, dt, out, 1],
                {1: expected},
                [1.0],
            )
    for op in ("greater", "less", "equal"):
        for dt in FLOATS:
            a = rng.integers(-3, 4, shape).astype(np.float32).astype(TYPES[dt])
            b = rng.integers(-3, 4, shape).astype(np.float32).astype(TYPES[dt])
            expected = np.where(ops[op](a, b), a, np.asarray(-1).astype(TYPES[dt]))
            yield Case(
                f"{op}_select-{dt}", f"{op}_select", [a, b, np.zeros_like(a)], [*shape, dt], {2: expected}, [-1.0]
            )


def unary(rng: np.random.Generator) -> Iterator[Case]:
    for dt in FLOATS:
        for shape in SHAPES[1:3]:
            x = filled(rng, shape, dt)
            w = x.astype(np.float32)
            for op, expected, loose in (
                ("cpy", w, (0, 0)), ("abs", np.abs(w), (0, 0)), ("neg", -w, (0, 0)), ("relu", np.maximum(w, 0), (0, 0)),
                ("fp_square", w * w, (0, 0)), ("fp_floor", np.floor(w), (0, 0)), ("fp_ceil", np.ceil(w), (0, 0)),
                ("fp_reciprocal", 1 / w, (4, 0)),
            ):  # fmt: skip
                name = f"{op}-{TYPES[dt].__name__}-{shape}"
                yield Case(name, op, [x, np.zeros_like(x)], [*shape, dt], {1: rounded(expected, dt)}, cmodel=loose)
            for op, expected, loose in (
                ("fp_add_C", w + np.float32(1.25), (0, 0)), ("fp_sub_C", w - np.float32(1.25), (0, 0)),
                ("fp_C_sub", np.float32(1.25) - w, (0, 0)), ("fp_mul_C", w * np.float32(1.25), (0, 0)),
                ("fp_div_C", w / np.float32(1.25), (4, 0)), ("fp_C_div", np.float32(1.25) / w, (4, 0)),
                ("max_C", np.maximum(w, 1.25), (0, 0)), ("min_C", np.minimum(w, 1.25), (0, 0)),
                ("fp_diff_abs_C", np.abs(w - np.float32(1.25)), (0, 0)),
            ):  # fmt: skip
                name = f"{op}-{TYPES[dt].__name__}-{shape}"
                yield Case(
                    name, op, [x, np.zeros_like(x)], [*shape, dt], {1: rounded(expected, dt)}, [1.25], cmodel=loose
                )
        whole = np.arange(-20, 21).astype(np.float32).reshape(1, 1, 1, -1) / 4
        ways = (np.rint, lambda v: np.trunc(v + np.copysign(0.5, v)), np.trunc, np.floor, np.ceil)
        for mode, function in enumerate(ways):
            x = rounded(whole, dt)
            yield Case(
                f"round-{TYPES[dt].__name__}-{mode}", "round", [x, np.zeros_like(x)], [*x.shape, dt, 0, mode],
                {1: rounded(function(whole), dt)},
            )  # fmt: skip


def shifts(rng: np.random.Generator) -> Iterator[Case]:
    shape = (1, 70, 1, 45)
    for dt, mode in ((INT32, 3), (INT16, 3), (INT8, 3), (UINT32, 3), (UINT8, 3), (INT32, 0), (INT32, 2)):
        x, by = filled(rng, shape, dt), rng.integers(-7, 1, shape).astype(np.int8)
        kind, arithmetic = TYPES[dt], int(dt in (INT32, INT16, INT8))  # a logical shift is of unsigned types
        expected = np.zeros(shape, np.int64)
        for bits in range(8):
            expected = np.where(by == -bits, _shifted(x.astype(np.int64), bits, mode), expected)
        yield Case(f"shift-{dt}-{mode}", "shift", [x, by, np.zeros(shape, kind)],
                   [*shape, dt, dt, mode, arithmetic], {2: expected.astype(kind)})  # fmt: skip
        expected = (x.astype(np.int64) << 2).astype(kind)
        yield Case(f"shift_C-{dt}-{mode}", "shift_C", [x, np.zeros(shape, kind)],
                   [*shape, dt, dt, 3, arithmetic, 2], {1: expected})  # fmt: skip
        yield Case(f"not-{dt}-{mode}", "not", [x, np.zeros(shape, kind)], [*shape, dt], {1: ~x})
