"""Pipelined GEMMs on the simulated device, compared with numpy: sizes, stages, steps, and the emitted source."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T

TARGET = "cuda -arch=sm_90"


def matmul(m, n, k, block, stages, threads, ta=False, tb=False, constant_sizes=True):
    """C = A @ B in tiles ``block``, with constant or symbolic sizes."""
    bm, bn, bk = block
    M, N, K = (m, n, k) if constant_sizes else T.dynamic("m n k")

    @T.prim_func
    def kernel(
        A: T.Tensor((K, M) if ta else (M, K), "float16"),
        B: T.Tensor((N, K) if tb else (K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bk, bm) if ta else (bm, bk), "float16")
            b = T.alloc_shared((bn, bk) if tb else (bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                if ta:
                    T.copy(A[step * bk, by * bm], a)
                else:
                    T.copy(A[by * bm, step * bk], a)
                if tb:
                    T.copy(B[bx * bn, step * bk], b)
                else:
                    T.copy(B[step * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_A=ta, transpose_B=tb)
            T.copy(c, C[by * bm, bx * bn])

    return kernel


def run(kernel, m, n, k, ta=False, tb=False):
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(-4, 5, (k, m) if ta else (m, k)).astype(np.float16)
    b = rng.integers(-4, 5, (n, k) if tb else (k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    kernel(a, b, c)
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(c, (wide_a.T if ta else wide_a) @ (wide_b.T if tb else wide_b))


def compiled(*args, **options):
    return tilecore.compile(matmul(*args, **options), target=TARGET, execution_backend="sim")


def rounds_of(source: str) -> str:
    """The text of the loop over iterations."""
    lines = source.splitlines()
    start = next(n for n, line in enumerate(lines) if "for (int step = 0;" in line and not line.startswith("    "))
    return "\n".join(lines[start : lines.index("  }", start)])


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_transposes_and_stages(stages, ta, tb):
    kernel = compiled(64, 96, 192, (32, 48, 32), stages, 64, ta, tb)
    assert rounds_of(kernel.get_kernel_source()).count("tc_barrier();") == 1
    run(kernel, 64, 96, 192, ta, tb)


@pytest.mark.parametrize("depth", [16, 32, 48, 64, 96, 128])
def test_steps_of_an_iteration(depth):
    """One step, an odd number and even ones."""
    kernel = compiled(32, 32, 384, (32, 32, depth), 3, 32)
    run(kernel, 32, 32, 384)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5])
def test_fewer_iterations_than_stages(rounds):
    run(compiled(16, 32, 32 * rounds, (16, 32, 32), 4, 32), 16, 32, 32 * rounds)


def test_symbolic_sizes():
    """No iteration, fewer iterations than stages, many; partial tiles of M, N and K."""
    kernel = compiled(0, 0, 0, (32, 32, 32), 3, 64, constant_sizes=False)
    for m, n, k in ((32, 32, 32), (64, 32, 160), (40, 56, 72), (33, 8, 200), (1, 1, 1)):
        run(kernel, m, n, k)


def test_no_branch_and_no_load_between_barrier_and_mma():
    """The schedule has one barrier in an iteration, loads one step ahead, and copies without branches."""
    text = rounds_of(compiled(128, 128, 512, (64, 64, 64), 3, 128).get_kernel_source())
    assert "if (" not in text
    order = [line.strip().split("(")[0] for line in text.splitlines() if line.strip().startswith("tc_")]
    kinds = [next((k for k in ("ldmatrix", "copy", "commit", "wait", "barrier", "mma") if k in o), o) for o in order]
    step = ["ldmatrix", "ldmatrix", "copy", "copy", "mma"]
    assert kinds == [*step, *step, *step, "commit", "wait", "barrier", "ldmatrix", "ldmatrix", "mma"]


def test_a_gemm_outside_of_pipelines_loads_a_step_ahead():
    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float16"), B: T.Tensor((64, 32), "float16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=32):
            a, b = T.alloc_shared((32, 64), "float16"), T.alloc_shared((64, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    run(tilecore.compile(kernel, target=TARGET, execution_backend="sim"), 32, 32, 64)
