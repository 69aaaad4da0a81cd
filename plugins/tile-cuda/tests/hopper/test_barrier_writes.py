"""Which products a barrier waits for: those that read what threads write before the next barrier."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, built, rows, small
from .test_wait_wgmma import events

HALF = "float16"
CLOSE = {"rtol": 1e-2, "atol": 2e-3}


def shared_rows(length: int, parts: int = 1, tokens: int = 64, latent: int = 128, after: bool = False):
    """Attention to the rows of X, keys and values at once, by two warpgroups that share the columns of both products:
    maxima, sums and weights pass through shared memory. parts: products into which the scores are divided. after: the
    iteration ends with a write to the tile of weights, for which the product has to end."""
    width = latent // parts

    @T.prim_func
    def shared_rows_kernel(
        Q: T.Tensor((64, latent), HALF), X: T.Tensor((length, latent), HALF), Y: T.Tensor((64, latent), "float32")
    ):
        with T.Kernel(1, threads=256):
            q, x = T.alloc_shared((64, latent), HALF), T.alloc_shared((tokens, latent), HALF)
            w = T.alloc_shared((64, tokens), HALF)
            s, o = T.alloc_fragment((64, tokens), "float32"), T.alloc_fragment((64, latent), "float32")
            top, before, total, part = (T.alloc_fragment((64,), "float32") for _ in range(4))
            T.copy(Q, q)
            T.clear(o)
            T.clear(total)
            T.fill(top, -1e30)
            for k in T.Pipelined(T.ceildiv(length, tokens), num_stages=2):
                T.copy(X[k * tokens, 0], x)
                for n in [*range(parts)]:
                    columns = slice(n * width, (n + 1) * width)
                    T.gemm(q[:, columns], x[:, columns], s, transpose_B=True, clear_accum=n == 0)
                for i, j in T.Parallel(64, tokens):
                    s[i, j] = T.if_then_else(k * tokens + j < length, s[i, j], -1e30)
                T.copy(top, before)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, j in T.Parallel(64, tokens):
                    s[i, j] = T.exp2(s[i, j] - top[i])
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(64):
                    total[i] = total[i] * T.exp2(before[i] - top[i]) + part[i]
                for i, j in T.Parallel(64, latent):
                    o[i, j] *= T.exp2(before[i] - top[i])
                T.copy(s, w)
                T.gemm(w, x, o)
                if after:
                    T.clear(w)
            for i, j in T.Parallel(64, latent):
                Y[i, j] = o[i, j] / total[i]

    return shared_rows_kernel


@pytest.mark.parametrize("parts", [1, 2])
def test_a_softmax_runs_beside_the_product_of_the_step_before(parts):
    """The barriers of the maxima do not wait for that product, though it reads weights that threads write later. All
    products of the scores stand in front of it."""
    kernel = built(shared_rows(64 * 40, parts))
    assert [row["products"] for row in rows(kernel, "overlaps")] == [1]
    sequence = [event for event in events(kernel) if event != "loop"]
    at = sequence.index("all but the last")
    assert sequence[at - 5 : at] == ["tiles", "products", "fence", "barrier", "products"]
    assert sequence[at + 1 : at + 5] == ["barrier", "done", "release", "barrier"]


def rewritten(barriers: int):
    """Two warpgroups copy a tile, multiply it, and meet before they copy the next one."""

    @T.prim_func
    def rewritten_kernel(A: T.Tensor((3, 64, 64), HALF), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=256):
            left, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.serial(3):
                for i, j in T.Parallel(128, 64):
                    left[i, j] = A[k, i % 64, j]
                T.copy(A[k, :, :], b, disable_tma=True)
                T.gemm(left, b, c)
                for _ in [*range(barriers)]:
                    T.sync_threads()
            T.copy(c, C)

    return rewritten_kernel


@pytest.mark.parametrize("barriers", [0, 1, 2, 3])
def test_the_last_barrier_in_front_of_a_write_waits(barriers):
    func = rewritten(barriers)
    kernel = built(func)
    sequence = [event for event in events(kernel) if event != "loop"]
    at = len(sequence) - 1 - sequence[::-1].index("products")
    unwaited = ["barrier"] if barriers > 1 else []  # consecutive events of one kind are one
    if barriers:
        assert sequence[at + 1 :][: len(unwaited) + 2] == [*unwaited, "done", "barrier"]
    else:
        begin = sequence.index("done")
        assert sequence[begin : begin + 2] == ["done", "barrier"]
    as_interpreted(func, kernel, small(HALF, (3, 64, 64)), np.zeros((128, 64), np.float32))


@pytest.mark.parametrize("length", [1, 64, 65, 128, 333])
@pytest.mark.parametrize("options", [{}, {"parts": 2}, {"after": True}, {"tokens": 32}], ids=str)
def test_right(length, options):
    func = shared_rows(length, **options)
    args = small(HALF, (64, 128), most=1), small(HALF, (length, 128), 1), np.zeros((64, 128), np.float32)
    for off in ((), (CONFIGS.TL_DISABLE_PRODUCT_OVERLAP,)):
        as_interpreted(func, built(func, *off), *args, **CLOSE)
