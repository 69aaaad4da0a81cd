"""Tails of tiles read as 0: legal where they are dropped, explained where they decide a result."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import OutOfBoundsError
from tilecore.interpreter import interpret
from tilecore.interpreter.tails import TailWarning


def rows(kind, safe=None, masked=False):
    """Rows of 10 in tiles of 16, reduced."""

    @T.prim_func
    def kernel(X: T.Tensor((6, 10), "float32"), Y: T.Tensor((6,), "float32")):
        with T.Kernel(2):
            by = T.get_block_binding()
            tile, out = T.alloc_shared((4, 16), "float32"), T.alloc_fragment((4,), "float32")
            if safe is not None:
                T.annotate_safe_value({X: safe})
            T.copy(X[by * 4, 0], tile)
            if masked:
                for i, j in T.Parallel(4, 16):
                    tile[i, j] = T.where(j < 10, tile[i, j], -1e30)
            T.reduce(tile, out, kind, dim=1)
            T.copy(out, Y[by * 4])

    return kernel


NEGATIVE = -np.random.default_rng(0).uniform(1, 2, (6, 10)).astype(np.float32)


def quietly(kernel, x, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interpret(kernel, x, y, **options)


def test_a_largest_element_that_is_the_tails_zero_is_explained():
    y = np.zeros(6, np.float32)
    with pytest.warns(TailWarning, match=r"T\.reduce_max of tile is decided by elements that stand for what") as caught:
        interpret(rows("max"), NEGATIVE, y)
    text = str(caught[0].message)
    assert "T.reduce(tile, out, kind, dim=1)" in text
    assert "^^^" in text
    assert "the result is 0.0 with them" in text
    assert "T.annotate_safe_value" in text
    with pytest.raises(OutOfBoundsError, match=r"T\.reduce_max of tile") as error:
        interpret(rows("max"), NEGATIVE, y, strict=True)
    assert error.value.location is not None


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("kernel", "x"),
    [
        (rows("sum"), NEGATIVE),
        (rows("absmax"), NEGATIVE),
        (rows("min"), NEGATIVE),  # the zeros are not the least
        (rows("max"), -NEGATIVE),
        (rows("max", safe=-np.inf), NEGATIVE),
        (rows("max", masked=True), NEGATIVE),
    ],
    ids=["sum", "absmax", "min of negatives", "max of positives", "safe value", "masked"],
)
def test_tails_that_decide_nothing_are_legal(kernel, x, strict):
    """Rows that lie outside as a whole give results that are dropped."""
    y = np.zeros(6, np.float32)
    quietly(kernel, x, y, strict=strict)
    assert np.isfinite(y).all()


def test_strict_takes_the_tails_of_element_by_element_code():
    """An iteration beyond the end reads 0 and its result is dropped; one inside must not read outside."""

    @T.prim_func
    def tails(X: T.Tensor((10,), "float32"), R: T.Tensor((1,), "float32"), Y: T.Tensor((10,), "float32")):
        with T.Kernel(3) as b:
            for i in T.Parallel(4):
                Y[b * 4 + i] = X[b * 4 + i] * R[0]

    @T.prim_func
    def shifted(X: T.Tensor((10,), "float32"), Y: T.Tensor((10,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(16):
                Y[i] = X[i + 1]

    @T.prim_func
    def guarded(X: T.Tensor((10,), "float32"), Y: T.Tensor((10,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(16):
                Y[i] = T.where(i < 9, X[i + 1], 0)

    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    interpret(tails, x, np.float32([2]), y, strict=True)
    np.testing.assert_array_equal(y, x * 2)
    interpret(shifted, x, y)
    assert y.tolist() == [*range(1, 10), 0]
    with pytest.raises(OutOfBoundsError, match=r"X\[10\] is outside X \(i = 9"):
        interpret(shifted, x, y, strict=True)
    interpret(guarded, x, y, strict=True)
    assert y.tolist() == [*range(1, 10), 0]
