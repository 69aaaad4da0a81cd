"""Attention with explicit warp roles: one warpgroup copies, two others each compute 64 rows."""

from __future__ import annotations

import numpy as np
import pytest
from expert_kernels import compiled
from simulated_kit import needs_compiler

import tilecore.language as T

pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]
BM, BN, D, STAGES = 64, 64, 64, 2


@T.macro
def rows(q, k, v, out_, full, empty, ready, bx, group, keys):
    """The code of a warpgroup for its 64 rows."""
    s, p = T.alloc_fragment((BM, BN), "float32"), T.alloc_fragment((BM, BN), "float16")
    o = T.alloc_fragment((BM, D), "float32")
    most, before = T.alloc_fragment((BM,), "float32"), T.alloc_fragment((BM,), "float32")
    total, part, less = (T.alloc_fragment((BM,), "float32") for _ in range(3))
    T.clear(o)
    T.clear(total)
    T.fill(most, -T.infinity("float32"))
    T.barrier_wait(ready, 0)
    for n in range(T.ceildiv(keys, BN)):
        T.barrier_wait(full[n % STAGES], n // STAGES % 2)
        T.wgmma_gemm(q[group, :, :], k[n % STAGES, :, :], s, transpose_B=True, clear_accum=True)
        T.wait_wgmma(0)
        for i, j in T.Parallel(BM, BN):
            s[i, j] = T.if_then_else(n * BN + j < keys, s[i, j], -T.infinity("float32"))
        T.copy(most, before)
        T.reduce_max(s, most, dim=1, clear=False)
        for i in T.Parallel(BM):
            less[i] = T.exp((before[i] - most[i]) * D**-0.5)
        for i, j in T.Parallel(BM, BN):
            s[i, j] = T.exp((s[i, j] - most[i]) * D**-0.5)
        T.reduce_sum(s, part, dim=1)
        for i in T.Parallel(BM):
            total[i] = total[i] * less[i] + part[i]
        T.copy(s, p)
        for i, j in T.Parallel(BM, D):
            o[i, j] *= less[i]
        T.wgmma_gemm(p, v[n % STAGES, :, :], o)
        T.wait_wgmma(0)
        T.barrier_arrive(empty[n % STAGES])
    for i, j in T.Parallel(BM, D):
        o[i, j] = o[i, j] / total[i]
    T.copy(o, out_[bx * 2 * BM + group * BM, 0])


def attention(queries: int, keys: int):
    shape, others = (queries, D), (keys, D)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, "float16"), K: T.Tensor(others, "float16"), V: T.Tensor(others, "float16"),
        out_: T.Tensor(shape, "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(queries, 2 * BM), threads=384) as bx:
            q = T.alloc_shared((2, BM, D), "float16")
            k, v = T.alloc_shared((STAGES, BN, D), "float16"), T.alloc_shared((STAGES, BN, D), "float16")
            full, empty = T.alloc_barrier([128] * STAGES), T.alloc_barrier([256] * STAGES)
            ready = T.alloc_barrier(128)
            with T.ws(0):
                T.annotate_consumer_reg_alloc(240)
                rows(q, k, v, out_, full, empty, ready, bx, 0, keys)
            with T.ws(1):
                T.annotate_consumer_reg_alloc(240)
                rows(q, k, v, out_, full, empty, ready, bx, 1, keys)
            with T.ws(2):
                T.annotate_producer_reg_dealloc(24)
                for group in T.unroll(2):
                    T.tma_copy(Q[bx * 2 * BM + group * BM, 0], q[group, :, :], barrier=ready)
                T.barrier_arrive(ready)
                for n in range(T.ceildiv(keys, BN)):
                    T.barrier_wait(empty[n % STAGES], n // STAGES % 2 ^ 1)
                    T.tma_copy(K[n * BN, 0], k[n % STAGES, :, :], barrier=full[n % STAGES])
                    T.tma_copy(V[n * BN, 0], v[n % STAGES, :, :], barrier=full[n % STAGES])
                    T.barrier_arrive(full[n % STAGES])

    return attention


@pytest.mark.parametrize(("queries", "keys"), [(128, 256), (200, 200), (40, 72)])
def test_right(queries, keys):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, D)).astype(np.float16) for n in (queries, keys, keys))
    out = np.zeros((queries, D), np.float32)
    kernel = compiled(attention(queries, keys))
    kernel(q, k, v, out)
    scores = q.astype(np.float32) @ k.astype(np.float32).T * D**-0.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights @ v.astype(np.float32) / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(out, expected, rtol=2e-2, atol=2e-3)
    source = kernel.get_kernel_source()
    assert "tc_wgmma_held_" in source
    assert source.count("tc_registers_acquire<240>") == 2
    assert "__launch_bounds__(384, 1)" in source
