"""Unusual shapes: one element, rows, columns, more than a group of lanes, more columns than a bank, three axes,
tails."""

from __future__ import annotations

import numpy as np
import pytest
from samples import differences, element, sample

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret

SHAPES = (
    (1, 1), (1, 17), (1, 300), (33, 1), (63, 15), (64, 16), (65, 17), (64, 31), (65, 33), (130, 64), (2, 5000),
    (1, 1, 1), (3, 5, 33), (2, 65, 1), (4, 1, 31), (2, 3, 65),
)  # fmt: skip
TENSOR = (100, 45)  # that no tile below divides
TILES = ((64, 32), (33, 64), (128, 7), (1, 64), (128, 64))


def total(shape: tuple) -> int:
    return int(np.prod(shape))


@T.macro
def tile(X, R, C, Y, shape, dtype, start):
    """Broadcasts of rows and columns, a mask of indices, sums, and a second statement on the results of the first
    one."""
    x, y = T.alloc_shared(shape, dtype), T.alloc_fragment(shape, dtype)
    r, c = T.alloc_fragment((shape[-2],), dtype), T.alloc_fragment((shape[-1],), dtype)
    T.copy(R[0 : shape[-2]], r)
    T.copy(C[0 : shape[-1]], c)
    if len(shape) == 2:
        for i, j in T.Parallel(*shape):
            x[i, j] = X[start + i * shape[1] + j]
        for i, j in T.Parallel(*shape):
            y[i, j] = T.if_then_else(i <= j, x[i, j] + r[i], c[j])
            y[i, j] = T.max(y[i, j], x[i, j]) + r[i]
        for i, j in T.Parallel(*shape):
            Y[start + i * shape[1] + j] = y[i, j]
    else:
        for h, i, j in T.Parallel(*shape):
            x[h, i, j] = X[start + (h * shape[1] + i) * shape[2] + j]
        for h, i, j in T.Parallel(*shape):
            y[h, i, j] = T.if_then_else(i <= j, x[h, i, j] + r[i], c[j])
            y[h, i, j] = T.max(y[h, i, j], x[h, i, j]) + r[i]
        for h, i, j in T.Parallel(*shape):
            Y[start + (h * shape[1] + i) * shape[2] + j] = y[h, i, j]


def check(kernel, backend, dtype: str, *arrays: np.ndarray) -> None:
    compiled = tilecore.compile(kernel, target="tpu", execution_backend=backend)
    slow = [row for row in compiled.explain().data["nests"] if row["by"] != "tensor unit"]
    assert not slow, slow
    got, expected = ([array.copy() for array in arrays] for _ in range(2))
    compiled(*got)
    interpret(kernel.ir, *expected)
    assert not (difference := differences(got[-1], expected[-1], dtype, exact=dtype != "bfloat16")), difference


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint16", "float8_e5m2"])
def test_shapes(backend, dtype):
    starts = np.cumsum([0, *(total(shape) for shape in SHAPES)]).tolist()

    @T.prim_func
    def kernel(
        X: T.Tensor((starts[-1],), dtype), R: T.Tensor((130,), dtype), C: T.Tensor((5000,), dtype),
        Y: T.Tensor((starts[-1],), dtype),
    ):  # fmt: skip
        with T.Kernel(1):
            for shape, start in zip(SHAPES, starts, strict=False):
                tile(X, R, C, Y, shape, dtype, start)

    arrays = [_whole(dtype, size, seed) for seed, size in enumerate((starts[-1], 130, 5000))]
    check(kernel, backend, dtype, *arrays, np.zeros(starts[-1], element(dtype)))


def _whole(dtype: str, size: int, seed: int) -> np.ndarray:
    """Integers whose sums 8-bit floats represent: the unit rounds once, at the end."""
    if dtype.startswith("float8"):
        return np.random.default_rng(seed).integers(0, 2, size).astype(np.float32).astype(element(dtype))
    return sample(dtype, size, seed)


@pytest.mark.parametrize("dynamic", [False, True], ids=["constants", "of the call"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_tails(backend, dtype, dynamic):
    """Tiles that the end of the tensor clips, in the middle or completely."""
    m, n = (T.dynamic("m"), T.dynamic("n")) if dynamic else TENSOR

    @T.prim_func
    def kernel(X: T.Tensor((m, n), dtype), V: T.Tensor((n,), dtype), Y: T.Tensor((len(TILES), m, n), dtype)):
        with T.Kernel(2, 4) as (bx, by):
            for number, (rows, columns) in enumerate(TILES):
                x, y = T.alloc_shared((rows, columns), dtype), T.alloc_fragment((rows, columns), dtype)
                for bands in T.serial(T.ceildiv(m, 4 * rows)):
                    row, column = (bands * 4 + by) * rows, bx * columns
                    T.copy(X[row : row + rows, column : column + columns], x)
                    for i, j in T.Parallel(rows, columns):
                        y[i, j] = x[i, j] + V[column + j]
                        if row + i < m - 3:
                            y[i, j] = y[i, j] - X[row + i + 1, column + j]
                    for i, j in T.Parallel(rows, columns):
                        if column + j != 40:
                            Y[number, row + i, column + j] = y[i, j]

    x, v = sample(dtype, TENSOR), sample(dtype, TENSOR[1:], 1)
    compiled = tilecore.compile(kernel, target="tpu", execution_backend=backend)
    got, expected = (np.zeros((len(TILES), *TENSOR), element(dtype)) for _ in range(2))
    compiled(x, v, got)
    interpret(kernel.ir, x, v, expected)
    assert not (difference := differences(got, expected, dtype, exact=True)), difference
