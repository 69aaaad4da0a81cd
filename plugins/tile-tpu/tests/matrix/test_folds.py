"""Reductions of every kind along every axis, and scans, of every element type and of odd shapes."""

from __future__ import annotations

import numpy as np
import pytest
from operations import DTYPES, FLOATS
from samples import element, sample

import tilecore
import tilecore.language as T
from tilecore.dtypes import FACTS
from tilecore.interpreter import interpret

pytestmark = pytest.mark.rotated

SHAPES = ((1, 1), (65, 17), (1, 70), (2, 5, 31), (33,))
KINDS = ("sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")
CASES = [(shape, axis, True) for shape in SHAPES for axis in range(len(shape))]
CASES += [((65, 17), 0, False), ((65, 17), 1, False), ((1, 70), 1, False)]


def kinds_of(dtype: str) -> tuple[str, ...]:
    if dtype == "bool":
        return KINDS[5:]
    return KINDS[:5] if dtype in FLOATS else KINDS


def rest_of(shape: tuple, axis: int) -> tuple:
    return shape[:axis] + shape[axis + 1 :] or (1,)


def part(buffer, *front, shape):
    """The first elements along the last axes."""
    middle = (0,) * (len(buffer.shape) - len(front) - len(shape))
    return buffer[(*front, *middle, *(slice(0, size) for size in shape))]


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(backend, dtype):
    kinds = kinds_of(dtype)

    @T.prim_func
    def kernel(X: T.Tensor((2, 65, 70), dtype), Y: T.Tensor((len(kinds), len(CASES), 65, 70), dtype)):
        with T.Kernel(1):
            tiles = {shape: T.alloc_shared(shape, dtype) for shape in SHAPES}
            for shape in SHAPES:
                T.copy(part(X, shape=shape), tiles[shape])
            for row, kind in enumerate(kinds):
                for number, (shape, axis, clear) in enumerate(CASES):
                    out = T.alloc_fragment(rest_of(shape, axis), dtype)
                    T.fill(out, 1)
                    T.reduce(tiles[shape], out, kind, dim=axis, clear=clear)
                    T.copy(out, part(Y, row, number, shape=rest_of(shape, axis)))

    x = sample(dtype, (2, 65, 70))
    if dtype in FLOATS:
        x[0, 3, 1:], x[0, 7:40, 2] = np.nan, np.nan
    got, expected = (np.zeros((len(kinds), len(CASES), 65, 70), element(dtype)) for _ in range(2))
    tilecore.compile(kernel, target="tpu", execution_backend=backend)(x, got)
    with np.errstate(all="ignore"):
        interpret(kernel.ir, x, expected)
    for row, kind in enumerate(kinds):
        for number, case in enumerate(CASES):
            near(got[row, number], expected[row, number], dtype, not kind.endswith("sum"), f"{kind} {case}")


def near(got: np.ndarray, expected: np.ndarray, dtype: str, exact: bool, name: str) -> None:
    """Sums may differ by a few units in the last place of the largest one, as their order is not defined."""
    wide = [array if array.dtype.kind in "iub" else array.astype(np.float64) for array in (got, expected)]
    if exact or dtype not in FLOATS:
        np.testing.assert_array_equal(*wide, err_msg=name)
        return
    unit = 16 * 2.0 ** -FACTS[dtype].significand
    most = np.nanmax(np.abs(wide[1]))
    np.testing.assert_allclose(*wide, rtol=unit, atol=unit * most, equal_nan=True, err_msg=name)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_scans(backend, dtype):
    shapes = ((1, 1), (65, 17), (1, 70), (33, 1))
    forms = [(shape, axis, reverse) for shape in shapes for axis in (0, 1) for reverse in (False, True)]

    @T.prim_func
    def kernel(X: T.Tensor((65, 70), dtype), Y: T.Tensor((2 * len(forms), 65, 70), dtype)):
        with T.Kernel(1):
            for number, (shape, axis, reverse) in enumerate(forms):
                x, y = T.alloc_shared(shape, dtype), T.alloc_shared(shape, dtype)
                T.copy(X[0 : shape[0], 0 : shape[1]], x)
                T.cumsum(x, y, dim=axis, reverse=reverse)
                T.copy(y, Y[2 * number, 0 : shape[0], 0 : shape[1]])
                T.cummax(x, y, dim=axis, reverse=reverse)
                T.copy(y, Y[2 * number + 1, 0 : shape[0], 0 : shape[1]])

    x = sample(dtype, (65, 70))
    if dtype.startswith("float8"):  # partial sums that the type has
        x = np.sign(x.astype(np.float32)).astype(x.dtype)
        x[8:, :] = x[:, 8:] = 0
    got, expected = (np.zeros((2 * len(forms), 65, 70), element(dtype)) for _ in range(2))
    tilecore.compile(kernel, target="tpu", execution_backend=backend)(x, got)
    with np.errstate(all="ignore"):
        interpret(kernel.ir, x, expected)
    for number, form in enumerate(forms):
        near(got[2 * number], expected[2 * number], dtype, exact=False, name=f"cumsum {form}")
        near(got[2 * number + 1], expected[2 * number + 1], dtype, exact=True, name=f"cummax {form}")
