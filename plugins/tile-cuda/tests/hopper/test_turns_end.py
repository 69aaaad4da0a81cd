"""A loop of attention whose turn would not end without what another warpgroup does later has no turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilecore.language as T

from .kit import as_interpreted, body, built

HALF = "float16"
BLOCKS, STEPS, COLUMNS, DEPTH = 4, 4, 64, 64
ROWS = T.GemmWarpPolicy.FullRow


def _as_interpreted(func: Any) -> str:
    """The source of the kernel, which ends with what the interpreter computes; its tensors of float32 are results."""
    kernel = built(func)
    random = np.random.default_rng(2)
    arrays = []
    for param in kernel.params:
        shape, is_half = [int(extent) for extent in param.shape], str(param.dtype).endswith(HALF)
        arrays.append(random.uniform(-1, 1, shape).astype(HALF) if is_half else np.zeros(shape, np.float32))
    as_interpreted(func, kernel, *arrays, rtol=2e-3, atol=2e-3)
    return body(kernel)


def overlapped_by_hand(warpgroups: int, place: str, what: str) -> Any:
    """Scores and the product of the weights of the step before, both from tiles that stay in shared memory. place:
    "between" the products or "behind" them. what: "barrier", "break" or "continue" stands there, or nothing."""
    height = 64 * warpgroups
    keys = STEPS * COLUMNS

    @T.prim_func
    def hand_kernel(
        Q: T.Tensor((BLOCKS * height, DEPTH), HALF),
        K: T.Tensor((keys, DEPTH), HALF),
        V: T.Tensor((keys, DEPTH), HALF),
        Out: T.Tensor((BLOCKS * height, DEPTH), "float32"),
    ):
        with T.Kernel(BLOCKS, threads=128 * warpgroups) as block:
            q, k = T.alloc_shared((height, DEPTH), HALF), T.alloc_shared((keys, DEPTH), HALF)
            v = T.alloc_shared((keys, DEPTH), HALF)
            scores, weights = T.alloc_fragment((height, COLUMNS), "float32"), T.alloc_fragment((height, COLUMNS), HALF)
            out, total = T.alloc_fragment((height, DEPTH), "float32"), T.alloc_fragment((height,), "float32")
            T.copy(Q[block * height, 0], q)
            T.copy(K, k)
            T.copy(V, v)
            T.clear(out)
            T.clear(weights)
            for step in T.serial(STEPS):
                first = step * COLUMNS
                T.gemm(q, k[first : first + COLUMNS, :], scores, transpose_B=True, clear_accum=True, policy=ROWS)
                if place == "between" and what == "barrier":
                    T.sync_threads()
                if place == "between" and what == "break" and block + step == 3:
                    break
                if place == "between" and what == "continue" and block + step == 3:
                    continue
                T.gemm(weights, v[first : first + COLUMNS, :], out, policy=ROWS)
                if place == "behind" and what == "barrier":
                    T.sync_threads()
                if place == "behind" and what == "break" and block + step == 3:
                    break
                if place == "behind" and what == "continue" and block + step == 3:
                    continue
                for i, j in T.Parallel(height, COLUMNS):
                    scores[i, j] = T.exp2(scores[i, j] * 0.125)
                T.reduce_sum(scores, total, dim=1)
                for i, j in T.Parallel(height, DEPTH):
                    out[i, j] = out[i, j] / (total[i] + 1)
                T.copy(scores, weights)
            T.copy(out, Out[block * height, 0])

    return hand_kernel


@pytest.mark.parametrize("what", ["barrier", "break", "continue", "nothing"])
@pytest.mark.parametrize("place", ["between", "behind"])
@pytest.mark.parametrize("warpgroups", [2, 3])
def test_a_barrier_or_a_jump(warpgroups, place, what):
    """The turn of three warpgroups ends behind the second product, that of two behind the wait after it."""
    is_outside = what == "nothing" or (warpgroups == 3 and place == "behind")
    source = _as_interpreted(overlapped_by_hand(warpgroups, place, what))
    assert ("turn ==" in source) == is_outside


def keys_are_values(stages: int, loads: int, meets: bool) -> Any:
    """One tile is keys and values, so that its slot is not released behind the scores. There the loop loads another
    tile, ``loads`` times, or its threads meet."""
    height = 128

    @T.macro
    def add_tile(X, x, added, number):
        T.copy(X[number * COLUMNS, 0], x)
        for i, j in T.Parallel(COLUMNS, DEPTH):
            added[i, j] += x[i, j]

    @T.prim_func
    def shared_kernel(
        Q: T.Tensor((BLOCKS * height, DEPTH), HALF),
        K: T.Tensor((STEPS * COLUMNS, DEPTH), HALF),
        X: T.Tensor((STEPS * 3 * COLUMNS, DEPTH), HALF),
        Out: T.Tensor((BLOCKS * height, DEPTH), "float32"),
        Added: T.Tensor((BLOCKS * COLUMNS, DEPTH), "float32"),
    ):
        with T.Kernel(BLOCKS, threads=256) as block:
            q, k = T.alloc_shared((height, DEPTH), HALF), T.alloc_shared((COLUMNS, DEPTH), HALF)
            x, added = T.alloc_shared((COLUMNS, DEPTH), HALF), T.alloc_fragment((COLUMNS, DEPTH), "float32")
            scores, weights = T.alloc_fragment((height, COLUMNS), "float32"), T.alloc_fragment((height, COLUMNS), HALF)
            out, total = T.alloc_fragment((height, DEPTH), "float32"), T.alloc_fragment((height,), "float32")
            T.copy(Q[block * height, 0], q)
            T.clear(out)
            T.clear(added)
            for step in T.Pipelined(STEPS, num_stages=stages):
                T.copy(K[step * COLUMNS, 0], k)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True, policy=ROWS)
                if loads > 0:
                    add_tile(X, x, added, step * 3)
                if loads > 1:
                    add_tile(X, x, added, step * 3 + 1)
                if loads > 2:
                    add_tile(X, x, added, step * 3 + 2)
                if meets:
                    T.sync_threads()
                for i, j in T.Parallel(height, COLUMNS):
                    scores[i, j] = T.exp2(scores[i, j] * 0.125)
                T.reduce_sum(scores, total, dim=1)
                for i, j in T.Parallel(height, DEPTH):
                    out[i, j] = out[i, j] / (total[i] + 1)
                T.copy(scores, weights)
                T.gemm(weights, k, out, policy=ROWS)
            T.copy(out, Out[block * height, 0])
            if loads > 0:
                T.copy(added, Added[block * COLUMNS, 0])

    return shared_kernel


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize(("loads", "meets"), [(0, True), (1, False), (2, False), (3, False)])
def test_behind_the_scores_of_keys_that_are_values(stages, loads, meets):
    """A tile that is waited for in a turn, behind the release of another one to the same slot, waits for the others."""
    _as_interpreted(keys_are_values(stages, loads, meets))
