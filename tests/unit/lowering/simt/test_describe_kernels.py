"""describe_kernels: which parameters are emitted without ``restrict``."""

from __future__ import annotations

import pytest

import tilecore.language as T

from .kit import lowered


def without_restrict(kernel):
    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    return [str(name) for name in func.attrs.get("simt.no_restrict") or ()]


@pytest.mark.parametrize("waits", [True, False])
def test_what_other_threads_write_behind_a_barrier(waits):
    """nvcc kept N[1] of a __restrict__ pointer in a register over the barrier, where another thread had written it."""

    @T.prim_func
    def kernel(N: T.Tensor((4,), "int32"), X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if waits:
                if tx == 0:
                    N[1] = X[0]
                T.sync_threads()
                Y[tx] = N[1] + X[tx]
            else:
                N[tx % 4] = N[tx % 4] + 1
                Y[tx] = X[tx]

    assert without_restrict(kernel) == (["N"] if waits else [])


def test_what_a_kernel_only_reads_or_only_writes_keeps_it():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((64,), "float32")
            T.copy(X, tile)
            for i in T.Parallel(64):
                Y[i] = tile[63 - i]

    assert without_restrict(kernel) == []
