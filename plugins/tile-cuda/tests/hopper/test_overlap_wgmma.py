"""Overlapped wgmma: several forms of attention have the same results with and without the overlap."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, body, built, chosen, has_roles, rows, small, wide

HALF = "float16"
NEVER = -1e30


def attention(length, dim=64, queries=64, keys=64, threads=128, stages=2, mask="ragged", tiles=None, unused=0):
    """Q, K, V, O [length, dim]. mask: "ragged" at k == 0, the last keys first; "causal" at k < 2, so that two tiles are
    masked; "odd" where k % 2 == 1 (key 0 is hidden), besides the end. tiles: visited, when fewer than all. unused:
    columns of a fragment that nothing uses."""
    blocks = -(-length // keys)

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor((length, dim), HALF), K: T.Tensor((length, dim), HALF), V: T.Tensor((length, dim), HALF),
        Y: T.Tensor((length, dim), HALF),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, queries), threads=threads) as bx:
            q, k, v = (
                T.alloc_shared((queries, dim), HALF),
                T.alloc_shared((keys, dim), HALF),
                T.alloc_shared((keys, dim), HALF),
            )
            s, w = T.alloc_fragment((queries, keys), "float32"), T.alloc_fragment((queries, keys), HALF)
            o, top = T.alloc_fragment((queries, dim), "float32"), T.alloc_fragment((queries,), "float32")
            before, total = T.alloc_fragment((queries,), "float32"), T.alloc_fragment((queries,), "float32")
            row_total = T.alloc_fragment((queries,), "float32")
            if unused:
                T.alloc_fragment((queries, unused), HALF)
            T.copy(Q[bx * queries, 0], q)
            T.clear(o)
            T.clear(total)
            T.fill(top, NEVER)
            last = T.min((bx * queries + queries - 1) // keys, blocks - 1) if mask == "causal" else blocks - 1
            for i in T.Pipelined(tiles or last + 1, num_stages=stages):
                key = (last - i) * keys
                T.copy(K[key, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                if i < 2 if mask == "causal" else i == 0:
                    for x, y in T.Parallel(queries, keys):
                        seen = key + y <= bx * queries + x if mask == "causal" else key + y < length
                        s[x, y] = T.if_then_else(seen, s[x, y], NEVER)
                if mask == "odd" and i % 2 == 1:
                    for x, y in T.Parallel(queries, keys):
                        s[x, y] = T.if_then_else(key + y == 0, NEVER, s[x, y])
                T.copy(top, before)
                T.reduce_max(s, top, dim=1, clear=False)
                for x, y in T.Parallel(queries, keys):
                    s[x, y] = T.exp2(s[x, y] - top[x])
                T.reduce_sum(s, row_total, dim=1)
                for x in T.Parallel(queries):
                    total[x] = total[x] * T.exp2(before[x] - top[x]) + row_total[x]
                for x, y in T.Parallel(queries, dim):
                    o[x, y] *= T.exp2(before[x] - top[x])
                T.copy(s, w)
                T.copy(V[key, 0], v)
                T.gemm(w, v, o, policy=T.GemmWarpPolicy.FullRow)
            for x, y in T.Parallel(queries, dim):
                o[x, y] /= total[x]
            T.copy(o, Y[bx * queries, 0])

    return attention_kernel


def reference(q, k, v, mask, hides_first):
    scores = wide(q) @ wide(k).T
    length = len(q)
    if mask == "causal":
        scores[np.triu_indices(length, 1)] = NEVER
    if hides_first:
        scores[:, 0] = NEVER
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    return weights @ wide(v) / weights.sum(1, keepdims=True)


def inputs(length, dim):
    rng = np.random.default_rng(length)
    q, k, v = (rng.standard_normal((length, dim)).astype(np.float16) for _ in range(3))
    return (q / np.float16(4)), k, v


CASES = {
    "one tile of keys": {"length": 64},
    "a part of a tile": {"length": 40},
    "two tiles": {"length": 128},
    "an odd length": {"length": 201},
    "many tiles": {"length": 320, "keys": 32},
    "two warpgroups": {"length": 129, "queries": 128, "threads": 256},
    "keys wider than queries": {"length": 300, "keys": 96},
    "three stages": {"length": 330, "stages": 3},
    "wide heads": {"length": 96, "dim": 128},
    "causal": {"length": 200, "mask": "causal"},
    "causal, one tile": {"length": 33, "mask": "causal"},
    "causal, narrow tiles of keys": {"length": 190, "mask": "causal", "keys": 32},
    "every other tile": {"length": 250, "mask": "odd"},
}


@pytest.mark.parametrize("name", CASES)
def test_attention(name):
    options = {"dim": 64, "mask": "ragged", **CASES[name]}
    func = attention(**options)
    length, dim, mask = options["length"], options["dim"], options["mask"]
    q, k, v = inputs(length, dim)
    tiles = -(-length // options.get("keys", 64))
    expected = reference(q, k, v, mask, mask == "odd" and tiles % 2 == 0)
    results = []
    for off in ((), (CONFIGS.TL_DISABLE_PRODUCT_OVERLAP,)):
        kernel = built(func, *off)
        assert has_roles(kernel)
        assert set(chosen(kernel, "gemm")) == {"wgmma"}
        assert [row["products"] for row in rows(kernel, "overlaps")] == ([] if off else [2])
        out = np.zeros((length, dim), np.float16)
        kernel(q, k, v, out)
        np.testing.assert_allclose(wide(out), expected, atol=2e-3)
        results.append(out)
    np.testing.assert_array_equal(*results)


def test_the_first_step_alone_pays_for_its_mask():
    """A condition k == 0 is decided in the peeled first iteration."""
    text = body(built(attention(200)))
    first, loop = text.split("for (int i = 1;", 1)
    assert "< 200" in first.split("tc_wgmma", 1)[1]
    assert "< 200" not in loop.split("\n      }\n", 1)[0]


def test_a_fragment_that_nothing_uses_takes_no_registers():
    """It is easily left over, as where queries are in registers on request."""
    kernel = built(attention(256, 128, 128, 128, 256, unused=256))
    assert [row.get("products") for row in rows(kernel, "overlaps")] == [2]


LOOPS = {
    "other statements follow its last matrix product": "after",
    "threads, not the producer warp, load tiles in it": "copied",
    "its iterations allocate buffers or bind values": "own",
    "both its first statements and its last matrix product use s": "same sums",
    "it has no wgmma": "conditional",
}


def loop_of(obstacle):
    """A loop of two products, of which the second cannot overlap with the next step because of ``obstacle``."""
    rows_of_b = 60 if obstacle == "copied" else 64

    @T.prim_func
    def declines(A: T.Tensor((128, 192), HALF), B: T.Tensor((192, rows_of_b), HALF), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            s, o = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.clear(o)
            T.clear(s)
            for i in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 64, i * 64], a)
                T.copy(B[i * 64, 0], b)
                if obstacle == "own":
                    mine = T.alloc_fragment((64, 64), "float32")
                    T.gemm(a, b, mine, clear_accum=True)
                    for x, y in T.Parallel(64, 64):
                        o[x, y] += mine[x, y]
                elif obstacle == "same sums":
                    T.gemm(a, b, s, clear_accum=i > 1)
                    for x, y in T.Parallel(64, 64):
                        o[x, y] += s[x, y]
                    T.gemm(a, b, s)
                elif obstacle == "conditional":
                    if i > 0:
                        T.gemm(a, b, o)
                else:
                    T.gemm(a, b, o)
                if obstacle == "after":
                    for x, y in T.Parallel(64, 64):
                        o[x, y] *= 0.5
            for x, y in T.Parallel(64, 64):
                o[x, y] += s[x, y]
            T.copy(o, C[by * 64, 0])

    return declines, (small(HALF, (128, 192)), small(HALF, (192, rows_of_b), 1), np.zeros((128, 64), np.float32))


@pytest.mark.parametrize("reason", LOOPS)
def test_loops_that_stay_as_they_are(reason):
    func, args = loop_of(LOOPS[reason])
    kernel = built(func)
    assert has_roles(kernel)
    assert [row.get("declined") for row in rows(kernel, "overlaps")] == [reason]
    assert f"  i: no: {reason}" in str(kernel.explain())
    as_interpreted(func, kernel, *args)


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
def test_a_circular_buffer_without_a_spare_slot_is_released_in_its_step(stages):
    """The producer would wait for a release that comes after the next step's tile, or load nothing until then."""

    rows_of_a = 512

    @T.prim_func
    def second_loop(
        A: T.Tensor((rows_of_a, 192), HALF), B: T.Tensor((192, 64), HALF), C: T.Tensor((rows_of_a, 64), "float32"),
        D: T.Tensor((rows_of_a, 128), "float32"),
    ):  # fmt: skip
        with T.Kernel(4, threads=128) as by:
            a, b, other = (
                T.alloc_shared((128, 64), HALF),
                T.alloc_shared((64, 64), HALF),
                T.alloc_shared((128, 64), HALF),
            )
            c, d = T.alloc_fragment((128, 64), "float32"), T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            T.clear(d)
            for k in T.Pipelined(3, num_stages=3):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            for i in T.Pipelined(3, num_stages=stages):
                T.copy(A[by * 128, i * 64], other)
                T.gemm(other, other, d, transpose_B=True)
            T.copy(c, C[by * 128, 0])
            T.copy(d, D[by * 128, 0])

    kernel = built(second_loop, target="cuda -arch=sm_90a -multiprocessors=1")  # which runs fewer blocks at once
    assert has_roles(kernel)
    reasons = {row["loop"]: row.get("declined") for row in rows(kernel, "overlaps")}
    assert reasons == {"k": None, "i": f"other would need 3 stages and has {max(stages, 1)}" if stages < 3 else None}
    sums = [np.zeros((512, 64), np.float32), np.zeros((512, 128), np.float32)]
    as_interpreted(second_loop, kernel, small(HALF, (512, 192)), small(HALF, (192, 64), 1), *sums)


@pytest.mark.parametrize("stages", [2, 3])
def test_a_circular_buffer_that_is_loaded_twice_in_a_step(stages):
    @T.prim_func
    def twice(A: T.Tensor((256, 384), HALF), B: T.Tensor((64, 64), HALF), C: T.Tensor((256, 64), "float32")):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            T.copy(B, b)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[by * 128, k * 128], a)
                T.gemm(a, b, c)
                T.copy(A[by * 128, k * 128 + 64], a)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 128, 0])

    kernel = built(twice)
    assert has_roles(kernel)
    (overlap,) = rows(kernel, "overlaps")
    assert "declined" in overlap
    as_interpreted(twice, kernel, small(HALF, (256, 384)), small(HALF, (64, 64), 1), np.zeros((256, 64), np.float32))
