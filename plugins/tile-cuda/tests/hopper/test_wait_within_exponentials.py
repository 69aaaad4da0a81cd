"""The wait for a product that runs beside exponentials is moved among them, where that is allowed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilecore.language as T

from .kit import as_interpreted, body, built

HALF = "float16"
DEPTH, STEPS = 64, 3


def weighted(columns: int, apply: Any = T.exp2, between: str = "registers", warpgroups: int = 1) -> Any:
    """As attention: weights of scores, and products of weights, whose accumulators are scaled in every step.

    between: the memory that code between the exponentials and the scaling accesses. warpgroups: their number, 64 rows
    each.
    """
    rows = 64 * warpgroups

    @T.prim_func
    def weighted_kernel(
        Q: T.Tensor((rows, DEPTH), HALF),
        K: T.Tensor((STEPS * columns, DEPTH), HALF),
        V: T.Tensor((STEPS * columns, DEPTH), HALF),
        Out: T.Tensor((rows, DEPTH), "float32"),
    ):
        with T.Kernel(1, threads=128 * warpgroups):
            q, k = T.alloc_shared((rows, DEPTH), HALF), T.alloc_shared((columns, DEPTH), HALF)
            v, shared_total = T.alloc_shared((columns, DEPTH), HALF), T.alloc_shared((rows,), "float32")
            scores, weights = T.alloc_fragment((rows, columns), "float32"), T.alloc_fragment((rows, columns), HALF)
            out, total = T.alloc_fragment((rows, DEPTH), "float32"), T.alloc_fragment((rows,), "float32")
            T.copy(Q, q)
            T.clear(out)
            for step in T.Pipelined(STEPS, num_stages=2):
                T.copy(K[step * columns, 0], k)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(rows, columns):
                    scores[i, j] = apply(scores[i, j] * 0.125)
                T.reduce_sum(scores, total, dim=1)
                if between == "shared memory":
                    T.copy(total, shared_total)
                    T.copy(shared_total, total)
                for i, j in T.Parallel(rows, DEPTH):
                    out[i, j] = out[i, j] / total[i]
                T.copy(scores, weights)
                T.copy(V[step * columns, 0], v)
                T.gemm(weights, v, out)
            T.copy(out, Out)

    return weighted_kernel


def ran(columns: int, **options: Any) -> str:
    """The loop of the kernel, which computes what the interpreter does."""
    func, height = weighted(columns, **options), 64 * options.get("warpgroups", 1)
    kernel = built(func)
    random = np.random.default_rng(columns)
    tensors = [random.uniform(-1, 1, (length, DEPTH)).astype(HALF) for length in (height, *(STEPS * columns,) * 2)]
    as_interpreted(func, kernel, *tensors, np.zeros((height, DEPTH), np.float32), rtol=2e-3, atol=2e-3)
    source = body(kernel)
    return source[source.index("tc_warpgroup_wait<1>") :]


def exponentials(source: str) -> list[int]:
    """The number of steps of each loop of exponentials."""
    return [int(n) for n in re.findall(r"s0 < (\d+);[^;]*\n(?:(?!s0 <).*\n){0,6}?.*tc_exp", source)]


@pytest.mark.parametrize("apply", [T.exp, T.exp2, T.exp10], ids=lambda f: f.__name__)
@pytest.mark.parametrize("columns", [64, 128, 208])
def test_an_eighth_of_the_exponentials_stands_before_the_wait(columns, apply):
    source = ran(columns, apply=apply)
    before, behind = source.split("tc_warpgroup_wait<0>", 1)
    steps = columns // 8  # of the loop: two columns of each eight are one thread's
    assert before.rstrip().endswith(f"tc_scheduling_fence(scores[{steps // 8 * 4 - 1}]);")
    assert exponentials(before) == [steps // 8]
    assert exponentials(behind.split("tc_wgmma")[0]) == [steps - steps // 8]


def test_few_exponentials_are_left_together():
    assert "tc_scheduling_fence" not in ran(32)


def test_no_wait_crosses_code_on_shared_memory():
    assert "tc_scheduling_fence" not in ran(64, between="shared memory")


def test_other_functions_are_left_together():
    assert "tc_scheduling_fence" not in ran(64, apply=T.abs)


@pytest.mark.parametrize(("warpgroups", "fences"), [(1, 1), (2, 1), (3, 0)])
def test_three_warpgroups_leave_it_to_the_assembler(warpgroups, fences):
    assert ran(64, warpgroups=warpgroups).count("tc_scheduling_fence") == fences
