"""load_packed_bytes: bytes of two 4-bit elements are loaded atomically where threads store single elements."""

from __future__ import annotations

import pytest

import tilecore.language as T

from ..one_pass import before_and_after

PASS = "load_packed_bytes"


def single(stores: bool, dtype: str = "int4"):
    """Each thread stores one element of Y (its byte has another thread's, too) or one byte, and loads others."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), dtype), Y: T.Tensor((64,), dtype), Z: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if stores:
                Y[tx] = X[tx]
            T.sync_threads()
            Z[tx] = T.cast(Y[63 - tx], "int32") + T.cast(X[tx], "int32")

    return kernel


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_loads_of_bytes_with_single_stores_are_atomic(dtype):
    before, after = before_and_after(single(stores=True, dtype=dtype), PASS)
    load = 'T.tile.atomic_element(Y[(63 - tx) // 2], T.uint8(0), "load", "relaxed")'
    assert load not in before
    assert load in after
    assert after.replace(load, "Y[(63 - tx) // 2]") == before  # loads of X, which nothing stores, stay as they are


def test_bytes_without_single_stores_are_loaded_as_they_are():
    before, after = before_and_after(single(stores=False), PASS)
    assert before == after


def test_addresses_of_atomic_operations_are_not_loads():
    """The operand of the atomic store of an element names a byte; it stays the operand."""
    _, after = before_and_after(single(stores=True), PASS)
    for name in ("and", "or"):
        (operation,) = (line for line in after.splitlines() if f'"{name}", "relaxed")' in line)
        assert operation.startswith("T.tile.atomic_element(Y[tx // 2], ")


def test_other_types_stay():
    before, after = before_and_after(single(stores=True, dtype="int8"), PASS)
    assert before == after
    assert "atomic" not in after
