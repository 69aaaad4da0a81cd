"""A loop of attention whose turn would not end without what another warpgroup does later has no turns."""

from __future__ import annotations

from typing import Any

import pytest

import tilecore.language as T

from .kit import body, ran_as_interpreted

HALF = "float16"
BLOCKS, STEPS, COLUMNS, DEPTH = 4, 4, 64, 64
ROWS = T.GemmWarpPolicy.FullRow


@T.macro
def weigh(scores, total, out, weights):
    """The weights of a tile of keys, and the sums of before divided by their total."""
    for i, j in T.Parallel(*scores.shape):
        scores[i, j] = T.exp2(scores[i, j] * 0.125)
    T.reduce_sum(scores, total, dim=1)
    for i, j in T.Parallel(*out.shape):
        out[i, j] = out[i, j] / (total[i] + 1)
    T.copy(scores, weights)


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
                if place == "behind":
                    T.gemm(weights, v[first : first + COLUMNS, :], out, policy=ROWS)
                if what == "barrier":
                    T.sync_threads()
                if what == "break" and block + step == 3:
                    break
                if what == "continue" and block + step == 3:
                    continue
                if place == "between":
                    T.gemm(weights, v[first : first + COLUMNS, :], out, policy=ROWS)
                weigh(scores, total, out, weights)
            T.copy(out, Out[block * height, 0])

    return hand_kernel


@pytest.mark.parametrize("what", ["barrier", "break", "continue", "nothing"])
@pytest.mark.parametrize("place", ["between", "behind"])
@pytest.mark.parametrize("warpgroups", [2, 3])
def test_a_barrier_or_a_jump(warpgroups, place, what):
    """The turn of three warpgroups ends behind the second product, that of two behind the wait after it."""
    is_outside = what == "nothing" or (warpgroups == 3 and place == "behind")
    kernel = ran_as_interpreted(overlapped_by_hand(warpgroups, place, what))
    assert ("turn ==" in body(kernel)) == is_outside


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
                weigh(scores, total, out, weights)
                T.gemm(weights, k, out, policy=ROWS)
            T.copy(out, Out[block * height, 0])
            if loads > 0:
                T.copy(added, Added[block * COLUMNS, 0])

    return shared_kernel


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize(("loads", "meets"), [(0, True), (1, False), (2, False), (3, False)])
def test_behind_the_scores_of_keys_that_are_values(stages, loads, meets):
    """A tile that is waited for in a turn, behind the release of another one to the same slot, waits for the others."""
    ran_as_interpreted(keys_are_values(stages, loads, meets))
