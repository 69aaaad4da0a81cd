"""What kernels for targets with threads say besides their work: hints, source text, assumptions; what comes of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .kit import check, compiled, has_feature, has_warps, moves, same, sample, zeros


def needs_source(target):
    if not has_feature(target, "source"):
        pytest.skip("the target compiles no source text")


TWICE = "TC_FN float twice(float x) { return x + x; }"


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

    check(kernel, target, zeros("float32", 64))  # a hint, which changes no result


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
    if has_warps(target):
        source = compiled(kernel, target).get_kernel_source()
        assert re.search(r"#pragma unroll 4\n|unroll=4\b", source)
        assert re.search(r"#pragma unroll\n|unroll_full=True", source)


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
    if has_warps(target):
        assert moves(built.get_kernel_source(), "Y", 16) == assumed


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


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "bool"])
@pytest.mark.parametrize("width", [32, 8])
def test_values_of_other_threads_of_the_warp(target, dtype, width):
    @T.prim_func
    def kernel(X: T.Tensor((64,), dtype), Y: T.Tensor((6, 64), dtype)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            mine = X[tx]
            Y[0, tx] = T.shfl_sync(mine, 5, width=width)
            Y[1, tx] = T.shfl_sync(mine, (tx * 3 + 1) % 32, width)
            Y[2, tx] = T.shfl_xor(mine, 6, width)
            Y[3, tx] = T.shfl_up(mine, 3, width)
            Y[4, tx] = T.shfl_down(mine, 2, width)
            if tx < 32:  # a whole warp
                Y[5, tx] = T.shfl_down(mine, T.cast(tx % 4, "int32"), width)

    x = sample(dtype, 64)
    if not has_warps(target):
        with pytest.raises(tilecore.errors.UnsupportedError, match=r"T\.shfl_sync"):
            compiled(kernel, target)
        return
    y = check(kernel, target, x, zeros(dtype, (6, 64)))[1]
    part = np.arange(64) // width * width
    same(y[0], x[part + 5])
    same(y[2], x[np.arange(64) ^ 6])
    same(y[3], x[np.where(np.arange(64) - 3 >= part, np.arange(64) - 3, np.arange(64))])


def test_a_sum_by_shuffles_and_votes(target):
    if not has_warps(target):
        pytest.skip("it has no shuffles")

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), S: T.Tensor((2,), "float32"), V: T.Tensor((64,), "uint32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total = T.alloc_var("float32", init=X[tx])
            for k in T.serial(5):
                total += T.shfl_down(total, 16 >> k)
            if T.get_lane_idx() == 0:
                S[T.get_warp_idx()] = total
            V[tx] = T.ballot(X[tx] > 0)

    x = sample("float32", 64).round()
    _, s, v = check(kernel, target, x, zeros("float32", 2), zeros("uint32", 64))
    same(s, x.reshape(2, 32).sum(1))
    assert v[0] == sum(1 << i for i in range(32) if x[i] > 0)


def test_equal_values_and_bits_of_a_warp(target):
    if not has_warps(target):
        pytest.skip("it has no shuffles")

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), P: T.Tensor((6, 64), "uint32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            peers = T.match_any_sync(X[tx])
            P[0, tx] = peers
            P[1, tx] = T.match_all_sync(T.get_warp_idx())
            P[2, tx] = T.match_all_sync(X[tx])
            P[3, tx] = T.cast(T.activemask(), "uint32")
            P[4, tx] = T.cast(T.__ffs(peers), "uint32")
            P[5, tx] = T.__fns(peers, T.get_lane_idx(), 2)

    x = np.random.default_rng(3).integers(0, 6, 64).astype(np.int32)
    _, p = check(kernel, target, x, zeros("uint32", (6, 64)))
    peers = [sum(1 << i for i in range(32) if x[t // 32 * 32 + i] == x[t]) for t in range(64)]
    same(p[0], np.array(peers, np.uint32))
    same(p[1:4], np.array([[0xFFFFFFFF], [0], [0xFFFFFFFF]], np.uint32) * np.ones((1, 64), np.uint32))
    same(p[4], np.array([(bits & -bits).bit_length() for bits in peers], np.uint32))
    above = [[i for i in range(t % 32 + 1, 32) if peers[t] >> i & 1] for t in range(64)]
    same(p[5], np.array([places[0] if places else 0xFFFFFFFF for places in above], np.uint32))


def test_shuffles_that_make_no_sense():
    from tilecore.errors import LanguageError, UnsupportedError

    def kernel(threads, call):
        @T.prim_func
        def shuffle(X: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=threads):
                X[T.get_thread_binding()] = call(X[T.get_thread_binding()])

        return shuffle.ir

    for threads, call, error in (
        (48, lambda v: T.shfl_xor(v, 1), LanguageError),
        (64, lambda v: T.shfl_up(v, 1, width=5), LanguageError),
        (64, lambda v: T.shfl_sync(v, 1, mask=3), UnsupportedError),
        (48, lambda v: T.cast(T.ballot(v > 0), "float32"), LanguageError),
    ):
        with pytest.raises(error, match="T\\."):
            kernel(threads, call)
