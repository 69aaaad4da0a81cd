"""The pass fold_scales: which scalings of rows a gemm does itself, and that results stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore
import tilecore.language as T
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.nodes import Evaluate
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.loops.fold_scales import fold_scales
from tilecore.lowering.normalize.inline_binds import inline_binds
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager


def sums(case="", M=16, N=32, K=8, steps=3, kind="float32", total="float32"):
    """C = sum over steps of A @ B, where each step first multiplies row i of the sums by F[step, i]."""

    @T.prim_func
    def kernel(
        A: T.Tensor((steps, M, K), kind),
        B: T.Tensor((steps, K, N), kind),
        F: T.Tensor((steps, M), total),
        C: T.Tensor((M, N), total),
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((M, K), kind), T.alloc_shared((K, N), kind)
            c, factors = T.alloc_fragment((M, N), total), T.alloc_fragment((M,), total)
            columns = T.alloc_fragment((N,), total)
            T.fill(c, 0)
            T.fill(columns, 1)
            for k in T.serial(steps):
                T.copy(A[k, 0:M, 0:K], a)
                T.copy(F[k, 0:M], factors)
                if case == "turned":
                    for i, j in T.Parallel(M, N):
                        c[i, j] = factors[i] * c[i, j]
                elif case == "by column":
                    for i, j in T.Parallel(M, N):
                        c[i, j] *= columns[j]
                elif case == "sum":
                    for i, j in T.Parallel(M, N):
                        c[i, j] += factors[i] - factors[i]
                elif case == "part":
                    for i, j in T.Parallel(M, N - 1):
                        c[i, j] *= factors[i]
                    for i in T.Parallel(M):
                        c[i, N - 1] *= factors[i]
                else:
                    for i, j in T.Parallel(M, N):
                        c[i, j] *= factors[i]
                if case == "changed":
                    T.fill(factors, 0)
                if case == "read between":
                    T.copy(c, C)
                if case == "twice":
                    for i, j in T.Parallel(M, N):
                        c[i, j] *= factors[i]
                T.copy(B[k, 0:K, 0:N], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


def folded(func):
    """How many gemms scale the rows of their sums."""
    backend, target = manager.resolve("cpu -march=x86-64-v4")
    env = PassEnv(target, backend.target.capabilities(target), implementations_of(backend))
    calls = map(as_tile_call, collect(fold_scales(inline_binds(func.ir, env), env).body, Evaluate))
    return sum(call is not None and CallAttr.ROW_FACTORS in call.hints for call in calls)


def test_which_scalings_are_folded():
    assert folded(sums()) == folded(sums("turned")) == folded(sums("twice")) == 1
    for case in ("by column", "sum", "part", "changed", "read between"):
        assert folded(sums(case)) == 0, case
    assert folded(sums(kind="bfloat16", total="float32", M=16, N=32, K=32)) == 1
    assert folded(sums(kind="float16", total="float16")) == 0, "the gemm adds up in float32"


@pytest.mark.parametrize("target", ["cpu", "cpu -march=haswell", "cpu -march=generic"])
@pytest.mark.parametrize("case", ["", "turned", "by column", "sum", "part", "changed", "read between", "twice"])
def test_results_stay(case, target):
    check(case, 16, 32, 8, 3, ("float32", "float32"), target)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 40), st.integers(2, 40), st.integers(1, 40), st.integers(1, 3),
    st.sampled_from([("float32", "float32"), ("float64", "float64"), ("bfloat16", "float32"), ("int32", "int32")]),
)  # fmt: skip
def test_results_of_any_shape_stay(m, n, k, steps, kinds):
    check("", m, n, k, steps, kinds, "cpu")


def check(case, m, n, k, steps, kinds, target):
    kind, total = kinds
    rng = np.random.default_rng(m)
    a, b, factors = (
        rng.integers(-3, 4, shape).astype(tilecore.dtype(word).as_numpy())
        for shape, word in (((steps, m, k), kind), ((steps, k, n), kind), ((steps, m), total))
    )
    c = np.full((m, n), 7, total)
    tilecore.compile(sums(case, m, n, k, steps, kind, total), target=target)(a, b, factors, c)
    expected = np.zeros((m, n), total)
    for step in range(steps):
        scale = factors[step][:, None] ** (2 if case == "twice" else 1)
        scaled = expected * (1 if case in ("by column", "sum") else scale)
        expected = scaled + a[step].astype(total) @ b[step].astype(total)
    np.testing.assert_array_equal(c, expected)
