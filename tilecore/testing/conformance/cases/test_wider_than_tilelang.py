"""Programs that TileLang refuses on GPUs, and that have a meaning: they run everywhere (docs/from-tilelang.md)."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, sample, zeros


@pytest.mark.parametrize(
    ("m", "n", "threads", "policy"),
    [(16, 104, 384, "Square"), (288, 8, 544, "Square"), (16, 16, 224, "Square"), (64, 104, 384, "FullRow")],
)
def test_warps_that_do_not_divide_a_product(target, m, n, threads, policy):
    """A serial loop adds the columns of the product, which other threads have."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, 32), "float16"), B: T.Tensor((32, n), "float16"), C: T.Tensor((m, n), "float32"),
        S: T.Tensor((m,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((m, 32), "float16"), T.alloc_shared((32, n), "float16")
            c, total = T.alloc_fragment((m, n), "float32"), T.alloc_fragment((m,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c, policy=getattr(T.GemmWarpPolicy, policy))
            T.copy(c, C)
            T.clear(total)
            for i in T.Parallel(m):
                for j in T.serial(n):
                    total[i] += c[i, j]
            T.copy(total, S)

    rng = np.random.default_rng(m + n)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((m, 32), (32, n)))
    product, sums = check(kernel, target, a, b, zeros("float32", (m, n)), zeros("float32", m))[2:]
    expected = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(product, expected)
    np.testing.assert_array_equal(sums, expected.sum(1))


@pytest.mark.parametrize("width", [48, 96])
def test_any_number_of_threads_reduces(target, width):
    @T.prim_func
    def kernel(
        X: T.Tensor((1, width), "int32"), W: T.Tensor((width // 2, 2), "int32"), Y: T.Tensor((2,), "int32"),
        Z: T.Tensor((2,), "int32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=width):
            x, y = T.alloc_fragment((1, width), "int32"), T.alloc_fragment((1,), "int32")
            w, z = T.alloc_fragment((width // 2, 2), "int32"), T.alloc_fragment((2,), "int32")
            T.copy(X, x)
            T.reduce_sum(x, y, dim=1)
            T.copy(y, Y[0:1])
            T.reduce_max(x, y, dim=1)
            T.copy(y, Y[1:2])
            T.copy(W, w)
            T.reduce_sum(w, z, dim=0)
            T.copy(z, Z)

    x, w = sample("int32", (1, width)), sample("int32", (width // 2, 2), 1)
    y, z = check(kernel, target, x, w, zeros("int32", 2), zeros("int32", 2))[2:]
    assert y.tolist() == [x.sum(), x.max()]
    assert z.tolist() == w.sum(0).tolist()


def test_forms_of_reducers_and_copies_may_be_mixed(target):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32"), Y: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=64):
            tile, again = T.alloc_shared((8,), "float32"), T.alloc_shared((8,), "float32")
            T.copy(X, tile)
            T.async_copy(tile, again)
            T.ptx_wait_group(0)
            T.sync_threads()
            started = T.alloc_reducer((1,), "float32", op="sum")
            T.reducer_init(started, T.float16(1.5))
            for i in T.Parallel(8):
                started[0] += again[i]
            result = T.alloc_fragment((1,), "float32")
            T.finalize_reducer(started, result)
            T.copy(result, Y[0:1])
            cleared = T.alloc_reducer((1,), "float32", op="sum")
            T.clear(cleared)
            for i in T.Parallel(8):
                T.reducer_update(cleared[0], again[i])
            T.finalize_reducer(cleared, result)
            T.copy(result, Y[1:2])

    x = np.arange(8, dtype=np.float32)
    y = check(kernel, target, x, zeros("float32", 3))[1]
    assert y.tolist() == [29.5, 28.0, 0.0]


@pytest.mark.parametrize("blocks", [0, None], ids=["of numbers", "of sizes"])
def test_grids_without_blocks(target, blocks):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(n if blocks is None else blocks, threads=32):
            Y[0] = 1.0

    y = check(kernel, target, zeros("float32", 0), zeros("float32", 4))[1]
    assert not y.any()
