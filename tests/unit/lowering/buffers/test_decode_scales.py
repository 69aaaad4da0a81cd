"""decode_scales: float8_e8m0fnu as bytes, of which powers of two are made where they are read."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import AllocBuffer, Cast, is_buffer_var, structural_equal
from tilecore.ir.visit import collect

from ..kit import NARROW, lowered

SCALE = "float8_e8m0fnu"


@T.prim_func
def scaled(X: T.Tensor((64,), "float32"), S: T.Tensor((64,), SCALE), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1):
        tile = T.alloc_shared((64,), SCALE)
        T.copy(S, tile)
        for i in T.Parallel(64):
            Y[i] = X[i] * T.cast(tile[i], "float32")


@T.prim_func
def plain(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1):
        T.copy(X, Y)


def types_in(func):
    buffers = [p for p in func.params if is_buffer_var(p)] + [node.buffer for node in collect(func.body, AllocBuffer)]
    return {dtype_of(buffer) for buffer in buffers} | {dtype_of(cast) for cast in collect(func.body, Cast)}


def test_no_scale_is_left():
    assert SCALE in types_in(scaled.ir)
    after, _ = lowered(scaled, "decode_scales")
    assert SCALE not in types_in(after)
    assert "uint8" in types_in(after)


def test_other_functions_stay():
    before, _ = lowered(plain, "decode_scales", before=True)
    after, _ = lowered(plain, "decode_scales")
    assert structural_equal(after, before)


def test_every_scale():
    """2 ** (pattern - 127), and 255 is NaN (OCP microscaling formats 1.0, section 5.4.1)."""
    for first in range(0, 256, 64):
        patterns = np.arange(first, first + 64, dtype=np.uint8)
        x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
        tilecore.compile(scaled, target=NARROW)(x, patterns.view(_scale_type()), y)
        expected = np.where(patterns == 255, np.nan, np.ldexp(1.0, patterns.astype(int) - 127)).astype(np.float32)
        np.testing.assert_array_equal(y, expected)


def _scale_type():
    return pytest.importorskip("ml_dtypes").float8_e8m0fnu


def test_atomic_operations_are_refused():
    @T.prim_func
    def adding(S: T.Tensor((4,), SCALE)):
        with T.Kernel(1):
            T.atomic_add(S[0], T.cast(2.0, SCALE))

    with pytest.raises(UnsupportedError, match="float8_e8m0fnu"):
        tilecore.compile(adding, target=NARROW)
