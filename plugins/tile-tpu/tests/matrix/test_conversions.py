"""Every element type to every other: in an expression, by a copy of a tile, and into a tensor."""

from __future__ import annotations

import numpy as np
import pytest
from operations import DTYPES
from samples import corners, differences, element, sample

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret

pytestmark = pytest.mark.rotated

TYPES = (*DTYPES, "float64", "int64")  # the last two are the control core's
SHAPE = (4, 32)


def values(dtype: str) -> np.ndarray:
    numbers = np.concatenate([corners(dtype), sample(dtype, SHAPE).ravel()])
    return numbers[: SHAPE[0] * SHAPE[1]].reshape(SHAPE)


@T.macro
def convert(x, Y, dtype):
    y, z = T.alloc_fragment(SHAPE, dtype), T.alloc_shared(SHAPE, dtype)
    for i, j in T.Parallel(*SHAPE):
        y[i, j] = T.cast(x[i, j], dtype)
    T.copy(y, Y[0, :, :])
    T.copy(x, z)
    T.copy(z, Y[1, :, :])
    T.copy(x, Y[2, :, :])


def outputs_of(dtype: str) -> T.Tensor:
    return T.Tensor((3, *SHAPE), dtype)


@pytest.mark.parametrize("source", TYPES)
def test_conversions(backend, source):
    @T.prim_func
    def kernel(
        X: T.Tensor(SHAPE, source), Y0: outputs_of(TYPES[0]), Y1: outputs_of(TYPES[1]), Y2: outputs_of(TYPES[2]),
        Y3: outputs_of(TYPES[3]), Y4: outputs_of(TYPES[4]), Y5: outputs_of(TYPES[5]), Y6: outputs_of(TYPES[6]),
        Y7: outputs_of(TYPES[7]), Y8: outputs_of(TYPES[8]), Y9: outputs_of(TYPES[9]), Y10: outputs_of(TYPES[10]),
        Y11: outputs_of(TYPES[11]), Y12: outputs_of(TYPES[12]), Y13: outputs_of(TYPES[13]),
    ):  # fmt: skip
        with T.Kernel(1):
            x = T.alloc_shared(SHAPE, source)
            T.copy(X, x)
            every = (Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13)
            for Y, dtype in zip(every, TYPES, strict=True):
                convert(x, Y, dtype)

    compiled = tilecore.compile(kernel, target="tpu", execution_backend=backend)
    if source in DTYPES:
        words = " ".join(row["because"] for row in compiled.explain().data["nests"] if row["by"] != "tensor unit")
        assert not [dtype for dtype in DTYPES if dtype in words], words
    got, expected = ([np.zeros((3, *SHAPE), element(dtype)) for dtype in TYPES] for _ in range(2))
    compiled(values(source), *got)
    with np.errstate(all="ignore"):
        interpret(kernel.ir, values(source), *expected)
    wrong = [
        f"to {dtype}: {difference}"
        for dtype, mine, other in zip(TYPES, got, expected, strict=True)
        if (difference := differences(mine, other, dtype, exact=True))
    ]
    assert not wrong, "\n".join(wrong)
