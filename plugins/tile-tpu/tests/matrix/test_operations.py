"""Every operator and function on every element type: the result is right, and the table names the unit that computes
it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from operations import DTYPES, OPERATIONS, table
from samples import corners, differences, element, sample

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret

pytestmark = pytest.mark.rotated

SHAPE = (5, 33)
NEST = "# the nest of an operation"


def kernel_of(dtype: str, makers: list):
    @T.prim_func
    def kernel(A: T.Tensor(SHAPE, dtype), B: T.Tensor(SHAPE, dtype), Y: T.Tensor((len(makers), *SHAPE), dtype)):
        with T.Kernel(1):
            a, b, y = (T.alloc_shared(SHAPE, dtype) for _ in range(3))
            T.copy(A, a)
            T.copy(B, b)
            for number, make in enumerate(makers):
                for i, j in T.Parallel(*SHAPE):  # the nest of an operation
                    y[i, j] = make(a[i, j], b[i, j])
                T.copy(y, Y[number, :, :])

    return kernel


def on_core(compiled) -> list[bool]:
    """For each operation, whether the control core computes it."""
    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith(NEST) and "T.Parallel" in text)
    return [row["by"] != "tensor unit" for row in compiled.explain().data["nests"] if row["line"] == line]


@pytest.mark.parametrize("dtype", DTYPES)
def test_operations(backend, dtype):
    chosen = [operation for operation in OPERATIONS if dtype in operation.dtypes]
    kernel = kernel_of(dtype, [operation.make for operation in chosen])
    compiled = tilecore.compile(kernel, target="tpu", execution_backend=backend)
    assert on_core(compiled) == [operation.on_core for operation in chosen]
    a, b = sample(dtype, SHAPE), sample(dtype, SHAPE, 1)
    special = corners(dtype)[: a.size // 4]
    a.ravel()[: special.size] = b.ravel()[-special.size :] = special
    got, expected = (np.zeros((len(chosen), *SHAPE), element(dtype)) for _ in range(2))
    compiled(a, b, got)
    with np.errstate(all="ignore"):
        interpret(kernel_of(dtype, [o.meaning or o.make for o in chosen]).ir, a, b, expected)
    small = np.abs(a.astype(np.float64)) <= 20
    wrong = [
        f"{operation.text}: {difference}"
        for number, operation in enumerate(chosen)
        if (
            difference := differences(
                *_seen(operation, dtype, small, got[number], expected[number]), dtype, operation.exact
            )
        )
    ]
    assert not wrong, "\n".join(wrong)


def _seen(operation, dtype, small, *results):
    """The results without values that may differ: sin and cos of large numbers, and an 8-bit infinity in place of the
    largest number."""
    if dtype == "float8_e5m2" and operation.text.startswith(("max", "min")):
        return [np.clip(array.astype(np.float64), -57344, 57344).astype(array.dtype) for array in results]
    return [np.where(small, array, 0) if operation.text in ("sin", "cos") else array for array in results]


def test_the_table_of_the_docs():
    page = Path(__file__).parents[2] / "docs" / "operations.md"
    assert table() in page.read_text(), f"{page.name} should have:\n{table()}"
