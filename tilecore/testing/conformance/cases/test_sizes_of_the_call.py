"""Several sizes that only the call knows, together: grids, workspaces, persistent loops, products, messages."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LaunchError
from tilecore.interpreter import interpret

from .kit import check, close, compiled, needs_the_host, rerun, sample, zeros

M, N, K = T.dynamic("m, n, k")


def test_a_product_of_any_size(target):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float32"), B: T.Tensor((K, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 16), T.ceildiv(M, 8)) as (bx, by):
            a, b = T.alloc_shared((8, 4), "float32"), T.alloc_shared((4, 16), "float32")
            c = T.alloc_fragment((8, 16), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 4), num_stages=2):
                T.copy(A[by * 8, k * 4], a)
                T.copy(B[k * 4, bx * 16], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 8, bx * 16])

    built = compiled(kernel, target)
    for m, n, k in ((1, 1, 1), (8, 16, 4), (9, 17, 5), (3, 40, 11)):
        rerun(
            built,
            kernel,
            sample("float32", (m, k)),
            sample("float32", (k, n), 1),
            zeros("float32", (m, n)),
            compare=close,
        )
    with pytest.raises(ArgumentError, match=r"k is 4 from A.shape\[1\] but 5 from B.shape\[0\]"):
        built(sample("float32", (2, 4)), sample("float32", (5, 3)), zeros("float32", (2, 3)))
    empty = zeros("float32", (2, 3)) + 7
    built(sample("float32", (2, 0)), sample("float32", (0, 3)), empty)
    assert (empty == 0).all(), "a sum of nothing"


def test_expressions_of_several_sizes(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, N), "int32"), B: T.Tensor((K,), "int32"), C: T.Tensor((M * N + K,), "int32"),
        D: T.Tensor((M + 1, T.ceildiv(N, 2)), "int32"),
    ):  # fmt: skip
        with T.Kernel(M, T.ceildiv(N, 4)) as (x, y):
            for j in T.Parallel(4):
                if y * 4 + j < N:
                    C[x * N + y * 4 + j] = A[x, y * 4 + j]
        with T.Kernel(T.max(K, 1)) as x:
            if x < K:
                C[M * N + x] = B[x]
        with T.Kernel(1):
            for i, j in T.Parallel(M + 1, T.ceildiv(N, 2)):
                D[i, j] = i * N + j

    built = compiled(kernel, target)
    for m, n, k in ((1, 1, 1), (3, 5, 2), (2, 8, 7)):
        a, b = sample("int32", (m, n)), sample("int32", k)
        results = rerun(built, kernel, a, b, zeros("int32", m * n + k), zeros("int32", (m + 1, -(-n // 2))))
        assert (results[2] == np.concatenate([a.ravel(), b])).all()
    with pytest.raises(ArgumentError, match=r"C.shape\[0\] is 9, expected \(m \* n\) \+ k = 8"):
        built(zeros("int32", (2, 3)), zeros("int32", 2), zeros("int32", 9), zeros("int32", (3, 2)))


def test_a_workspace_and_a_persistent_loop(target):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "int32"), R: T.Tensor((M,), "int32")):
        W = T.alloc_global((M, T.ceildiv(N, 4)), "int32")
        with T.Kernel(3) as b:
            for i, j in T.Persistent([M, T.ceildiv(N, 4)], 3, b):
                total = T.alloc_var("int32", init=0)
                for k in T.serial(4):
                    if j * 4 + k < N:
                        total = total + A[i, j * 4 + k]
                W[i, j] = total
        with T.Kernel(M) as b:
            total = T.alloc_var("int32", init=0)
            for j in T.serial(T.ceildiv(N, 4)):
                total = total + W[b, j]
            R[b] = total

    built = compiled(kernel, target)
    for m, n in ((1, 1), (4, 9), (7, 4), (2, 30)):
        a = sample("int32", (m, n))
        assert (rerun(built, kernel, a, zeros("int32", m))[1] == a.sum(1)).all()


@pytest.mark.parametrize("sizes", [(0, 64, 64), (64, 0, 64), (64, 64, 0)])
def test_a_product_of_nothing(target, sizes):
    """Sizes of 0, known when compiling: a grid without blocks, or a sum of no products."""
    m, n, k = sizes

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * 64, ko * 32], a)
                T.copy(B[ko * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    result = np.ones((m, n), np.float32)
    compiled(kernel, target)(np.ones((m, k), np.float16), np.ones((k, n), np.float16), result)
    assert not result.any()


def test_loops_of_nothing(target):
    @T.prim_func
    def kernel(A: T.Tensor((0, 8), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(2, threads=32) as bid:
            for by, bx in T.Persistent([T.ceildiv(0, 4), 2], 2, bid):
                for i, j in T.Parallel(4, 4):
                    A[by * 4 + i, bx * 4 + j] = 1
            n = T.alloc_var("int32", init=3)
            for i in T.serial(0):
                while n > 0:
                    n -= A[i, 0]
            B[bid] = n

    result = np.zeros(4, np.int32)
    compiled(kernel, target)(np.zeros((0, 8), np.int32), result)
    np.testing.assert_array_equal(result, [3, 3, 0, 0])


def test_outputs_of_several_sizes(target):
    @T.prim_func
    def kernel(A: T.Tensor((M,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((N, M), "float32")):
        with T.Kernel(N) as b:
            for i in T.Parallel(M):
                C[b, i] = A[i] * B[b]

    built = compiled(kernel, target, out_idx=-1)
    for m, n in ((1, 3), (5, 2)):
        a, b = sample("float32", m), sample("float32", n, 1)
        np.testing.assert_array_equal(built(a, b), np.outer(b, a), strict=True)


def test_promises_about_sizes(target):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "int32"), B: T.Tensor((M, N), "int32")):
        with T.Kernel(M // 4) as b:
            T.assume(M % 4 == 0)
            T.assume(N <= 64)
            for i, j in T.Parallel(4, N):
                B[b * 4 + i, j] = A[b * 4 + i, j] + 1

    built = compiled(kernel, target)
    for m, n in ((4, 1), (12, 33)):
        rerun(built, kernel, sample("int32", (m, n)), zeros("int32", (m, n)))


def failing(limit):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "int32")):
        with T.Kernel(M) as b:
            for j in T.Parallel(N):
                T.device_assert(A[b, j] < limit, f"an element is not below {limit}")
            if b == M - 1:
                T.print(M, msg="rows")
                T.print(A[b, N - 1], msg="last of 100%")

    return kernel


def test_messages_of_a_kernel_from_the_cache_and_from_a_file(target, tmp_path, monkeypatch, capfd):
    needs_the_host(target, "a failed assertion ends the work of its process on a device")
    from tilecore.jit.compile import _kernels

    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    first = compiled(failing(50), target)
    _kernels.clear()
    second = compiled(failing(50), target)
    assert second.from_cache
    third = tilecore.load_kernel(first.export(tmp_path / "kernel", simulation=True))
    good, bad = np.full((3, 5), 49, np.int32), np.full((3, 5), 49, np.int32)
    bad[1, 2] = 50
    for kernel in (first, second, third):
        kernel(good)
        assert capfd.readouterr().out == "rows: 3\nlast of 100%: 49\n"
        with pytest.raises(LaunchError, match="an element is not below 50"):
            kernel(bad)
        capfd.readouterr()
    with pytest.raises(AssertionError, match="an element is not below 50"):
        interpret(failing(50).ir, bad)


def test_lines_of_many_blocks_are_whole(target, capfd):
    @T.prim_func
    def kernel(A: T.Tensor((M,), "int64")):
        with T.Kernel(M) as b:
            T.print(A[b], msg="element of a block")

    numbers = np.arange(10**12, 10**12 + 300)
    compiled(kernel, target)(numbers)
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"element of a block: {number}" for number in numbers)


def test_an_assertion_in_a_loop_that_ends_when_it_likes(target):
    needs_the_host(target, "a failed assertion ends the work of its process on a device")

    @T.prim_func
    def kernel(A: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            n = T.alloc_var("int32", init=A[0])
            while n > 1:
                T.device_assert(n % 2 == 0, "odd")
                n = n // 2
            A[0] = n

    check(kernel, target, np.array([64], np.int32))
    with pytest.raises(LaunchError, match="odd"):
        compiled(kernel, target)(np.array([48], np.int32))


@pytest.mark.parametrize("length", [1, 63, 64, 150])
def test_a_grid_that_a_scalar_sets(target, length):
    """A scalar between the tensors sets the grid of a product that stores tiles of a tensor of any number of rows."""

    @T.prim_func
    def kernel(
        A: T.Tensor((M, 32), "float16"), rows: T.int32, starts: T.Tensor((2,), "int32"), C: T.Tensor((M, 64), "float16")
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(rows, 64), 2, threads=128) as (bx, by):
            start = starts[by]
            a, c = T.alloc_shared((64, 32), "float16"), T.alloc_fragment((64, 64), "float32")
            if bx * 64 < rows:
                T.copy(A[start + bx * 64, 0], a)
                T.gemm(a, a, c, transpose_B=True, clear_accum=True)
                T.copy(c, C[start + bx * 64, 0])

    a = np.zeros((512, 32), np.float16)
    a[:length], a[256 : 256 + length] = sample("float16", (length, 32), 1), sample("float16", (length, 32), 2)
    out = zeros("float16", (512, 64))
    compiled(kernel, target)(a, length, np.array([0, 256], np.int32), out)
    for start in (0, 256):
        for row in range(start, start + length, 64):
            tile = a[row : row + 64].astype(np.float32)
            close(out[row : row + 64], (tile @ tile.T).astype(np.float16))
