"""The first product of the next iteration ahead: attention has the same results, and other loops stay as they are."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, body, built, has_roles, rows, small, wide
from .test_overlap_wgmma import CASES, attention, inputs, reference

HALF = "float16"
SEVERAL = "a condition tells more than its first iteration from the others"


def ahead(func, eighths=5, **configs):
    return built(func, configs={CONFIGS.TL_PRODUCT_AHEAD: eighths, **configs})


def reasons(kernel):
    """Why loops stay as they are."""
    texts = [row["text"] for row in rows(kernel, "notes")]
    return [text.split("ahead: ", 1)[1] for text in texts if "ahead: " in text]


def check(options, eighths=5, declined=()):
    options = {"dim": 64, "mask": "ragged", **options}
    kernel = ahead(attention(**options), eighths)
    length, dim, mask = options["length"], options["dim"], options["mask"]
    assert has_roles(kernel)
    assert reasons(kernel) == list(declined)
    assert [row.get("ahead") for row in rows(kernel, "overlaps")] == [None if declined else "yes"]
    q, k, v = inputs(length, dim)
    tiles = -(-length // options.get("keys", 64))
    out = np.zeros((length, dim), np.float16)
    kernel(q, k, v, out)
    np.testing.assert_allclose(wide(out), reference(q, k, v, mask, mask == "odd" and tiles % 2 == 0), atol=2e-3)


@pytest.mark.parametrize("name", CASES)
def test_attention(name):
    several = CASES[name].get("mask") in ("causal", "odd") and name != "causal, one tile"
    check(CASES[name], declined=[SEVERAL] if several else [])


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 420), st.sampled_from([32, 64, 96]), st.integers(1, 8), st.integers(2, 3))
def test_any_number_of_tiles(length, keys, eighths, stages):
    check({"length": length, "keys": keys, "stages": stages}, eighths)


def counted(obstacle=""):
    """A loop with as many iterations as the block has number; ``obstacle``: why its first product cannot go ahead."""

    @T.prim_func
    def counted_kernel(
        A: T.Tensor((128, 64), HALF), B: T.Tensor((448, 64), HALF), C: T.Tensor((7, 128, 64), "float32")
    ):
        with T.Kernel(7, threads=256) as bx:
            a, b, c = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            s, w = T.alloc_fragment((128, 64), "float32"), T.alloc_fragment((128, 64), HALF)
            o = T.alloc_fragment((128, 64), "float32")
            T.copy(A, a)
            T.clear(o)
            if obstacle in ("adds", "used"):
                T.clear(s)
            for i in T.Pipelined(bx, num_stages=1 if obstacle == "slots" else 2):
                T.copy(B[i * 64, 0], b)
                if obstacle == "adds":
                    T.gemm(a, b, s, transpose_B=True, clear_accum=i > 2)
                else:
                    T.gemm(a, b, s, transpose_B=True, clear_accum=True)
                for x, y in T.Parallel(128, 64):
                    w[x, y] = s[x, y] * 0.25
                if obstacle == "one product":
                    for x, y in T.Parallel(128, 64):
                        o[x, y] += w[x, y]
                else:
                    T.copy(B[i * 64, 0], c)
                    T.gemm(w, c, o)
            if obstacle == "used":
                for x, y in T.Parallel(128, 64):
                    o[x, y] += s[x, y]
            T.copy(o, C[bx, :, :])

    return counted_kernel


def arguments():
    return small(HALF, (128, 64), most=1), small(HALF, (448, 64), 1, most=1), np.zeros((7, 128, 64), np.float32)


def test_a_number_of_iterations_that_differs_between_blocks():
    """0 iterations, one, and even and odd numbers of them."""
    kernel = ahead(counted())
    assert reasons(kernel) == []
    as_interpreted(counted(), kernel, *arguments())


OBSTACLES = {
    "one product": "its iterations have one matrix product|other statements follow its last matrix product",
    "adds": "its first matrix product adds to what is there",
    "used": "code outside of the loop uses s",
    "slots": "c would need 2 stages and has 1",
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_loops_that_stay_as_they_are(obstacle):
    kernel = ahead(counted(obstacle))
    (reason,) = reasons(kernel)
    assert re.fullmatch(OBSTACLES[obstacle], reason)
    as_interpreted(counted(obstacle), kernel, *arguments())


def test_too_few_registers():
    kernel = ahead(attention(256, dim=128, queries=128, keys=128, threads=256))
    (reason,) = reasons(kernel)
    assert re.fullmatch(r"with a second s a thread would need \d+ registers, and has 240", reason)


@pytest.mark.parametrize("eighths", [0, 9, -1])
def test_a_number_that_counts_no_eighths(eighths):
    (reason,) = reasons(ahead(attention(64), eighths))
    assert reason == f"TL_PRODUCT_AHEAD is {eighths}, and counts eighths, 1 to 8"


def test_not_set():
    assert body(built(attention(200))) == body(built(attention(200), configs={CONFIGS.TL_PRODUCT_AHEAD: None}))


def test_both_products_are_issued_before_the_exponentials_and_end_among_them():
    loop = body(ahead(attention(640, queries=64, keys=64), 5)).split("_pair < ", 1)[1].split("\n      }\n", 1)[0]
    events = re.findall(r"tc_wgmma_\w+(?:<\w+(?:, \w+)*>)?\((s|s_next|o)\b|(tc_warpgroup_wait<0>)|s0 < (\d+)", loop)
    order = [name or wait or f"{count} steps" for name, wait, count in events]
    first = order.index("tc_warpgroup_wait<0>")
    assert order[:first].index("s") < order[:first].index("o")  # iteration 1 works on s_next, iteration 2 comes next
    assert order[first - 1] == "5 steps"  # of 8: five eighths of the exponentials
    assert order[first + 1] == "3 steps"
    assert order.count("tc_warpgroup_wait<0>") == 2
    assert "tc_warpgroup_wait<1>" not in loop
