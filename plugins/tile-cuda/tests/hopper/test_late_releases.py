"""TL_LATE_RELEASES: a release of a slot does not wait for its product where later code can run beside the product."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, body, built, has_roles, small

HALF = "float16"
STEPS = 5


def two_products(between="nothing"):
    """In each step two sums of products, of which the first also changes ``kept`` beside the second product.

    between: what stands between them and that change, "a load of the first tile" or nothing."""

    @T.prim_func
    def two(
        A: T.Tensor((64, 64), HALF), B: T.Tensor((STEPS * 64, 64), HALF), C: T.Tensor((STEPS * 64, 64), HALF),
        First: T.Tensor((64, 64), "float32"), Second: T.Tensor((64, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            a, b, c = (T.alloc_shared((64, 64), HALF) for _ in range(3))
            first, second, kept = (T.alloc_fragment((64, 64), "float32") for _ in range(3))
            T.copy(A, a)
            T.clear(second)
            T.clear(kept)
            for step in T.Pipelined(STEPS, num_stages=2):
                T.copy(B[step * 64, 0], b)
                T.gemm(a, b, first, clear_accum=True)
                T.copy(C[step * 64, 0], c)
                T.gemm(a, c, second)
                if between == "a load of the first tile":
                    T.copy(C[step * 64, 0], b)
                    T.gemm(a, b, second)
                for i, j in T.Parallel(64, 64):
                    kept[i, j] = kept[i, j] * 0.5 + first[i, j]
            T.copy(kept, First)
            T.copy(second, Second)

    return two


def arguments():
    shapes = (64, 64), (STEPS * 64, 64), (STEPS * 64, 64)
    sums = [np.zeros((64, 64), np.float32) for _ in range(2)]
    return [small(HALF, shape, seed) for seed, shape in enumerate(shapes)] + sums


def events(kernel):
    """Of the loop: releases by tile, waits by the groups that they leave, and the change of ``kept``."""
    loop = body(kernel).split("for (int step = 0;", 1)[1].split("tc_keep_registers", 1)[0]
    found = re.findall(r"arrive\((\w)_empty|warpgroup_wait<(\d)>|(kept)\[[^;]*\] = ", loop)
    return ["".join(parts) for parts in found]


def test_releases_stand_behind_the_work_beside_the_product():
    late, usual = built(two_products(), CONFIGS.TL_LATE_RELEASES), built(two_products())
    assert has_roles(late)
    assert events(usual) == ["0", "b", "0", "c", "kept"]
    # the load of c is waited for behind the release of b; the first wait is for ptxas
    assert events(late) == ["0", "0", "b", "kept", "0", "c"]
    for kernel in (late, usual):
        as_interpreted(two_products(), kernel, *arguments())


@pytest.mark.parametrize("between", ["nothing", "a load of the first tile"])
@pytest.mark.parametrize("off", [(), (CONFIGS.TL_DISABLE_PRODUCT_OVERLAP,)])
def test_the_producer_never_waits_for_a_release_behind_its_load(between, off):
    """The simulated device reports a deadlock; a tile that is loaded twice in a step has slots for one more only."""
    func = two_products(between)
    as_interpreted(func, built(func, CONFIGS.TL_LATE_RELEASES, *off), *arguments())


def test_operands_that_the_loop_writes_are_packed_in_front_of_their_product():
    """Of the two operands in registers only the weights are new in each step."""

    @T.prim_func
    def weighted(B: T.Tensor((STEPS * 64, 64), HALF), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            b = T.alloc_shared((64, 64), HALF)
            scores, out = (T.alloc_fragment((64, 64), "float32") for _ in range(2))
            weights = T.alloc_fragment((64, 64), HALF)
            T.clear(out)
            for step in T.Pipelined(STEPS, num_stages=2):
                T.copy(B[step * 64, 0], b)
                T.gemm(b, b, scores, transpose_B=True, clear_accum=True)
                T.copy(scores, weights)
                T.gemm(weights, b, out)
            T.copy(out, C)

    late, usual = built(weighted, CONFIGS.TL_LATE_RELEASES), built(weighted)
    assert "tc_warpgroup_settle<32>(weights);" in body(late)
    assert "(weights);" not in body(usual)
    behind = body(late).split("tc_warpgroup_settle<32>(weights);", 1)[1]
    assert "weights[" not in behind.split("tc_warpgroup_begin();", 1)[0]
    tiles = small(HALF, (STEPS * 64, 64), 0), np.zeros((64, 64), np.float32)
    as_interpreted(weighted, late, *tiles)


def test_without_the_option_nothing_changes():
    assert body(built(two_products())) == body(built(two_products(), configs={CONFIGS.TL_LATE_RELEASES: False}))
