"""Two warpgroups or more issue the products of attention by turns; other kernels have no turns."""

from __future__ import annotations

from typing import Any

import pytest

import tilecore.language as T

from .kit import CONFIGS, body, built, ran_as_interpreted, rows

HALF = "float16"
DEPTH = 64


def attention(
    warpgroups: int, steps: Any, columns: int = 64, blocks: int = 7, meets: bool = False, depth: int = DEPTH,
    weights_in_shared: bool = False,
) -> Any:  # fmt: skip
    """Attention without scaling, 64 queries a warpgroup, ``steps(block)`` tiles of keys. meets: threads meet at a named
    barrier that the user numbers."""
    height = 64 * warpgroups
    most = max(int(steps(block)) for block in range(blocks))

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor((blocks * height, depth), HALF),
        K: T.Tensor((most * columns, depth), HALF),
        V: T.Tensor((most * columns, depth), HALF),
        Out: T.Tensor((blocks * height, depth), "float32"),
    ):
        with T.Kernel(blocks, threads=128 * warpgroups) as block:
            q, k = T.alloc_shared((height, depth), HALF), T.alloc_shared((columns, depth), HALF)
            v = T.alloc_shared((columns, depth), HALF)
            scores, weights = T.alloc_fragment((height, columns), "float32"), T.alloc_fragment((height, columns), HALF)
            if weights_in_shared:
                stored = T.alloc_shared((height, columns), HALF)
            out, total = T.alloc_fragment((height, depth), "float32"), T.alloc_fragment((height,), "float32")
            T.copy(Q[block * height, 0], q)
            T.clear(out)
            for step in T.Pipelined(steps(block), num_stages=2):
                T.copy(K[step * columns, 0], k)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(height, columns):
                    scores[i, j] = T.exp2(scores[i, j] * 0.125)
                T.reduce_sum(scores, total, dim=1)
                for i, j in T.Parallel(height, depth):
                    out[i, j] = out[i, j] / total[i]
                T.copy(scores, weights)
                T.copy(V[step * columns, 0], v)
                if weights_in_shared:
                    T.copy(weights, stored)
                    T.gemm(stored, v, out, policy=T.GemmWarpPolicy.FullRow)
                else:
                    T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            if meets:
                T.named_barrier_arrive(5, 128 * warpgroups * 2)
                T.sync_threads(5, 128 * warpgroups * 2)
            T.copy(out, Out[block * height, 0])

    return attention_kernel


def ran(func: Any, *off: CONFIGS) -> tuple[Any, str]:
    """The kernel, which computes what the interpreter does, and its source."""
    kernel = ran_as_interpreted(func, *off)
    return kernel, body(kernel)


@pytest.mark.parametrize("warpgroups", [3, 4])
@pytest.mark.parametrize("steps", [lambda block: 5, lambda block: block + 1], ids=["even", "uneven"])
@pytest.mark.parametrize("off", [(), (CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS,)], ids=["persistent", "alone"])
def test_a_turn_has_both_products(warpgroups, steps, off):
    kernel, source = ran(attention(warpgroups, steps), *off)
    first, rest = source.split("tc_named_barrier(", 1)
    turn, behind = rest.split("tc_named_barrier_arrive(", 1)
    assert first.count("tc_named_barrier_arrive(8, 256);") == 1  # the last warpgroup gives the first its first turn
    assert f"if (turn == {warpgroups - 1})" in first
    assert turn.startswith("(int)((unsigned)turn + 8u), 256);")
    assert turn.count("tc_warpgroup_commit()") == 2
    assert "tc_warpgroup_wait" not in turn
    assert "tc_exp" not in turn
    assert behind.startswith(f"turn == {warpgroups - 1} ? 8 : (int)((unsigned)turn + 9u), 256);")
    assert "tc_named_barrier" not in behind  # the last product has no turn: nothing follows it
    assert behind.split(";\n")[1].strip() == "tc_warpgroup_wait<1>()"
    assert rows(kernel, "pingpong") == [{"loops": "step", "warpgroups": warpgroups}]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_tiles_of_keys(steps):
    """The loop, which is of the tiles behind the first, has none, one or two iterations."""
    ran(attention(3, lambda block: steps))


@pytest.mark.parametrize("steps", [lambda block: 5, lambda block: block + 1], ids=["even", "uneven"])
@pytest.mark.parametrize(("columns", "depth"), [(64, 64), (128, 64), (192, 64), (128, 32), (96, 48)])
def test_a_turn_of_two_warpgroups_lasts_until_the_scores_are_there(steps, columns, depth):
    kernel, source = ran(attention(2, steps, columns, depth=depth))
    first, rest = source.split("tc_named_barrier(", 1)
    turn, behind = rest.split("tc_named_barrier_arrive(", 1)
    assert first.count("tc_named_barrier_arrive(8, 256);") == 1
    assert "if (turn == 1)" in first
    assert turn.count("tc_warpgroup_commit()") == 2
    assert turn.count("tc_warpgroup_wait<1>()") == 1
    assert (
        turn.index("tc_warpgroup_wait<1>()") < turn.index("tc_warpgroup_settle") < turn.index("tc_transaction_arrive")
    )
    assert "tc_exp" not in turn
    assert "tc_exp" in behind
    assert "tc_named_barrier" not in behind
    assert rows(kernel, "pingpong") == [{"loops": "step", "warpgroups": 2}]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_tiles_of_keys_of_two_warpgroups(steps):
    ran(attention(2, lambda block: steps))


def test_two_warpgroups_whose_products_take_longer_than_their_exponentials():
    """Heads of 80 and more: the products of one would wait for those of the other."""
    kernel, source = ran(attention(2, lambda block: 4, depth=80))
    assert "tc_named_barrier" not in source
    assert not rows(kernel, "pingpong")


def test_weights_in_shared_memory():
    """Threads meet for them in front of the second product, which is then no part of a turn."""
    _, source = ran(attention(2, lambda block: 4, weights_in_shared=True))
    assert "turn ==" not in source


def test_one_warpgroup_takes_no_turns():
    kernel, source = ran(attention(1, lambda block: 4))
    assert "tc_named_barrier" not in source
    assert not rows(kernel, "pingpong")


def test_no_overlap_no_turns():
    _, source = ran(attention(3, lambda block: 4), CONFIGS.TL_DISABLE_PRODUCT_OVERLAP)
    assert "tc_named_barrier" not in source


def test_a_barrier_that_the_user_numbers():
    """It could be one of those of the turns."""
    source = body(built(attention(3, lambda block: 4, meets=True)))
    assert "tc_named_barrier_arrive(5, 768);" in source
    assert "turn ==" not in source


def test_a_product_without_exponentials_takes_no_turns():
    @T.prim_func
    def product_kernel(A: T.Tensor((192, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((192, 64), "float32")):
        with T.Kernel(1, threads=384):
            a, b = T.alloc_shared((192, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((192, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    assert "turn" not in body(built(product_kernel))
