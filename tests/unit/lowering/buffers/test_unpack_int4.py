"""unpack_int4: tensors of 4-bit elements as bytes, loads of halves, stores of whole bytes where that can be."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import BufferStore, Call, is_buffer_var, structural_equal
from tilecore.ir.visit import collect

from ..kit import NARROW, lowered, parallel


def stored(func):
    """(stores of whole bytes, atomic operations on one, parallel loops) in the IR after the pass."""
    after, _ = lowered(func, "unpack_int4")
    stores = [s for s in collect(after.body, BufferStore) if str(s.buffer.name) == "B"]
    atomics = [c for c in collect(after.body, Call) if op_name(c) == "tile.atomic_element"]
    return len(stores), len(atomics), parallel(after)


def moving(first, extent, step=1, dtype="int4"):
    """B[first + step * i] = A[i] for ``extent`` elements."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), B: T.Tensor((64,), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(extent):
                B[first + step * i] = A[i]

    return kernel


def unpacked(array):
    """The elements of bytes, the even one low."""
    return np.stack([array & 15, (array >> 4) & 15], axis=-1).reshape(*array.shape[:-1], -1)


@pytest.mark.parametrize(
    ("first", "extent", "step", "bytes_at_once"),
    [(0, 64, 1, True), (2, 8, 1, True), (1, 8, 1, False), (0, 7, 1, False), (0, 8, 2, False), (63, 64, -1, False)],
)
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_pairs_are_stored_together_where_they_are_whole_bytes(first, extent, step, bytes_at_once, dtype):
    kernel = moving(first, extent, step, dtype)
    assert stored(kernel) == ((1, 0, [("i", extent // 2)]) if bytes_at_once else (0, 2, [("i", extent)]))
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 256, 32, dtype=np.uint8) for _ in range(2))
    expected = unpacked(b).copy()
    expected[first + step * np.arange(extent)] = unpacked(a)[:extent]
    tilecore.compile(kernel, target=NARROW)(a, b)
    np.testing.assert_array_equal(unpacked(b), expected)


@pytest.mark.parametrize(
    ("declared", "order"),
    [((), "relaxed"), (("relaxed", "seq_cst"), "relaxed"), (("seq_cst", "acq_rel"), "acq_rel")],
)
def test_halves_are_stored_in_the_weakest_memory_order_of_the_target(declared, order):
    after, _ = lowered(moving(1, 8), "unpack_int4", atomic_orders=frozenset(declared))
    atomics = [call for call in collect(after.body, Call) if op_name(call) == "tile.atomic_element"]
    assert [str(call.args[3].value) for call in atomics] == [order, order]


@pytest.mark.parametrize(
    "changes", [{"features": frozenset({"print"})}, {"tile_ops": frozenset({"copy"})}], ids=["features", "operations"]
)
def test_halves_are_not_stored_without_atomic_operations(changes):
    with pytest.raises(UnsupportedError, match="needs atomic operations, and this target has none") as raised:
        lowered(moving(1, 8), "unpack_int4", **changes)
    assert raised.value.location is not None
    assert "from an even index" in raised.value.hint
    lowered(moving(2, 8), "unpack_int4", **changes)


def test_tensors_become_bytes_and_memory_on_chip_does_not():
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int4"), B: T.Tensor((4, 8), "int8")):
        with T.Kernel(1):
            t = T.alloc_shared((4, 8), "int4")
            T.copy(A, t)
            T.copy(t, B)

    func, _ = lowered(kernel, "unpack_int4")
    shapes = {str(p.name): (dtype_of(p), [constant(s) for s in p.shape]) for p in func.params if is_buffer_var(p)}
    assert shapes == {"A": ("uint8", [4, 4]), "B": ("int8", [4, 8])}
    stores = [s for s in collect(func.body, BufferStore) if str(s.buffer.name) == "t"]
    assert {dtype_of(s.buffer) for s in stores} == {"int4"}
    a, b = np.arange(16, dtype=np.uint8).reshape(4, 4) * 17, np.zeros((4, 8), np.int8)
    tilecore.compile(kernel, target=NARROW)(a, b)
    expected = unpacked(a).astype(np.int8)
    np.testing.assert_array_equal(b, np.where(expected > 7, expected - 16, expected))


def test_functions_without_such_elements_are_left_alone():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int8")):
        with T.Kernel(1):
            T.fill(A, 1)

    before, _ = lowered(kernel, "unpack_int4", before=True)
    after, _ = lowered(kernel, "unpack_int4")
    assert structural_equal(after, before)


def test_what_has_no_bytes_of_its_own_is_refused():
    @T.prim_func
    def odd(A: T.Tensor((4, 7), "int4"), B: T.Tensor((4, 7), "int4")):
        with T.Kernel(1):
            T.copy(A, B)

    @T.prim_func
    def atomic(A: T.Tensor((8,), "int4")):
        with T.Kernel(1):
            T.atomic_add(A[0], T.cast(1, "int4"))

    with pytest.raises(UnsupportedError, match="A has an odd number of int4 elements along its last axis"):
        lowered(odd, "unpack_int4")
    with pytest.raises(UnsupportedError, match="atomic"):
        lowered(atomic, "unpack_int4")


def test_an_odd_number_is_refused_where_the_tensor_is_declared():
    @T.prim_func
    def odd(A: T.Tensor((8, 8), "int8"), B: T.Tensor((4, 33), "int4")):
        with T.Kernel(1):
            A[0, 0] = T.cast(B[0, 0], "int8")

    with pytest.raises(UnsupportedError, match="B has an odd number of int4") as caught:
        tilecore.compile(odd, target="cpu")
    place = caught.value.location
    with open(place.file) as file:
        line = file.read().splitlines()[place.line - 1]
    assert line[place.column : place.end_column] == 'B: T.Tensor((4, 33), "int4")'
    assert "declare 34 elements" in caught.value.hint
