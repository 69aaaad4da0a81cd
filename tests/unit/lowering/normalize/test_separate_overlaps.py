"""separate_overlaps: operations that read what they write get a copy of it; others do not."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError

from ..kit import agrees, allocated, lowered, tile_ops


def moved(first, second):
    """One tile copied within itself, from rows ``first`` to rows ``second``."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 4), "int32"), B: T.Tensor((8, 4), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((8, 4), "int32")
            T.copy(A, t)
            T.copy(t[first : first + 3, :], t[second : second + 3, :])
            T.copy(t, B)

    return kernel


TABLE = np.arange(32, dtype=np.int32).reshape(8, 4)


@pytest.mark.parametrize(
    ("first", "second", "copied"), [(0, 1, True), (2, 0, True), (0, 3, False), (5, 2, False), (1, 1, False)]
)
def test_only_regions_that_meet_are_copied_first(first, second, copied):
    func, _ = lowered(moved(first, second), "separate_overlaps")
    assert tile_ops(func).count("copy") == 3 + copied
    assert allocated(func).get("t_before") == ([3, 4] if copied else None)
    agrees(moved(first, second), TABLE, np.zeros_like(TABLE))


def test_a_transpose_in_place_is_never_element_by_element():
    @T.prim_func
    def kernel(A: T.Tensor((4, 4), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((4, 4), "int32")
            T.copy(A, t)
            T.transpose(t, t)
            T.copy(t, A)

    func, _ = lowered(kernel, "separate_overlaps")
    assert allocated(func)["t_before"] == [4, 4]
    (array,) = agrees(kernel, TABLE[:4].copy())
    assert (array == TABLE[:4].T).all()


def test_views_of_one_memory_meet():
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((16,), "int32")
            flat = T.reshape(t, (4, 4))
            T.copy(A, t)
            T.copy(flat[0:2, :], flat[1:3, :])
            T.copy(t, A)

    func, _ = lowered(kernel, "separate_overlaps")
    assert "flat_before" in allocated(func)
    agrees(kernel, np.arange(16, dtype=np.int32))


def test_a_view_and_its_source_meet():
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((16,), "int32")
            u = T.view(t, (16,))
            T.copy(A, t)
            T.copy(t[0:8], u[2:10])
            T.copy(t, A)

    func, _ = lowered(kernel, "separate_overlaps")
    assert "t_before" in allocated(func)
    (array,) = agrees(kernel, np.arange(16, dtype=np.int32))
    assert array.tolist() == [0, 1, *range(8), *range(10, 16)]


@pytest.mark.parametrize("name", ["atomic_add", "cumsum"])
def test_the_refusal_names_the_operation_as_the_language_does(name):
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 4), "int32")):
        with T.Kernel(1):
            if name == "cumsum":
                T.cumsum(A[0 : M - 1, :], A[1:M, :], dim=0)
            else:
                T.atomic_add(A[1:M, :], A[0 : M - 1, :])

    with pytest.raises(UnsupportedError, match=rf"T\.{name} reads and writes the same buffer"):
        lowered(kernel, "separate_overlaps")


def test_a_size_of_the_call_is_refused():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 4), "int32")):
        with T.Kernel(1):
            T.copy(A[0 : M - 1, :], A[1:M, :])

    with pytest.raises(
        UnsupportedError, match="reads and writes the same buffer, and its size is known only at the call"
    ):
        lowered(kernel, "separate_overlaps")
