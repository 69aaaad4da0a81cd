"""Operands of wgmma that are written before a loop are read after it, so that ptxas keeps their registers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore
import tilecore.language as T

HALF, ROWS, STEPS = "float16", 64, 5


def products(is_loaded_in_loop=False, is_nested=False):
    """Out = sum over the steps of (Q * step, in registers) @ K[step], twice where the loop is in another one."""

    @T.prim_func
    def multiply(
        Q: T.Tensor((ROWS, 64), HALF), K: T.Tensor((STEPS * 64, 64), HALF), Out: T.Tensor((ROWS, 64), "float32")
    ):
        with T.Kernel(1, threads=128):
            k_shared = T.alloc_shared((64, 64), HALF)
            q = T.alloc_fragment((ROWS, 64), HALF)
            out = T.alloc_fragment((ROWS, 64), "float32")
            T.clear(out)
            T.copy(Q, q)
            for _ in range(2 if is_nested else 1):
                for step in T.Pipelined(STEPS, num_stages=2):
                    T.copy(K[step * 64, 0], k_shared)
                    if is_loaded_in_loop:
                        for i, j in T.Parallel(ROWS, 64):
                            q[i, j] = Q[i, j] + step
                    T.gemm(q, k_shared, out)
            T.copy(out, Out)

    return multiply


@pytest.mark.parametrize(
    ("options", "count"), [({}, 1), ({"is_loaded_in_loop": True}, 0), ({"is_nested": True}, 1)], ids=str
)
def test_registers_are_read_after_the_loop(options, count):
    kernel = tilecore.compile(products(**options), target="cuda -arch=sm_90a", execution_backend="sim")
    source = kernel.get_kernel_source()
    assert "tc_wgmma_held" in source
    assert source.count("tc_keep_registers<32>(q);") == count
    if count:  # behind the outermost loop, which is indented as it is
        indent = re.search(r"\n( *)tc_keep_registers", source)[1]
        assert source.rindex("tc_wgmma_held") < source.index("tc_keep_registers")
        assert len(indent) <= min(len(m) for m in re.findall(r"\n( *)for \(int (?:step|k|_)\w* =", source))


def test_results_stay():
    kernel = tilecore.compile(products(), target="cuda -arch=sm_90a", execution_backend="sim")
    rng = np.random.default_rng(0)
    q, k = rng.integers(-3, 4, (ROWS, 64)).astype(HALF), rng.integers(-3, 4, (STEPS * 64, 64)).astype(HALF)
    out = np.zeros((ROWS, 64), np.float32)
    kernel(q, k, out)
    expected = q.astype(np.float64) @ k.reshape(STEPS, 64, 64).astype(np.float64).sum(0)
    np.testing.assert_array_equal(out, expected)
