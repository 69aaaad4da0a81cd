"""Kernels with the explicit forms of the language: a GEMM with explicit warp roles, and one with a cluster."""

from __future__ import annotations

import numpy as np

import tilecore
import tilecore.language as T

TARGET = "cuda -arch=sm_90a"


def by_roles(m: int, n: int, k: int, bm: int = 128, bn: int = 64, bk: int = 64, stages: int = 2, out: str = "float32"):
    """One warpgroup copies, two multiply."""

    @T.prim_func
    def by_roles(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), out)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=384) as (bx, by):
            a = T.alloc_shared((stages, bm, bk), "float16")
            b = T.alloc_shared((stages, bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            full = T.alloc_barrier([1] * stages)
            empty = T.alloc_barrier([256] * stages)
            with T.ws(0):
                T.set_max_nreg(24, 0)
                for i in range(T.ceildiv(k, bk)):
                    T.mbarrier_wait_parity(empty[i % stages], i // stages % 2 ^ 1)
                    T.tma_copy(A[by * bm, i * bk], a[i % stages, :, :], barrier=full[i % stages])
                    T.tma_copy(B[i * bk, bx * bn], b[i % stages, :, :], barrier=full[i % stages])
                    if T.shuffle_elect(128):
                        T.mbarrier_arrive(full[i % stages])
            with T.ws(1, 2):
                T.set_max_nreg(240, 1)
                T.clear(c)
                for i in range(T.ceildiv(k, bk)):
                    T.mbarrier_wait_parity(full[i % stages], i // stages % 2)
                    T.wgmma_gemm(a[i % stages, :, :], b[i % stages, :, :], c)
                    T.wait_wgmma(0)
                    T.mbarrier_arrive(empty[i % stages])
                T.copy(c, C[by * bm, bx * bn])

    return by_roles


def in_cluster(m: int, n: int, k: int, bm: int = 64, bn: int = 64, bk: int = 64, stages: int = 2, mask: int = 3):
    """Two blocks, one above the other, share the tile of B, which one of them copies for both."""

    @T.prim_func
    def in_cluster(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((m, n), "float16")):
        rows = T.ceildiv(m, bm * 2) * 2
        with T.Kernel(T.ceildiv(n, bn), rows, threads=160, cluster_dims=(1, 2, 1)) as (bx, by):
            a = T.alloc_shared((stages, bm, bk), "float16")
            b = T.alloc_shared((stages, bn, bk), "float16")
            o = T.alloc_shared((bm, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            full = T.alloc_barrier([1] * stages)
            empty = T.alloc_barrier([2] * stages)
            tx = T.get_thread_binding()
            if tx >= 128:
                for i in range(T.ceildiv(k, bk)):
                    s = i % stages
                    T.barrier_wait(empty[s], i // stages % 2 ^ 1)
                    T.tma_copy(A[by * bm, i * bk], a[s, :, :], barrier=full[s])
                    T.tma_copy(
                        B[bx * bn, i * bk], b[s, :, :], barrier=full[s], cluster_mask=mask,
                        annotations={"emit_arrive": 1},
                    )  # fmt: skip
            else:
                T.clear(c)
                for i in range(T.ceildiv(k, bk)):
                    s = i % stages
                    T.barrier_wait(full[s], i // stages % 2)
                    T.wgmma_gemm(a[s, :, :], b[s, :, :], c, transpose_B=True)
                    T.wait_wgmma(0)
                    T.sync_threads()
                    if tx == 0:
                        for other in T.unroll(2):
                            T.mbarrier_arrive(empty[s], other)
                T.copy(c, o)
                T.tma_copy(o, C[by * bm, bx * bn])
                T.tma_store_wait()
            T.cluster_sync()

    return in_cluster


def compiled(func):
    return tilecore.compile(func, target=TARGET, execution_backend="sim")


def operands(func) -> tuple[list[np.ndarray], np.ndarray]:
    """Inputs of small integers, an output, and the expected output."""
    rng = np.random.default_rng(5)
    turned = func.__name__ == "in_cluster" if hasattr(func, "__name__") else False
    shapes = [tuple(int(s) for s in p.shape) for p in func.ir.params]
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in shapes[:2])
    out = np.zeros(shapes[2], str(func.ir.params[2].dtype))
    product = a.astype(np.float32) @ (b.T if turned else b).astype(np.float32)
    return [a, b, out], product
