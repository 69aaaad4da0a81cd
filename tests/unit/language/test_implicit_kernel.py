"""Functions without T.Kernel are one kernel as a whole. T.thread_binding and T.launch_thread give its axes."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret


def run(kernel, *arrays):
    """Runs a T.prim_func on the processor and in the interpreter, which must agree, and gives the arrays."""
    results = [np.copy(array) for array in arrays], [np.copy(array) for array in arrays]
    tilecore.compile(kernel, target="cpu")(*results[0])
    interpret(kernel.ir, *results[1])
    for ours, defined in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, defined)
    return results[0]


def test_one_block():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), S: T.Tensor((2,), "int32")):
        first = X[0] + 1  # read before anything that is part of a kernel for sure
        workspace = T.alloc_global((64,), "int32")
        total = T.alloc_fragment((1,), "int32")
        for i in T.Parallel(64):
            workspace[i] = X[i] * X[i]
        T.reduce_sum(workspace, total)
        S[0] = total[0]
        if X[0] > 0:
            S[1] = first
        for i in T.serial(3):
            S[1] += i

    x = np.arange(5, 69, dtype=np.int32)
    _, sums = run(kernel, x, np.zeros(2, np.int32))
    assert sums.tolist() == [int((x * x).sum()), 6 + 3]


def test_sizes_of_the_call_and_checks():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        half = n // 2
        assert n > 2, "too short"
        doubled = T.alloc_global((half * 2,), "float32")
        pairs = T.view(doubled, (half, 2))
        for i in T.Parallel(half):
            doubled[2 * i] = X[2 * i] + X[2 * i]
        for i in T.Parallel(half):
            Y[i] = pairs[i, 0]

    x = np.arange(7, dtype=np.float32)
    _, y = run(kernel, x, np.zeros(7, np.float32))
    assert y.tolist() == [0, 4, 8, 0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="too short"):
        tilecore.compile(kernel, target="cpu")(x[:2], x[:2].copy())


def test_axes_by_loops():
    @T.prim_func
    def kernel(a: T.handle):
        A = T.match_buffer(a, (8, 16), "int32")
        for block in T.thread_binding(4, thread="blockIdx.x"):
            for thread in T.thread_binding(16, thread="threadIdx.x"):
                for i in T.unroll(2):
                    A[block * 2 + i, thread] = 100 * block + 10 * i + thread

    (a,) = run(kernel, np.zeros((8, 16), np.int32))
    block, i, thread = np.meshgrid(np.arange(4), np.arange(2), np.arange(16), indexing="ij")
    assert (a.reshape(4, 2, 16) == 100 * block + 10 * i + thread).all()


def test_axes_by_names():
    extents = {}

    @T.prim_func
    def kernel(A: T.Tensor((6, 32), "int32")):
        column, row = T.launch_thread("blockIdx.x", 2), T.launch_thread("blockIdx.y", 6)
        with T.launch_thread("threadIdx.x", 16) as thread:
            extents["all"] = [*T.get_thread_extents(), *T.get_block_extents()]
            again = T.launch_thread("threadIdx.x", 16)
            shared = T.alloc_shared((16,), "int32")
            shared[thread] = 10 * row + thread
            T.sync_threads()
            A[row, column * 16 + again] = shared[15 - thread]

    (a,) = run(kernel, np.zeros((6, 32), np.int32))
    assert (a == 10 * np.arange(6)[:, None] + np.tile(np.arange(16)[::-1], 2)).all()
    assert extents["all"] == [16, 1, 1, 2, 6, 1]


def test_all_blocks_wait():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        block = T.launch_thread("blockIdx.x", 8)
        A[block] = block
        T.sync_grid()
        B[block] = A[7 - block]

    _, b = run(kernel, *np.zeros((2, 8), np.int32))
    assert b.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_an_eager_kernel():
    @tilecore.jit(target="cpu")
    def doubled(X):
        N = T.const("N")
        X: T.Tensor[[N], T.float32]
        Y = T.empty((N,), T.float32)
        for i in T.Parallel(N):
            Y[i] = 2 * X[i]
        return Y

    x = np.arange(9, dtype=np.float32)
    assert (np.asarray(doubled(x)) == 2 * x).all()


def test_an_axis_has_one_extent():
    with pytest.raises(LanguageError, match=r"has 8 along blockIdx\.x") as error:

        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32")):
            A[T.launch_thread("blockIdx.x", 4)] = 1
            A[T.launch_thread("blockIdx.x", 8)] = 1

    assert "the kernel has 4 blocks along x" in str(error.value)


def test_an_axis_after_its_use():
    with pytest.raises(LanguageError, match=r"threadIdx.x is bound after T.get_thread_extent, which needs"):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32")):
            A[0] = T.get_thread_extent(0)
            A[T.launch_thread("threadIdx.x", 4)] = 1
