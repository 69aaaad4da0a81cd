"""Barriers of kernels whose atomics may spin check that warps have converged (docs/notes/compilers.md)."""

from __future__ import annotations

import numpy as np
import pytest
from tile_cuda import nvcc
from tile_cuda.headers import INCLUDE

import tilecore
import tilecore.language as T
from tilecore.errors import ToolchainError

ARCHITECTURES = ["sm_75", "sm_80", "sm_90a"]


def counted(atomic: bool):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32"), N: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                if atomic:
                    T.atomic_max(Y[0], X[i])
                tile[i] = X[i]
            n = T.syncthreads_count(X[T.get_thread_binding()] > 0)
            for i in T.Parallel(64):
                N[i] = n + T.cast(tile[63 - i], "int32")

    return kernel


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("atomic", [False, True])
def test_sources_with_atomics_say_so_and_compile(atomic, arch):
    source = tilecore.lower(counted(atomic), target=f"cuda -arch={arch}").kernel_source
    assert source.startswith("#define TC_SPINS\n" if atomic else '#include "tilecore_cuda.h"\n')
    assert "tc_barrier();" in source
    try:
        compiler = nvcc.load()
    except ToolchainError as error:
        pytest.skip(str(error))
    binary, messages = compiler.compile(source, INCLUDE, [f"--gpu-architecture={arch}", "--std=c++17"], "kernel")
    assert binary, messages


def test_what_was_read_before_an_acquire_is_not_read_after_it(monkeypatch):
    """A condition that held before the acquire need not hold after it: the other block has written by then."""
    monkeypatch.setenv("TILECORE_SIMULATE", "1")

    @T.prim_func
    def kernel(P: T.Tensor((4,), "int32"), F: T.Tensor((2,), "uint32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32) as b:
            if T.get_thread_binding() == 0:
                if b == 0:
                    if P[0] < 64 and P[0] >= 0:
                        before = [P[0]]
                        T.atomic_store(F[0], 1, "release")
                        while T.atomic_load(F[1], "acquire") == 0:
                            pass
                        Y[0] = before[0]
                        Y[P[0]] = 1
                else:
                    while T.atomic_load(F[0], "acquire") == 0:
                        pass
                    P[0] = 70
                    T.atomic_store(F[1], 1, "release")

    index, flags = np.array([8, 0, 0, 0], np.int32), np.zeros(2, np.uint32)
    values = np.zeros(64, np.float32)
    tilecore.compile(kernel, target="cuda -arch=sm_80")(index, flags, values)
    assert index[0] == 70
    assert values.tolist() == [8.0] + [0.0] * 63
