"""Small kernels that several tests of passes share."""

from __future__ import annotations

from typing import Any

import tilecore.language as T


def product(threads: int = 128, rows: int = 64, through_shared: bool = False) -> Any:
    """C = A B of one tile, whose operands threads copy to shared memory."""

    @T.prim_func
    def product(
        A: T.Tensor((rows, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((rows, 64), "float16")
    ):
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((rows, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((rows, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            if through_shared:
                o = T.alloc_shared((rows, 64), "float16")
                T.copy(c, o)
                T.copy(o, C, disable_tma=True)
            else:
                T.copy(c, C)

    return product


def pipelined(
    stages: int = 2,
    threads: int = 128,
    tile: tuple[int, int] = (64, 64),
    dtype: str = "float16",
    cluster: Any = None,
    through_shared: bool = False,
) -> Any:
    """C = A B, in a loop with stages over tiles of A and B."""
    rows, columns = tile

    @T.prim_func
    def pipelined(A: T.Tensor((256, 256), dtype), B: T.Tensor((256, 256), dtype), C: T.Tensor((256, 256), "float16")):
        with T.Kernel(256 // columns, 256 // rows, threads=threads, cluster_dims=cluster) as (bx, by):
            a = T.alloc_shared((rows, 64), dtype)
            b = T.alloc_shared((64, columns), dtype)
            c = T.alloc_fragment((rows, columns), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[by * rows, k * 64], a)
                T.copy(B[k * 64, bx * columns], b)
                T.gemm(a, b, c)
            if through_shared:
                o = T.alloc_shared((rows, columns), "float16")
                T.copy(c, o)
                T.copy(o, C[by * rows, bx * columns], disable_tma=True)
            else:
                T.copy(c, C[by * rows, bx * columns])

    return pipelined


@T.macro
def meet(barrier, *block):
    """The threads arrive at the mbarrier and wait for it. block: of the cluster, whose mbarrier it is."""
    T.mbarrier_arrive(barrier[0], *block)
    T.mbarrier_wait_parity(barrier[0], 0)


def loaded_by_tma(stages: int = 0, barriers: tuple[int, ...] = (1, 1)) -> Any:
    """A tile that one thread loads by an explicit TMA copy, with mbarriers of the kernel's own. stages: of a
    T.Pipelined loop around the copy; 0: there is no loop."""

    @T.prim_func
    def loaded(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            full = T.alloc_barrier(list(barriers))
            if stages:
                for k in T.Pipelined(2, num_stages=stages):
                    T.tma_copy(A, a, barrier=full[0])
                    T.mbarrier_wait_parity(full[0], k)
            else:
                tx = T.get_thread_binding()
                if tx == 0:
                    T.tma_copy(A, a, barrier=full[0])
                    T.mbarrier_arrive(full[0])
                T.mbarrier_wait_parity(full[0], 0)
            T.copy(a, B)

    return loaded


@T.prim_func
def scaled(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            Y[i] = X[i] * 2.0
