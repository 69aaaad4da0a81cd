"""What kernels for targets with threads say besides their work: hints, source text, assumptions; what comes of it."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .kit import check, compiled, same, sample, zeros


def has_threads(target):
    return not target.startswith("cpu")


def needs_source(target):
    backend, resolved = tilecore.plugins.manager.resolve(target)
    if "source" not in backend.target.capabilities(resolved).features:
        pytest.skip("the target compiles no source text")


TWICE = "__device__ float twice(float x) { return x + x; }"


@pytest.mark.parametrize("where", ["prelude", "import_source"])
def test_functions_in_source_text(target, where):
    needs_source(target)

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32, prelude=TWICE if where == "prelude" else None):
            if where == "import_source":
                T.import_source(TWICE)
            tile = T.alloc_shared((64,), "float32")
            T.copy(X, tile)
            for i in T.Parallel(64):
                tile[i] = T.call_extern("float32", "twice", tile[i]) + 1.0
            T.copy(tile, Y)
        with T.Kernel(1, threads=32):
            T.import_source(TWICE)  # once in the source
            for i in T.Parallel(64):
                Y[i] = T.call_extern("float32", "twice", Y[i])

    x, y = sample("float32", 64), zeros("float32", 64)
    built = compiled(kernel, target)
    built(x, y)
    same(y, (x + x + 1) * 2)
    assert built.get_kernel_source().count(TWICE) == 1


def test_blocks_of_a_core(target):
    @T.prim_func
    def kernel(Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            T.fill(Y[0:32], 1.0)
        with T.Kernel(1, threads=64):
            T.annotate_min_blocks_per_sm(2)
            T.annotate_min_blocks_per_sm(3)
            T.fill(Y[32:64], 2.0)

    check(kernel, target, zeros("float32", 64))
    if has_threads(target):
        source = compiled(kernel, target).get_kernel_source()
        assert "(32) kernel_kernel_0(" in source
        assert "(64, 3) kernel_kernel_1(" in source


def test_how_far_loops_unroll(target):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32) as b:
            tx = T.get_thread_binding()
            total = T.alloc_var("float32", init=0)
            for j in T.unroll(8, unroll_factor=4):
                total += X[(b * 32 + tx + j) % 64]
            for j in T.unroll(2, explicit=True):
                total += X[(tx + j) % 64]
            Y[b * 32 + tx] = total

    check(kernel, target, np.arange(64, dtype=np.float32), zeros("float32", 64))
    if has_threads(target):
        source = compiled(kernel, target).get_kernel_source()
        assert "#pragma unroll 4\n" in source
        assert "#pragma unroll\n" in source


@pytest.mark.parametrize("assumed", [True, False])
def test_sizes_of_the_call_that_a_number_divides(target, assumed):
    n, m = T.dynamic("n m")

    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float16"), Y: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 16), threads=64) as (bx, by):
            if assumed:
                T.assume(n % 4 == 0 and n % 8 == 0)
            tile = T.alloc_shared((16, 64), "float16")
            T.copy(X[by * 16, bx * 64], tile)
            for i, j in T.Parallel(16, 64):
                Y[by * 16 + i, bx * 64 + j] = tile[i, j] * T.float16(2)

    built = compiled(kernel, target)
    for rows, columns in ((16, 64), (5, 72), (33, 8)):
        x, y = sample("float16", (rows, columns)), zeros("float16", (rows, columns))
        built(x, y)
        same(y, x * np.float16(2))
    if has_threads(target):
        assert ("<16>(Y + " in built.get_kernel_source()) == assumed


def test_an_assumption_in_a_condition_holds_only_there(target):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((8, n), "float16"), Y: T.Tensor((8, n), "float16")):
        with T.Kernel(1, threads=32):
            if n > 1000:
                T.assume(n % 8 == 0)
            for i, j in T.Parallel(8, 64):
                Y[i, j] = X[i, j]

    x = sample("float16", (8, 37))
    same(check(kernel, target, x, zeros("float16", (8, 37)))[1], x)
