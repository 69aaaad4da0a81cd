"""flatten_buffers: one axis a buffer, offsets in elements, 64 bits wide only where 32 might not do."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import AllocBuffer, BufferStore, TensorLoad, is_buffer_var
from tilecore.ir.visit import collect

from ..kit import accesses, agrees, allocated, lowered

M, N = T.dynamic("m, n")


def offsets(func, name):
    return [str(access.indices[0]) for access in accesses(func, name)]


def test_every_buffer_and_every_access_has_one_axis():
    @T.prim_func
    def kernel(A: T.Tensor((4, 6, 8), "int32"), B: T.Tensor((4, 6, 8), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((6, 8), "int32")
            for i in T.serial(4):
                for j, k in T.Parallel(6, 8):
                    t[j, k] = A[i, j, k]
                for j, k in T.Parallel(6, 8):
                    B[i, j, k] = t[5 - j, k]

    func, _ = lowered(kernel, "flatten_buffers")
    assert [[constant(s) for s in p.shape] for p in func.params] == [[192], [192]]
    assert allocated(func) == {"t": [48]}
    assert all(len(a.indices) == 1 for a in [*collect(func.body, TensorLoad), *collect(func.body, BufferStore)])
    (offset,) = offsets(func, "A")
    assert "* 48" in offset
    assert "* 8" in offset
    agrees(kernel, np.arange(192, dtype=np.int32).reshape(4, 6, 8), np.zeros((4, 6, 8), np.int32))


@pytest.mark.parametrize(
    ("shape", "wide"),
    [((2**15, 2**15), False), ((2**16, 2**15), False), ((2**16, 2**15 + 1), True), ((M, 8), True), ((8, N), True)],
)
def test_offsets_are_wide_where_they_must_be(shape, wide):
    @T.prim_func
    def kernel(A: T.Tensor(shape, "int8")):
        with T.Kernel(4) as b:
            t = T.alloc_shared((4, 4), "int8")
            for i, j in T.Parallel(4, 4):
                t[i, j] = A[b + i, j + 1]
            A[0, 0] = t[3, 3]

    func, _ = lowered(kernel, "flatten_buffers")
    assert {dtype_of(a.indices[0]) for a in accesses(func, "A")} == {"int64" if wide else "int32"}
    assert {dtype_of(a.indices[0]) for a in accesses(func, "t")} == {"int32"}


def test_strides_are_followed_and_their_symbols_kept():
    S = T.dynamic("s")

    @T.prim_func
    def kernel(A: T.StridedTensor((4, 3), (S, 1), "int32"), B: T.Tensor((4, 3), "int32")):
        with T.Kernel(1):
            for i, j in T.Parallel(4, 3):
                B[i, j] = A[i, j]

    func, _ = lowered(kernel, "flatten_buffers")
    assert [str(v.name) for v in func.attrs["tile.symbols"]] == ["s"]
    (offset,) = offsets(func, "A")
    assert "s" in offset
    base = np.arange(4 * 9, dtype=np.int32).reshape(4, 9)
    out = np.zeros((4, 3), np.int32)
    import tilecore

    tilecore.compile(kernel, target="cpu -march=generic")(base[:, 2:5], out)
    assert (out == base[:, 2:5]).all()


def test_sizes_of_the_call_stand_in_the_shape():
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "int32")):
        with T.Kernel(M) as b:
            for j in T.Parallel(N):
                A[b, j] = b + j

    func, _ = lowered(kernel, "flatten_buffers")
    (param,) = [p for p in func.params if is_buffer_var(p)]
    (size,) = param.shape
    assert {"m", "n"} <= set(str(size).replace("(", " ").replace(")", " ").replace(",", " ").split())
    assert sorted(str(v.name) for v in func.attrs["tile.symbols"]) == ["m", "n"]
    agrees(kernel, np.zeros((5, 7), np.int32))


def test_views_share_the_memory_of_their_source():
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((4, 8), "int32")
            u = T.reshape(t, (32,))
            T.copy(A, t)
            for i in T.Parallel(32):
                u[i] = u[i] + i
            T.copy(t, A)

    func, _ = lowered(kernel, "flatten_buffers")
    assert len(collect(func.body, AllocBuffer)) == 1
    agrees(kernel, np.zeros((4, 8), np.int32))
